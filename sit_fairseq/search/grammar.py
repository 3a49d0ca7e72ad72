"""Grammars of answers, read token by token, for a search that writes only well-formed answers.

A grammar sees base tokens as strings and symbols as the numbers of their slots: it cannot know the
names of symbols, so renamed sentences are searched alike.
"""

from abc import ABC, abstractmethod
from operator import index
from typing import Callable, Dict, Hashable, List, Optional, Sequence, Tuple

from sit_fairseq.symbols.pattern import SymbolPattern
from sit_fairseq.symbols.slot import Slot, Token

State = Hashable


class Grammar(ABC):
    """Says which tokens an answer may go on with. One of your own is given as ``MODULE:CLASS``.

    A token is a string, or the :class:`Slot` of a symbol: its number in the sentence, with its sort.
    A state stands for the tokens read so far: any hashable value. Equal states go on alike, in
    every sentence.

    Attributes:
        completes: an answer that would end too early goes on with the symbols that it lacks: they get
            the probability of the end. By default with whatever is likely.
    """

    completes = False

    @abstractmethod
    def start(self, source: Tuple[Token, ...]) -> State:
        """The state before the first token of an answer to a sentence."""

    @abstractmethod
    def next(self, state: State, token: Token) -> Optional[State]:
        """The state after one more token; None if it cannot follow."""

    @abstractmethod
    def shortest(self, state: State) -> int:
        """The fewest tokens with which an answer can end; 0 if it may end now."""


def fewest(grammar: Grammar, state: State) -> int:
    """The fewest tokens that can follow, by :meth:`Grammar.shortest`; raises ValueError or TypeError
    unless it gives a number of tokens."""
    number = index(grammar.shortest(state))
    if number < 0:
        raise ValueError(f"shortest returns {number}, which is no number of tokens")
    return number


def slotted(
    source: Sequence[str], answer: Sequence[str], sort: Callable[[str], Optional[str]]
) -> Tuple[List[Token], List[Token]]:
    """A sentence and an answer to it as grammars read them. ``sort`` gives the name of a symbol's sort,
    and None for a base token."""
    numbers: Dict[str, Slot] = {}

    def token(word: str) -> Token:
        name = sort(word)
        return word if name is None else numbers.setdefault(word, Slot(len(numbers), name))

    return list(map(token, source)), list(map(token, answer))


def refused(grammar: Grammar, source: Sequence[Token], answer: Sequence[Token]) -> Optional[int]:
    """The place of the first token that cannot follow in an answer to a sentence, from 0; the number of
    tokens if the answer cannot end there; None if the grammar accepts it."""
    state = grammar.start(tuple(source))
    for place, token in enumerate(answer):
        state = grammar.next(state, token)
        if state is None:
            return place
    return None if fewest(grammar, state) == 0 else len(answer)


def refusal(grammar: Grammar, pattern: SymbolPattern, source: str, answer: str) -> Optional[str]:
    """Names the first token of an answer that a grammar refuses, or its end; None if it accepts all."""

    def sort(token: str) -> Optional[str]:
        return pattern.sorts[pattern.sort(token)] if pattern.is_symbol(token) else None

    words = answer.split()
    place = refused(grammar, *slotted(source.split(), words, sort))
    if place is None:
        return None
    return f"{words[place]!r}, token {place + 1}" if place < len(words) else "its end"
