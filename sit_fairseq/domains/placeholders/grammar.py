"""The grammar of translations."""

from collections import Counter
from typing import Hashable, Optional, Tuple

from sit_fairseq.search.grammar import Grammar
from sit_fairseq.symbols.slot import Slot, Token

# The sort of symbols that are told by their place, as %s and %d are: they come in their order.
ORDERED = "ordered"


class OnceGrammar(Grammar):
    """Answers that hold each symbol of their source as often as it, and no other one; those of the
    sort :data:`ORDERED` in the order of the source. It forces placeholders to survive; what the words
    around them mean is the model's."""

    completes = True

    def start(self, source: Tuple[Token, ...]) -> Hashable:
        slots = [token for token in source if isinstance(token, Slot)]
        free = Counter(slot for slot in slots if slot.sort != ORDERED)
        return tuple(sorted(free.items())), tuple(slot for slot in slots if slot.sort == ORDERED)

    def next(self, state: Hashable, token: Token) -> Optional[Hashable]:
        if not isinstance(token, Slot):
            return state
        free, ordered = state
        if token.sort == ORDERED:
            return (free, ordered[1:]) if ordered[:1] == (token,) else None
        left = dict(free)
        if token not in left:
            return None
        left[token] -= 1
        return tuple((slot, number) for slot, number in sorted(left.items()) if number), ordered

    def shortest(self, state: Hashable) -> int:
        free, ordered = state
        return sum(number for _, number in free) + len(ordered)
