"""Fresh symbols: those that a target holds and its source does not.

The R reserved slots of a sentence follow its own S slots, sort by sort. An answer takes the slots
of a sort in order, so only the first free one can be next. So targets that differ by the names of
fresh symbols are one target. Shapes: B*K sequences, T tokens, V columns.
"""

import math
import re
from itertools import count, islice, takewhile
from typing import Any, Collection, Dict, Iterable, Iterator, List, Optional

import torch
from torch import Tensor

from sit_fairseq.errors import UserError
from sit_fairseq.symbols.saved_tokens import named_sorts
from sit_fairseq.symbols.tokens import TokenTable


def fresh_numbers(given: Any) -> Dict[str, int]:
    """The number of reserved slots of each sort, by name; a number alone has the sort ``""``.

    Args:
        given: a number or its text, or a text such as ``table=1,column=2``.

    Raises:
        UserError: ``given`` is none of these.
    """
    parts = [re.fullmatch(r"(?:(\w+)=)?(\d{1,9})", part) for part in str(given).split(",")]
    names = [match and (match[1] or "") for match in parts]
    if None in names or len(set(names)) < len(names) or ("" in names and len(names) > 1):
        raise UserError(
            f"the fresh symbols {given!r} must be a number, or have the form table=1,column=2",
            "fresh_symbols",
        )
    return {match[1] or "": int(match[2]) for match in parts}


class FreshSymbols:
    """The reserved slots, their names in answers, and the columns that they open.

    Attributes:
        numbers: the number of slots of each sort.
        offsets: the first slot of each sort among all reserved slots.
        number: R.

    Args:
        given: see :func:`fresh_numbers`.
        tokens: with a pattern. The symbols of a sort as they are now are its first names, then
            ``v0``, ``v1``, ..., which become symbols, unless other names are given.
        names: names of fresh symbols, of any sort, separated by commas.

    Raises:
        UserError: a sort is unknown, or a given name is no symbol or given twice.
    """

    def __init__(self, given: Any, tokens: TokenTable, names: Optional[str]) -> None:
        by_name = fresh_numbers(given)
        unknown = set(by_name).difference(tokens.sorts)
        if unknown:
            raise UserError(
                f"fresh symbols {given!r} are of sorts that the pattern lacks; it has "
                f"{named_sorts(tokens.sorts)}",
                "fresh_symbols",
            )
        self.numbers = [by_name.get(sort, 0) for sort in tokens.sorts]
        self.offsets = [sum(self.numbers[:sort]) for sort in range(len(self.numbers))]
        self.number = sum(self.numbers)
        self._tokens = tokens
        listed = tokens.known_symbols() if names is None else names.split(",")
        wrong = [name for name in listed if name.split() != [name] or not tokens.is_symbol(name)]
        if wrong or len(set(listed)) < len(listed):
            reason = f"{wrong[0]!r} is no symbol" if wrong else "a name stands there twice"
            raise UserError(
                f"the fresh names {names!r}: {reason}; give different tokens that the pattern "
                f"{tokens.pattern!r} matches, separated by commas",
                "fresh_names",
            )
        self._stems = [
            tokens.add_numbered_symbols(sort) if number and names is None else None
            for sort, number in enumerate(self.numbers)
        ]
        self._names: List[List[str]] = [[] for _ in self.numbers]
        for name in listed:
            self._names[tokens.sort(name)].append(name)

    def slots(self, names: Tensor, targets: Iterable[Collection[int]]) -> Tensor:
        """Names all slots of the sentences of a batch.

        Args:
            names: (B, S) dictionary indices of their own symbols, padded with ``<pad>``.
            targets: for each sentence, see :meth:`name`.

        Returns:
            (B, S + R) dictionary indices, padded with ``<pad>``.

        Raises:
            UserError: a sentence leaves too few names for its reserved slots.
        """
        pad = self._tokens.pad()
        table = names.new_full((names.size(0), names.size(1) + self.number), pad)
        for row, (sentence, target) in enumerate(zip(names.tolist(), targets)):
            own = [index for index in sentence if index != pad]
            slots = self.name(own, target)
            if len(slots) < len(own) + self.number:
                raise UserError(
                    f"a sentence of {len(own)} symbols {self.lacking(own)}", "fresh_names"
                )
            table[row, : len(slots)] = names.new_tensor(slots)
        return table

    def name(self, own: List[int], target: Collection[int] = ()) -> List[int]:
        """Names all slots of a sentence.

        Args:
            own: dictionary indices of its own symbols, in the order of their slots.
            target: symbols of its target or of how its answer begins; fresh ones keep their names.

        Returns:
            S + R dictionary indices, or fewer if there are too few names. Names that are not kept
            are the first of their sort that source and target lack. The dictionary learns them.
        """
        new = [index for index in dict.fromkeys(target) if index not in own]
        slots = list(own)
        for sort, number in enumerate(self.numbers):
            kept = [index for index in new if self._tokens.sort(self._tokens[index]) == sort]
            kept = kept[:number]
            names = map(self._tokens.index, self._names_of(sort))
            free = (index for index in names if index not in own and index not in new)
            slots += kept + list(islice(free, number - len(kept)))
        return slots

    def lacking(self, own: List[int]) -> Optional[str]:
        """The fault of a sentence that leaves too few names, else None: words that follow "the
        sentence"."""
        left = len(self.name(own)) - len(own)
        if left == self.number:
            return None
        return f"leaves {left} names for the {self.number} fresh symbols of its answer"

    def encode(self, tokens: Tensor, fresh: Tensor) -> Tensor:
        """Numbers the fresh symbols of targets.

        Args:
            tokens: (B, T) dictionary indices.
            fresh: (B, T) True at symbols that the sources lack.

        Returns:
            (B, T) the reserved slot of each, from 0; -1 at all others, and beyond the last slot of
            a sort.
        """
        several = len(self.numbers) > 1  # sizes then depend on values
        sorts = self._tokens.sorts_of(tokens) if several else torch.zeros_like(tokens)
        slots = torch.full_like(tokens, -1)
        for sort, (most, offset) in enumerate(zip(self.numbers, self.offsets)):
            number = numbered(tokens, fresh & sorts.eq(sort))
            slots = torch.where((number >= 0) & (number < most), number + offset, slots)
        return slots

    def taken(self, canonical: Tensor, first: Tensor) -> Tensor:
        """Counts the reserved slots of each sort in each beginning of a sequence.

        Args:
            canonical: (B*K, T) canonical ids; those that no sequence can hold do not count.
            first: (B*K,) the canonical id of the first reserved slot.

        Returns:
            (B*K, T, G) the numbers among the tokens up to each position.
        """
        slot = canonical - first.unsqueeze(1)
        taken = []
        for offset, most in zip(self.offsets, self.numbers):
            number = slot - offset + 1
            number = number.masked_fill((number < 0) | (number > most), 0)
            taken.append(number.cummax(1).values)
        return torch.stack(taken, dim=2)

    def own_streams(self, taken: Tensor) -> Tensor:
        """Counts the reserved slots that need streams of their own: all up to the last taken one.

        Args:
            taken: (..., G) as of :meth:`taken`.

        Returns:
            (...) the numbers.
        """
        ends = taken + torch.tensor(self.offsets, device=taken.device)
        return ends.masked_fill(taken.eq(0), 0).amax(-1)

    def close(self, logits: Tensor, first: Tensor, taken: Tensor) -> Tensor:
        """Closes all reserved slots except the taken ones and the next one of each sort.

        Args:
            logits: (B*K, T, V).
            first: (B*K,) the column of the first reserved slot.
            taken: (B*K, T, G) how many are taken before the token that is chosen here.

        Returns:
            (B*K, T, V) logits, ``-inf`` in the closed columns.
        """
        slot = torch.arange(logits.size(2), device=logits.device) - first.unsqueeze(1)  # B*K x V
        closed = (slot >= self.number).unsqueeze(1)
        for sort, (offset, most) in enumerate(zip(self.offsets, self.numbers)):
            open_ = offset + (taken[..., sort] + 1).clamp(max=most)
            slot_of_sort = (slot < offset + most).unsqueeze(1)
            closed = closed | (slot.unsqueeze(1) >= open_.unsqueeze(2)) & slot_of_sort
        return logits.masked_fill(closed, -math.inf)

    def _names_of(self, sort: int) -> Iterator[str]:
        names, stem = self._names[sort], self._stems[sort]
        yield from names
        if stem is not None:
            every = (f"{stem}{number}" for number in count())
            numbered_ones = takewhile(lambda name: self._tokens.sort(name) == sort, every)
            yield from (name for name in numbered_ones if name not in names)


def numbered(tokens: Tensor, fresh: Tensor) -> Tensor:
    """Numbers fresh symbols by first appearance.

    Args:
        tokens: (B, T) dictionary indices.
        fresh: (B, T) True at the tokens to number.

    Returns:
        (B, T) numbers from 0, -1 at all other tokens. Sizes do not depend on values, so nothing
        waits for a GPU.
    """
    first = (tokens.unsqueeze(2) == tokens.unsqueeze(1)).to(torch.uint8).argmax(2)
    place = torch.arange(tokens.size(1), device=tokens.device)
    number = ((first == place) & fresh).cumsum(1) - 1
    return number.gather(1, first).masked_fill(~fresh, -1)
