"""The grammar of partial assignments."""

from typing import Optional, Tuple

from sit_fairseq.domains.formulas.syntax import CONSTANTS
from sit_fairseq.search.grammar import Grammar, State
from sit_fairseq.symbols.slot import Token


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
