"""Renamings of symbols: injective maps from names to names, on text and on indices."""

import itertools
import math
import random
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence

if TYPE_CHECKING:  # text is renamed without torch
    from torch import Tensor

    from sit_fairseq.symbols.tokens import TokenTable

# In a table, what becomes of a token whose name another token takes: nothing can.
_NO_IMAGE = -1

# What of a fairseq sample holds tokens.
_TOKENS = ("src_tokens", "prev_output_tokens", "target")


class Renaming:
    """An injective map on symbols that leaves every other token alone.

    Nothing is ever merged: a sentence that holds a new name already, which itself is not
    renamed, is refused.

    Args:
        mapping: new name of each symbol.

    Raises:
        ValueError: if two symbols would get the same name.
    """

    def __init__(self, mapping: Mapping[str, str]) -> None:
        if len(set(mapping.values())) < len(mapping):
            raise ValueError(f"not injective, symbols would merge: {dict(mapping)}")
        self.mapping: Dict[str, str] = dict(mapping)
        self._taken = set(self.mapping.values()).difference(self.mapping)

    @classmethod
    def between(cls, sentence: str, renamed: str) -> "Renaming":
        """The renaming that turned one sentence into the other.

        Raises:
            ValueError: there is none.
        """
        tokens, new = sentence.split(), renamed.split()
        names = dict(zip(tokens, new))
        if [names.get(token) for token in tokens] != new or len(set(new)) < len(names):
            raise ValueError(f"{renamed!r} is no renaming of {sentence!r}")
        return cls({old: name for old, name in names.items() if old != name})

    def __call__(self, sentence: str) -> str:
        """Renames the symbols of a sentence of space-separated tokens.

        Raises:
            ValueError: it holds a token that is a new name and has none itself.
        """
        return " ".join(self.tokens(sentence.split()))

    def tokens(self, tokens: Sequence[str]) -> List[str]:
        """Renames the symbols among tokens.

        Raises:
            ValueError: one of them is a new name and has none itself.
        """
        if not self._taken.isdisjoint(tokens):
            merged = next(token for token in tokens if token in self._taken)
            raise ValueError(f"{merged!r} would merge with what is renamed to it: {self.mapping}")
        return [self.mapping.get(token, token) for token in tokens]

    def table(self, dictionary: "TokenTable", into: Optional["TokenTable"] = None) -> "Tensor":
        """The renaming of indices, for :func:`rename`.

        Args:
            dictionary: of what is to be renamed; it must hold the old names.
            into: of what is renamed, by default the same. New names need not have occurred,
                but must be symbols.

        Returns:
            (V,) the new index of each token of ``dictionary``; a negative number for a token
            that has none, as its name is taken or ``into`` lacks it.

        Raises:
            ValueError: a name is unknown, or no symbol.
        """
        import torch

        into = into or dictionary
        for old, new in self.mapping.items():
            if old not in dictionary.indices or not dictionary.is_symbol(old):
                raise ValueError(f"{old!r} is no symbol of the dictionary, so it is not renamed")
            if not into.is_symbol(new):
                raise ValueError(f"{old!r} cannot be renamed to {new!r}, which is no symbol")
        new_indices = [into.index(new) for new in self.mapping.values()]
        if into is dictionary:
            table = torch.arange(len(dictionary))
        else:
            known = (into.indices.get(token, _NO_IMAGE) for token in dictionary.symbols)
            table = torch.tensor(list(known))
        for name in self._taken:
            if name in dictionary.indices:
                table[dictionary.indices[name]] = _NO_IMAGE
        old_indices = [dictionary.indices[old] for old in self.mapping]
        table[old_indices] = torch.tensor(new_indices, dtype=table.dtype)
        return table

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

    def after(self, first: "Renaming") -> "Renaming":
        """The composition: what ``first`` and then this one make of a sentence.

        Raises:
            ValueError: both give one name, to different symbols.
        """
        both = {old: self.mapping.get(new, new) for old, new in first.mapping.items()}
        for old, new in self.mapping.items():
            if old not in both and old not in first._taken:
                both[old] = new
        return Renaming(both)


def rename(tokens: "Tensor", table: "Tensor") -> "Tensor":
    """Renames dictionary indices.

    Args:
        tokens: of any shape.
        table: of a :meth:`Renaming.table`.

    Raises:
        ValueError: a token has no new index.
    """
    renamed = table.to(tokens.device)[tokens]
    if bool((renamed < 0).any()):
        lost = tokens[renamed < 0][0]
        raise ValueError(
            f"the token of index {int(lost)} is not renamed, but its name is taken or unknown"
        )
    return renamed


def rename_sample(
    sample: Dict[str, Any], on_indices: Callable[["Tensor"], "Tensor"]
) -> Dict[str, Any]:
    """A copy of a fairseq sample with new names in source and target.

    Args:
        sample: a batch as fairseq collates it, of dictionary indices.
        on_indices: renames a tensor of them.
    """

    def renamed(name: str, value: Any) -> Any:
        if isinstance(value, dict):
            return rename_sample(value, on_indices)
        return on_indices(value) if name in _TOKENS else value

    return {name: renamed(name, value) for name, value in sample.items()}


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
