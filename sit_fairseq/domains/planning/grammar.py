"""The grammar of actions: those that are applicable where a sentence is asked about."""

from typing import Dict, Iterable, Iterator, List, Optional, Sequence, Tuple

from sit_fairseq.search.grammar import Grammar, slotted
from sit_fairseq.symbols.pattern import SymbolPattern
from sit_fairseq.symbols.slot import Token


class _Node:
    """A node of the tree of actions: the tokens that may come next."""

    def __init__(self) -> None:
        self.next: Dict[Token, "_Node"] = {}
        self.shortest = 0

    def add(self, tokens: Sequence[Token]) -> None:
        if tokens:
            self.shortest = min(self.shortest or len(tokens), len(tokens))
            self.next.setdefault(tokens[0], _Node()).add(tokens[1:])


class ActionGrammar(Grammar):
    """The actions that sentences were told with, which a sentence does not say by itself.

    Args:
        symbols: the pattern of symbols.
    """

    def __init__(self, symbols: str) -> None:
        self._pattern = SymbolPattern(symbols)
        self._told: Dict[Tuple[Token, ...], _Node] = {}

    def told(self, sentences: Iterable[Tuple[List[str], List[List[str]]]]) -> Iterator[List[int]]:
        """Takes sentences with their actions in the place of those before; yields their places.

        Where a sentence comes twice, with different actions, the second waits for the next turn.
        """
        left = []
        for place, (sentence, actions) in enumerate(sentences):
            source, _ = slotted(sentence, (), self._sort)
            answers = [tuple(slotted(sentence, action, self._sort)[1]) for action in actions]
            left.append((place, tuple(source), answers))
        while left:
            taken: Dict[Tuple[Token, ...], List[Tuple[Token, ...]]] = {}
            later = [one for one in left if taken.setdefault(one[1], one[2]) != one[2]]
            self._told = {source: _Node() for source in taken}
            for source, answers in taken.items():
                for answer in answers:
                    self._told[source].add(answer)
            yield [one[0] for one in left if one not in later]
            left = later

    def start(self, source: Tuple[Token, ...]) -> _Node:
        return self._told[source]

    def next(self, state: _Node, token: Token) -> Optional[_Node]:
        return state.next.get(token)

    def shortest(self, state: _Node) -> int:
        return state.shortest

    def _sort(self, word: str) -> Optional[str]:
        return None if self._pattern.sort(word) is None else ""
