"""The grammar of symbolic traces."""

from typing import NamedTuple, Optional, Tuple

from sit_fairseq.domains.formulas.syntax import (
    ARITY,
    CONSTANTS,
    CYCLE_END,
    CYCLE_START,
    OPERATORS,
    SEPARATOR,
)
from sit_fairseq.search.grammar import Grammar, State
from sit_fairseq.symbols.slot import Token


class _InTrace(NamedTuple):
    """A trace as read so far."""

    cycle: bool  # whether its cycle has begun
    open: int  # operands that the formula of the present step waits for
    fresh: bool  # whether that formula has no token so far
    ended: bool = False


class TraceGrammar(Grammar):
    """Traces such as ``a ; & b c ; { 1 }``, whose steps are propositional formulas."""

    def start(self, source: Tuple[Token, ...] = ()) -> State:
        return _InTrace(cycle=False, open=1, fresh=True)

    def next(self, state: State, token: Token) -> Optional[State]:
        if state.ended:
            return None
        if isinstance(token, int) or token in CONSTANTS or token in OPERATORS:
            if not state.open:
                return None
            return state._replace(open=state.open - 1 + ARITY.get(token, 0), fresh=False)
        if token == CYCLE_START:
            begins = state.fresh and not state.cycle
            return state._replace(cycle=True) if begins else None
        if state.open or token not in (SEPARATOR, CYCLE_END):
            return None
        if token == SEPARATOR:
            return state._replace(open=1, fresh=True)
        return state._replace(ended=True) if state.cycle else None

    def shortest(self, state: State) -> int:
        if state.ended:
            return 0
        if state.cycle:
            return state.open + 1
        # "{ 1 }" is three tokens. Before it a step that has begun is ended, and ";" is one more.
        return 3 if state.fresh else state.open + 4
