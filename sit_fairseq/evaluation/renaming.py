"""Renamings of symbols: injective maps from names to names."""

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
        """The renaming that undoes this one."""
        return Renaming({new: old for old, new in self.mapping.items()})


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
