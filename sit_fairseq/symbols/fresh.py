"""Fresh symbols: those that a target holds and its source does not.

The R reserved slots of a sentence follow its own S. They are taken in their order, so that of
those that are free only the first can be next: targets that differ by the names of fresh symbols
are one target. Shapes: B*K sequences, T tokens, V columns.
"""

import math
from itertools import count, islice, takewhile
from typing import Collection, Iterable, Iterator, List, Optional

import torch
from torch import Tensor

from sit_fairseq.errors import UserError
from sit_fairseq.symbols.tokens import TokenTable


class FreshSymbols:
    """The reserved slots, what answers call them, and which columns they open.

    Args:
        number: R.
        tokens: with a pattern. Its symbols as they are now are the first names, then ``v0``,
            ``v1``, ..., which become symbols, unless other names are given.
        given: the value of ``--fresh-names``, separated by commas.

    Raises:
        UserError: a given name is no symbol, or is given twice.
    """

    def __init__(self, number: int, tokens: TokenTable, given: Optional[str]) -> None:
        self.number = number
        self._tokens = tokens
        self._numbered = tokens.add_numbered_symbols() if given is None else None
        self._names = tokens.known_symbols() if given is None else given.split(",")
        wrong = [n for n in self._names if n.split() != [n] or not tokens.is_symbol(n)]
        if wrong or len(set(self._names)) < len(self._names):
            reason = f"{wrong[0]!r} is no symbol" if wrong else "a name stands there twice"
            raise UserError(
                f"--fresh-names {given!r}: {reason}; give different tokens that --symbols "
                f"{tokens.pattern!r} matches, separated by commas"
            )

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
                raise UserError(f"a sentence of {len(own)} symbols {self.lacking(own)}")
            table[row, : len(slots)] = names.new_tensor(slots)
        return table

    def name(self, own: List[int], target: Collection[int] = ()) -> List[int]:
        """Names all slots of a sentence.

        Args:
            own: dictionary indices of its own symbols, in the order of their slots.
            target: symbols of its target or of how its answer begins; fresh ones keep their names.

        Returns:
            S + R dictionary indices, or fewer if there are too few names. Names that are not kept
            are the first that source and target lack. The dictionary learns them.
        """
        end = len(own) + self.number
        slots = list(dict.fromkeys([*own, *target]))[:end]
        free = (index for index in map(self._tokens.index, self) if index not in slots)
        return slots + list(islice(free, end - len(slots)))

    def lacking(self, own: List[int]) -> Optional[str]:
        """Words that follow "the sentence" if it leaves too few names; None if enough."""
        left = len(self.name(own)) - len(own)
        if left == self.number:
            return None
        return (
            f"leaves {left} names for the {self.number} symbols that its answer may hold "
            "and it does not; give more by --fresh-names"
        )

    def enough_for(self, most: int) -> bool:
        """Whether no sentence of so many symbols can leave too few names."""
        wanted = most + self.number
        return len(list(islice(self, wanted))) == wanted

    def taken(self, canonical: Tensor, first: Tensor) -> Tensor:
        """How many reserved slots each beginning of a sequence holds.

        Args:
            canonical: (B*K, T) canonical ids; those that no sequence can hold do not count.
            first: (B*K,) the canonical id of the first reserved slot.

        Returns:
            (B*K, T) the number among the tokens up to each position.
        """
        number = canonical - first.unsqueeze(1) + 1
        number = number.masked_fill((number < 0) | (number > self.number), 0)
        return number.cummax(1).values

    def close(self, logits: Tensor, first: Tensor, taken: Tensor) -> Tensor:
        """Closes all reserved slots but those that are taken and the next.

        Args:
            logits: (B*K, T, V).
            first: (B*K,) the column of the first reserved slot.
            taken: (B*K, T) how many are taken before the token that is chosen here.

        Returns:
            (B*K, T, V) logits, ``-inf`` in the closed columns.
        """
        end = first.unsqueeze(1) + (taken + 1).clamp(max=self.number)
        columns = torch.arange(logits.size(2), device=logits.device)
        return logits.masked_fill(columns >= end.unsqueeze(2), -math.inf)

    def __iter__(self) -> Iterator[str]:
        yield from self._names
        if self._numbered is not None:
            every = (f"{self._numbered}{number}" for number in count())
            numbered = takewhile(self._tokens.is_symbol, every)
            yield from (name for name in numbered if name not in self._names)


def numbered(tokens: Tensor, fresh: Tensor) -> Tensor:
    """Numbers fresh symbols by first appearance.

    Args:
        tokens: (B, T) dictionary indices.
        fresh: (B, T) True at the tokens to number.

    Returns:
        (B, T) numbers from 0, -1 at all other tokens. No size depends on what is found, for
        which a GPU would have to be waited for.
    """
    first = (tokens.unsqueeze(2) == tokens.unsqueeze(1)).to(torch.uint8).argmax(2)
    place = torch.arange(tokens.size(1), device=tokens.device)
    number = ((first == place) & fresh).cumsum(1) - 1
    return number.gather(1, first).masked_fill(~fresh, -1)
