"""The grammar of translations."""

from collections import Counter
from typing import Hashable, Optional, Tuple

from sit_fairseq.search.grammar import Grammar
from sit_fairseq.symbols.slot import Slot, Token


class OnceGrammar(Grammar):
    """Answers that hold each symbol of their source as often as it, and no other one. It forces
    placeholders to survive; what the words around them mean is the model's."""

    completes = True

    def start(self, source: Tuple[Token, ...]) -> Hashable:
        return tuple(sorted(Counter(token for token in source if isinstance(token, Slot)).items()))

    def next(self, state: Hashable, token: Token) -> Optional[Hashable]:
        if not isinstance(token, Slot):
            return state
        left = dict(state)
        if token not in left:
            return None
        left[token] -= 1
        return tuple((slot, number) for slot, number in sorted(left.items()) if number)

    def shortest(self, state: Hashable) -> int:
        return sum(number for _, number in state)
