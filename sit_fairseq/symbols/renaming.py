"""Renamings of symbols: injective maps from names to names, on text and on indices."""

import itertools
import math
import random
from typing import (
    TYPE_CHECKING,
    Any,
    Dict,
    Iterable,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
)

from sit_fairseq.errors import UserError
from sit_fairseq.symbols.pattern import SymbolPattern

if TYPE_CHECKING:  # text is renamed without torch
    from torch import Tensor

    from sit_fairseq.symbols.tokens import TokenTable

# In a table, what becomes of a token whose name another token takes: nothing can.
_NO_IMAGE = -1


class Renaming:
    """An injective map from symbols to new names, which leaves every other token alone; a
    ValueError if two symbols would get the same name, or a sentence already holds a new name
    without renaming it."""

    def __init__(self, mapping: Mapping[str, str]) -> None:
        if len(set(mapping.values())) < len(mapping):
            raise ValueError(f"not injective, symbols would merge: {dict(mapping)}")
        self.mapping: Dict[str, str] = dict(mapping)
        self._taken = set(self.mapping.values()).difference(self.mapping)

    def __call__(self, sentence: str) -> str:
        """Renames the symbols of a sentence of space-separated tokens."""
        return " ".join(self.tokens(sentence.split()))

    def tokens(self, tokens: Sequence[str]) -> List[str]:
        """Renames the symbols among tokens."""
        if not self._taken.isdisjoint(tokens):
            merged = next(token for token in tokens if token in self._taken)
            raise ValueError(f"{merged!r} would merge with what is renamed to it: {self.mapping}")
        return [self.mapping.get(token, token) for token in tokens]

    def table(self, dictionary: "TokenTable", into: Optional["TokenTable"] = None) -> "Tensor":
        """The renaming of indices, for :func:`rename`.

        Args:
            dictionary: of the old indices; it must hold the old names.
            into: of the new indices, by default ``dictionary``. New names may be unseen, but must
                be symbols.

        Returns:
            (V,) the new index of each token of ``dictionary``; a negative number for a token
            that has none, as its name is taken or ``into`` lacks it. A ValueError if a name is
            unknown, or no symbol of the sort.
        """
        import torch

        into = into or dictionary
        for old, new in self.mapping.items():
            if old not in dictionary.indices or not dictionary.is_symbol(old):
                raise ValueError(f"{old!r} is no symbol of the dictionary, so it is not renamed")
            if not into.is_symbol(new):
                raise ValueError(f"{old!r} cannot be renamed to {new!r}, which is no symbol")
            if dictionary.sort(old) != into.sort(new):
                raise ValueError(f"{old!r} cannot be renamed to {new!r}, which is of another sort")
        new_indices = [into.index(new) for new in self.mapping.values()]
        if into is dictionary:
            table = torch.arange(len(dictionary), device="cpu")
        else:
            known = (into.indices.get(token, _NO_IMAGE) for token in dictionary.symbols)
            table = torch.tensor(list(known), device="cpu")
        for name in self._taken:
            if name in dictionary.indices:
                table[dictionary.indices[name]] = _NO_IMAGE
        old_indices = [dictionary.indices[old] for old in self.mapping]
        table[old_indices] = torch.tensor(new_indices, dtype=table.dtype, device="cpu")
        return table

    def inverse(self) -> "Renaming":
        """The renaming that undoes this one.

        Old names that are no new names could occur in no renamed sentence, but a model may produce
        one. Each gets the remaining name at the end of the chain that it begins, which is of its
        sort, so that sentences that differ still differ afterwards.
        """
        undone = {new: old for old, new in self.mapping.items()}
        for name in [old for old in self.mapping if old not in undone]:
            last = name
            while last in self.mapping:
                last = self.mapping[last]
            undone[name] = last
        return Renaming(undone)


def rename(tokens: "Tensor", table: "Tensor") -> "Tensor":
    """Renames dictionary indices of any shape by the table of a :meth:`Renaming.table`; a
    ValueError if a token has no new index."""
    renamed = table.to(tokens.device)[tokens]
    if bool((renamed < 0).any()):
        lost = tokens[renamed < 0][0]
        raise ValueError(
            f"the token of index {int(lost)} is not renamed, but its name is taken or unknown"
        )
    return renamed


def renamings_into(
    symbols: Sequence[str],
    names: Sequence[str],
    most: int,
    rng: random.Random,
    pattern: Optional[SymbolPattern] = None,
) -> List[Renaming]:
    """All renamings of the distinct ``symbols`` of a problem into ``names``, of one sort P(V, k),
    or a random choice of ``most`` distinct ones if they are more. The pattern gives sorts; None if
    there is one. A UserError if there are fewer names of a sort than symbols."""
    old, new = _by_sort(symbols, names, pattern)
    if math.prod(math.perm(len(n), len(s)) for s, n in zip(old, new)) > most:
        return random_renamings(symbols, names, most, rng, pattern)
    orders = (itertools.permutations(n, len(s)) for s, n in zip(old, new))
    return [_of_sorts(old, chosen) for chosen in itertools.product(*orders)]


def random_renamings(
    symbols: Sequence[str],
    names: Iterable[str],
    count: int,
    rng: random.Random,
    pattern: Optional[SymbolPattern] = None,
) -> List[Renaming]:
    """Draws ``count`` distinct renamings of ``symbols`` into ``names``, or all if there are fewer;
    see :func:`renamings_into`."""
    old, new = _by_sort(symbols, names, pattern)
    available = math.prod(math.perm(len(n), len(s)) for s, n in zip(old, new))
    drawn: Dict[tuple, None] = {}
    while len(drawn) < min(count, available):
        drawn[tuple(tuple(rng.sample(n, len(s))) for s, n in zip(old, new))] = None
    return [_of_sorts(old, chosen) for chosen in drawn]


def _by_sort(
    symbols: Iterable[str], names: Iterable[str], pattern: Optional[SymbolPattern]
) -> Tuple[List[List[str]], List[List[str]]]:
    """Symbols and names, a list for each sort that symbols are of."""
    sort_of = (lambda token: 0) if pattern is None else pattern.sort
    old: Dict[Any, List[str]] = {}
    for symbol in symbols:
        old.setdefault(sort_of(symbol), []).append(symbol)
    new: Dict[Any, List[str]] = {sort: [] for sort in old}
    for name in names:
        new.get(sort_of(name), []).append(name)
    for sort in old:
        if len(new[sort]) < len(old[sort]):
            of_sort = f" of the sort {pattern.sorts[sort]}" if pattern and pattern.sorts[0] else ""
            raise UserError(
                f"{len(old[sort])} symbols{of_sort} need as many different names, but only "
                f"{len(new[sort])} can be chosen",
                "names",
            )
    return list(old.values()), list(new.values())


def _of_sorts(old: Iterable[Sequence[str]], new: Iterable[Sequence[str]]) -> Renaming:
    return Renaming({o: n for of_sort in map(zip, old, new) for o, n in of_sort})
