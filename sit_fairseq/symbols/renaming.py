"""Renamings of symbols: injective maps from names to names."""

import itertools
import math
import random
from typing import Dict, Iterable, List, Sequence


class Renaming:
    """An injective map on symbols that leaves every other token alone.

    Args:
        mapping: new name of each symbol.

    Raises:
        ValueError: if two symbols would get the same name.
    """

    def __init__(self, mapping: Dict[str, str]) -> None:
        if len(set(mapping.values())) < len(mapping):
            raise ValueError(f"not injective, symbols would merge: {mapping}")
        self.mapping = dict(mapping)

    def __call__(self, sentence: str) -> str:
        """Renames the symbols of a sentence of space-separated tokens."""
        return " ".join(self.mapping.get(token, token) for token in sentence.split())

    def inverse(self) -> "Renaming":
        """The renaming that undoes this one.

        Old names that are no new names could occur in no renamed sentence, but a model may
        produce one. They get the remaining names in turn, so that sentences that differ
        still differ afterwards.
        """
        undone = {new: old for old, new in self.mapping.items()}
        given_up = [old for old in self.mapping if old not in undone]
        taken_up = [new for new in undone if new not in self.mapping]
        return Renaming({**undone, **dict(zip(given_up, taken_up))})


def renamings_into(
    symbols: Sequence[str], names: Sequence[str], most: int, rng: random.Random
) -> List[Renaming]:
    """All renamings of ``symbols`` into ``names``, or a random choice if they are too many.

    Args:
        symbols: the distinct symbols of one problem.
        names: the names to choose from, at least as many.
        most: how many renamings are not too many.
        rng: source of randomness.

    Returns:
        All P(V, k) renamings, or ``most`` distinct ones.
    """
    if math.perm(len(names), len(symbols)) > most:
        return random_renamings(symbols, names, most, rng)
    orders = itertools.permutations(names, len(symbols))
    return [Renaming(dict(zip(symbols, order))) for order in orders]


def random_renamings(
    symbols: Sequence[str], names: Iterable[str], count: int, rng: random.Random
) -> List[Renaming]:
    """Draws distinct renamings of ``symbols`` into ``names``.

    Args:
        symbols: the distinct symbols of one problem.
        names: the names to choose from, at least as many.
        count: how many; fewer are returned if fewer exist.
        rng: source of randomness.

    Returns:
        min(count, P(V, k)) distinct renamings.
    """
    names = list(names)
    available = math.perm(len(names), len(symbols))
    drawn: Dict[tuple, None] = {}
    while len(drawn) < min(count, available):
        drawn[tuple(rng.sample(names, len(symbols)))] = None
    return [Renaming(dict(zip(symbols, chosen))) for chosen in drawn]
