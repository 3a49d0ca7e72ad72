"""Earlier steps of decoding: keys and values that stay where they were computed.

When a beam is reordered, no key or value moves. They are only appended to, one entry for
each row and step, and a small table says which entries are a row's own.

Shapes: R rows (streams or hypotheses), T positions so far, E stored entries, C channels,
H heads, D = C / H channels of a head.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Optional

import torch
from torch import Tensor

from sit_fairseq.modules.functional import SHORT_AXIS, weighted_sums

# Numbers gathered at a time: they stay in a core's cache, and in memory that is reused.
_BLOCK = 2**20


@dataclass(frozen=True)
class Past:
    """Which stored entry each row has at each position.

    One table serves the stores of all layers.

    Attributes:
        entries: (R, T) indices of entries.
        num_stored: E.
    """

    entries: Tensor
    num_stored: int = 0

    @classmethod
    def empty(cls, num_rows: int, device: torch.device) -> "Past":
        """That of ``num_rows`` rows before the first step."""
        return cls(torch.empty(num_rows, 0, dtype=torch.long, device=device))

    def append(self) -> "Past":
        """The table once a new entry of each row, in their order, is stored."""
        end = self.num_stored + self.entries.size(0)
        new = torch.arange(self.num_stored, end, device=self.entries.device)
        return Past(torch.cat((self.entries, new.unsqueeze(1)), dim=1), end)

    def select(self, rows: Tensor) -> "Past":
        """The table of the given rows, in that order."""
        return Past(self.entries.index_select(0, rows), self.num_stored)


class Lookup:
    """The entries of each row, with what all layers of a step derive from them.

    Attributes:
        entries: (R, T) indices of entries.
        num_heads: H.
    """

    def __init__(self, entries: Tensor, num_heads: int) -> None:
        self.entries = entries
        self.num_heads = num_heads

    @cached_property
    def heads(self) -> Tensor:
        """(R * H, T) entries of each head, among the E * H heads of all entries."""
        head = torch.arange(self.num_heads, device=self.entries.device).unsqueeze(1)
        return (self.entries.unsqueeze(1) * self.num_heads + head).flatten(0, 1)


class Store:
    """Keys and values of one attention, entry by entry."""

    def __init__(self) -> None:
        self._size = 0
        self._keys: Optional[Tensor] = None
        self._values: Optional[Tensor] = None

    def append(self, keys: Tensor, values: Tensor) -> None:
        """Stores the entries of one step, both (R, C)."""
        end = self._size + keys.size(0)
        self._keys = _room(self._keys, end, keys)
        self._values = _room(self._values, end, values)
        self._keys[self._size : end] = keys
        self._values[self._size : end] = values
        self._size = end

    def attend(self, queries: Tensor, lookup: Lookup) -> Tensor:
        """Attends from one query per row to the entries of that row.

        Args:
            queries: (R, C).
            lookup: the entries of each row.

        Returns:
            (R, C).
        """
        head_dim = queries.size(1) // lookup.num_heads
        scores = self._scores(queries * head_dim**-0.5, lookup.entries, lookup.num_heads)
        if scores.size(1) < SHORT_AXIS:
            weights = scores.softmax(1).transpose(1, 2).flatten(0, 1)
        else:
            weights = scores.transpose(1, 2).flatten(0, 1).softmax(1)
        attended = weighted_sums(self._values.view(-1, head_dim), lookup.heads, weights)
        return attended.view_as(queries)

    def _scores(self, queries: Tensor, entries: Tensor, num_heads: int) -> Tensor:
        """(R, T, H) products of queries with the keys of their entries."""
        scores = queries.new_empty(*entries.shape, num_heads)
        # A product with ones is faster than a sum along so short an axis.
        ones = queries.new_ones(queries.size(1) // num_heads)
        rows = entries.size(0)
        if not queries.is_cuda:
            rows = max(1, _BLOCK // (entries.size(1) * queries.size(1)))
        for out, query, entry in zip(*(t.split(rows) for t in (scores, queries, entries))):
            keys = self._keys.index_select(0, entry.flatten()).unflatten(0, entry.shape)
            products = keys.mul_(query.unsqueeze(1)).view(-1, ones.numel())
            torch.mv(products, ones, out=out.view(-1))
        return scores


def _room(buffer: Optional[Tensor], size: int, like: Tensor) -> Tensor:
    """The buffer, or a longer copy of it: twice as long, so that copies are rare."""
    if buffer is not None and buffer.size(0) >= size:
        return buffer
    longer = like.new_empty(2 * size, like.size(1))
    if buffer is not None:
        longer[: buffer.size(0)] = buffer
    return longer
