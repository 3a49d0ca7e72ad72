"""Grammars of answers, read token by token, for a search that writes well-formed answers alone.

A grammar sees base tokens as strings and symbols as the numbers of their slots: it cannot know what
symbols are called, so that renamed sentences are searched alike.
"""

from abc import ABC, abstractmethod
from typing import Callable, Dict, Hashable, List, NamedTuple, Optional, Sequence, Tuple

from sit_fairseq.logic.syntax import (
    ARITY,
    CONSTANTS,
    CYCLE_END,
    CYCLE_START,
    OPERATORS,
    SEPARATOR,
)
from sit_fairseq.symbols.slot import Slot, Token

State = Hashable


class Grammar(ABC):
    """Says which tokens an answer may go on with. One of your own is given as ``MODULE:CLASS``.

    A token is a string, or the :class:`Slot` of a symbol: its number in the sentence, with its sort.
    A state is what was read of an answer, any hashable value; equal states go on alike, in whatever
    sentence they come up.
    """

    @abstractmethod
    def start(self, source: Tuple[Token, ...]) -> State:
        """The state before the first token of an answer to a sentence."""

    @abstractmethod
    def next(self, state: State, token: Token) -> Optional[State]:
        """The state after one more token; None if it cannot follow."""

    @abstractmethod
    def shortest(self, state: State) -> int:
        """The fewest tokens with which an answer can end; 0 if it may end now."""


def slotted(
    source: Sequence[str], answer: Sequence[str], sort: Callable[[str], Optional[str]]
) -> Tuple[List[Token], List[Token]]:
    """A sentence and an answer to it as grammars read them.

    ``sort`` gives the name of a symbol's sort, and None for a base token.
    """
    numbers: Dict[str, Slot] = {}

    def token(word: str) -> Token:
        name = sort(word)
        return word if name is None else numbers.setdefault(word, Slot(len(numbers), name))

    return list(map(token, source)), list(map(token, answer))


def refused(grammar: Grammar, source: Sequence[Token], answer: Sequence[Token]) -> Optional[int]:
    """Where a grammar refuses an answer to a sentence.

    Returns:
        The place of the first token that cannot follow, from 0; the number of tokens if the answer
        cannot end there; None if the grammar accepts it.
    """
    state = grammar.start(tuple(source))
    for place, token in enumerate(answer):
        state = grammar.next(state, token)
        if state is None:
            return place
    return None if grammar.shortest(state) == 0 else len(answer)


class AssignmentGrammar(Grammar):
    """Partial assignments such as ``a 1 c 0``: each symbol at most once, with a value each.

    A state is the slots that have their value, as bits, and whether the last one waits for it.
    """

    def start(self, source: Tuple[Token, ...] = ()) -> State:
        return 0, False

    def next(self, state: State, token: Token) -> Optional[State]:
        used, waits = state
        if waits:
            return (used, False) if token in CONSTANTS else None
        if isinstance(token, str) or used >> token & 1:
            return None
        return used | 1 << token, True

    def shortest(self, state: State) -> int:
        return int(state[1])


class _InTrace(NamedTuple):
    """What was read of a trace."""

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


# By what answers mean.
GRAMMARS = {"prop": AssignmentGrammar, "ltl": TraceGrammar}
