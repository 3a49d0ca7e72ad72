"""Linear temporal logic: formulas, and symbolic traces that satisfy them."""

from functools import partial
from typing import Iterator, List, NamedTuple, Optional, Tuple

from sit_fairseq.domains import Domain
from sit_fairseq.domains.formulas.dimacs import read_problem, split_problems
from sit_fairseq.domains.formulas.held_out import held_out_sets
from sit_fairseq.domains.formulas.infix import named
from sit_fairseq.domains.formulas.reading import read_formula
from sit_fairseq.domains.formulas.syntax import (
    ARITY,
    CONSTANTS,
    CYCLE_END,
    CYCLE_START,
    OPERATORS,
    SEPARATOR,
    SYMBOLS,
    balanced,
)
from sit_fairseq.domains.ltl.elimination import without_idle_symbols
from sit_fairseq.domains.ltl.recipe import LABELS, LtlCells, LtlRecipe
from sit_fairseq.domains.ltl.spot_judge import SpotJudge, spot_patterns, spot_trace
from sit_fairseq.domains.ltl.traces import same_trace, trace_text
from sit_fairseq.errors import EXTRAS
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
        # "{ 1 }" is three tokens, after a step that is not only beginning one more for "; ".
        return 3 if state.fresh else state.open + 4


def _patterns() -> Iterator[List[str]]:
    return (read_formula(text, temporal=True).tokens for text in spot_patterns())


EXTRAS["ltl"] = ("spot",)

DOMAIN = Domain(
    name="ltl",
    version=1,
    symbols=SYMBOLS,
    judges={"spot": SpotJudge},
    arity=ARITY,
    grammar=TraceGrammar,
    read=partial(read_problem, temporal=True),
    write=named(trace_text),
    split=split_problems,
    rewrite=lambda tokens: [without_idle_symbols(tokens), (balanced(tokens), list)],
    recipe=LtlRecipe,
    labels=LABELS,
    cells=LtlCells,
    held_out=lambda: held_out_sets("patterns", _patterns(), 35, spot_trace),
    equal=same_trace,
    model="ltl",
)
