"""Grammars of answers, read token by token, for a search that writes well-formed answers alone.

A grammar sees base tokens as strings and symbols as the numbers of their slots: it cannot know what
symbols are called, so that renamed sentences are searched alike.
"""

from abc import ABC, abstractmethod
from typing import Hashable, Optional, Union

Token = Union[str, int]
State = Hashable


class Grammar(ABC):
    """Says which tokens an answer may go on with. One of your own is given as ``MODULE:CLASS``.

    A state is what was read of an answer, any hashable value; equal states go on alike.
    """

    @abstractmethod
    def start(self) -> State:
        """The state before the first token."""

    @abstractmethod
    def next(self, state: State, token: Token) -> Optional[State]:
        """The state after a base token, a string, or the symbol of a slot, from 0; None if it
        cannot follow."""

    @abstractmethod
    def shortest(self, state: State) -> int:
        """The fewest tokens with which an answer can end; 0 if it may end now."""
