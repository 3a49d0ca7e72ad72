"""The entries that a search keeps: keys and values of all steps so far, and of sources.

They stay in place when beams are reordered or sentences end. Tables say which of the stored ones
each row attends to.

Shapes: R rows, P new and T positions so far, U source positions, E stored entries, C channels, H
heads, D = C / H channels of a head; M views of sources (of streams, or aggregated) that the search
began with.
"""

import copy
import math
from typing import Any, Dict, List, Optional, Sequence

import torch
from torch import Tensor

from sit_fairseq.models.attention import Kernel, KeysValues
from sit_fairseq.models.cpu_kernels import SHORT_AXIS, weighted_sums

# Numbers gathered at a time: they stay in a core's cache, and in memory that is reused.
_BLOCK = 2**20


class SelfAttentionCache:
    """Keys and values of all positions so far, of one self-attention in each layer, with H heads.

    The cache only appends. One table, the same for all layers, says which entry each row has at
    each position, as the block table of a paged cache does.

    Attributes:
        entries: (R, T) that table; None before the first step.
        mask: (R, 1, P, T) True where an entry is seen; None for all that are not later.
        stores: whether new keys and values are kept.
    """

    mask: Optional[Tensor] = None
    stores = True

    def __init__(self, num_heads: int) -> None:
        self.entries: Optional[Tensor] = None
        self._num_heads = num_heads
        self._size = 0
        self._stored: Dict[int, List[Tensor]] = {}  # keys and values of each layer, both E x C
        self._heads: Optional[Tensor] = None

    def advance(self, row: Tensor, count: int, length: int) -> None:
        """Begins a step, in which each layer appends ``count`` rows of ``length`` positions;
        ``row`` has (R,) the appended one that each row has, which several may share."""
        positions = torch.arange(length, device=row.device)
        new = self._size + row.unsqueeze(1) * length + positions
        self.entries = new if self.entries is None else torch.cat((self.entries, new), dim=1)
        self._size += count * length
        self._heads = None

    def select(self, rows: Tensor) -> None:
        """Goes on with the given rows, in that order."""
        self.entries = None if self.entries is None else self.entries.index_select(0, rows)
        self._heads = None

    def seen_by(self, **changed: Any) -> "SelfAttentionCache":
        """The same keys and values with other attributes."""
        seen = copy.copy(self)
        seen._heads = None
        vars(seen).update(changed)
        return seen

    def __call__(
        self, layer: int, queries: Tensor, kernel: Kernel, new: Optional[KeysValues] = None
    ) -> Tensor:
        """Stores a layer's ``new`` keys and values, and attends from each row to its entries."""
        if self.stores:
            self._store(layer, new)
        keys, values = self._stored[layer]
        if self.mask is not None or queries.size(2) > 1:
            return self._attend_at_once(queries, kernel, self._stored[layer])
        scores = self._scores(keys, queries.flatten(1) * queries.size(3) ** -0.5)
        if scores.size(1) < SHORT_AXIS:
            weights = scores.softmax(1).transpose(1, 2).flatten(0, 1)
        else:
            weights = scores.transpose(1, 2).flatten(0, 1).softmax(1)
        if self._heads is None:
            self._heads = _heads(self.entries, self._num_heads)
        attended = weighted_sums(values.view(-1, queries.size(3)), self._heads, weights)
        return attended.view(queries.shape)

    def _store(self, layer: int, new: KeysValues) -> None:
        new = [part.transpose(1, 2).flatten(2).flatten(0, 1) for part in new]
        start, stored = self._size - new[0].size(0), self._stored.get(layer, (None, None))
        stored = self._stored[layer] = [
            _room(old, start, self._size, part) for old, part in zip(stored, new)
        ]
        for whole, part in zip(stored, new):
            whole[start : self._size] = part

    def _attend_at_once(self, queries: Tensor, kernel: Kernel, stored: List[Tensor]) -> Tensor:
        keys, values = (
            part[self.entries].unflatten(2, (self._num_heads, -1)).transpose(1, 2)
            for part in stored
        )
        new, length, mask = queries.size(2), keys.size(2), self.mask
        if mask is None:
            mask = torch.ones(new, length, dtype=torch.bool, device=keys.device).tril(length - new)
        return kernel(queries, keys, values, mask=mask)

    def _scores(self, stored: Tensor, queries: Tensor) -> Tensor:
        """(R, T, H) products of (R, C) queries with the keys of their entries."""
        entries = self.entries
        scores = queries.new_empty(*entries.shape, self._num_heads)
        # A product with ones is faster than a sum along so short an axis.
        ones = queries.new_ones(queries.size(1) // self._num_heads)
        rows = entries.size(0)
        if queries.is_cpu:
            rows = max(1, _BLOCK // (entries.size(1) * queries.size(1)))
        for out, query, entry in zip(*(t.split(rows) for t in (scores, queries, entries))):
            keys = stored.index_select(0, entry.flatten()).unflatten(0, entry.shape)
            products = keys.mul_(query.unsqueeze(1)).view(-1, ones.numel())
            torch.mv(products, ones, out=out.view(-1))
        return scores


class CrossAttentionCache:
    """The encoder's keys and values of one cross-attention in each layer, both (M, H, U, D), None
    of layers that do not ask. They are stored once per view of a source, and looked up by row."""

    def __init__(self, layers: Sequence[Optional[KeysValues]]) -> None:
        self._stored = [
            view and KeysValues(view.keys.transpose(2, 3).contiguous(), view.values.contiguous())
            for view in layers
        ]

    def look_up(self, view: Tensor, padding: Optional[Tensor]) -> None:
        """Notes the number of the view that each of R rows attends to, and (R, U) True at padding
        of that view, None if there is none."""
        self._view, self._padding = view, padding
        _, num_heads, head_dim, length = self._stored[-1].keys.shape
        heads = _heads(view.unsqueeze(1), num_heads)
        self._channels = heads * head_dim + torch.arange(head_dim, device=view.device)
        self._positions = heads * length + torch.arange(length, device=view.device)
        self._bias = None
        if padding is not None:
            bias = torch.zeros(padding.shape, device=view.device)
            self._bias = bias.masked_fill_(padding, -math.inf).unsqueeze(1)  # R x 1 x U

    def __call__(
        self, layer: int, queries: Tensor, kernel: Kernel, new: Optional[KeysValues] = None
    ) -> Tensor:
        """Attends to the view of each row."""
        keys, values = self._stored[layer]
        if queries.size(2) > 1:
            mask = None if self._padding is None else ~self._padding[:, None, None]
            return kernel(queries, keys[self._view].mT, values[self._view], mask=mask)
        by_head = queries.reshape(self._channels.shape) * queries.size(3) ** -0.5
        scores = weighted_sums(keys.flatten(0, 2), self._channels, by_head)
        if self._bias is not None:
            scores.view(self._bias.size(0), -1, scores.size(1)).add_(self._bias)
        attended = weighted_sums(values.flatten(0, 2), self._positions, scores.softmax(1))
        return attended.view(queries.shape)


def _heads(entries: Tensor, num_heads: int) -> Tensor:
    """(R, T) entries to the (R * H, T) entries of each head, among the heads of all entries."""
    head = torch.arange(num_heads, device=entries.device).unsqueeze(1)
    return (entries.unsqueeze(1) * num_heads + head).flatten(0, 1)


def _room(buffer: Optional[Tensor], used: int, size: int, like: Tensor) -> Tensor:
    """The buffer, or a copy of its used part in one twice as long, so that copies are rare."""
    if buffer is not None and buffer.size(0) >= size:
        return buffer
    longer = like.new_empty(2 * size, like.size(1))
    if buffer is not None:
        longer[:used] = buffer[:used]
    return longer
