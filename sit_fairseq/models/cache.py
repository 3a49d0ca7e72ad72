"""The key-value cache of step-by-step decoding.

Keys and values stay in place when beams are reordered or sentences end. Tables say which of the
stored ones each row attends to.

Shapes: R rows over streams, B sentences, N streams, K hypotheses of each sentence, T
positions so far, U source positions, E stored entries, C channels, H heads, D = C / H
channels of a head; M views of sources (of streams, or aggregated) that the search began with.
"""

import copy
import math
from dataclasses import dataclass
from typing import Any, Dict, Iterable, List, Optional, Sequence

import torch
from torch import Tensor

from sit_fairseq.models.attention import Kernel, KeysValues
from sit_fairseq.models.context import Context
from sit_fairseq.models.cpu_kernels import SHORT_AXIS, weighted_sums
from sit_fairseq.symbols.streams import Reordering

# Numbers gathered at a time: they stay in a core's cache, and in memory that is reused.
_BLOCK = 2**20


class SelfAttentionCache:
    """Keys and values of all positions so far, of one self-attention in each layer.

    The cache only appends. One table, the same for all layers, says which entry each row
    has at each position, as the block table of a paged cache does.

    Args:
        rows: R at the start.
        num_heads: H.
        device: of the keys and values.
    """

    def __init__(self, rows: int, num_heads: int, device: torch.device) -> None:
        self.entries = torch.empty(rows, 0, dtype=torch.long, device=device)
        self._num_heads = num_heads
        self._size = 0
        self._stored: Dict[int, List[Tensor]] = {}  # keys and values of each layer, both E x C
        self._heads: Optional[Tensor] = None

    def advance(self, row: Tensor, count: int, length: int) -> None:
        """Begins a step, in which each layer appends ``count`` rows of ``length`` positions.

        Args:
            row: (R,) the appended row that each row has; several may share one.
        """
        positions = torch.arange(length, device=row.device)
        new = self._size + row.unsqueeze(1) * length + positions
        self.entries = torch.cat((self.entries, new), dim=1)
        self._size += count * length
        self._heads = None

    def select(self, rows: Tensor) -> None:
        """Goes on with the given rows, in that order."""
        self.entries = self.entries.index_select(0, rows)
        self._heads = None

    def seen_by(self, entries: Tensor) -> "SelfAttentionCache":
        """The same keys and values for (R', T) other rows."""
        seen = copy.copy(self)
        seen.entries, seen._heads = entries, None
        return seen

    def attend(
        self,
        layer: int,
        queries: Tensor,
        kernel: Kernel,
        new: Optional[KeysValues] = None,
        mask: Optional[Tensor] = None,
    ) -> Tensor:
        """Stores a layer's new entries, and attends from each row to its entries.

        Args:
            layer: the number of the layer.
            queries: (R, H, P, D) of the new positions.
            kernel: attends from several positions at once.
            new: (count, H, P, D) keys and values; None where they are stored already.
            mask: (R, 1, P, T) True where an entry is seen; None for all that are not later.

        Returns:
            (R, H, P, D).
        """
        if new is not None:
            self._store(layer, new)
        keys, values = self._stored[layer]
        if mask is not None or queries.size(2) > 1:
            return self._attend_at_once(queries, kernel, keys, values, mask)
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

    def _attend_at_once(
        self,
        queries: Tensor,
        kernel: Kernel,
        keys: Tensor,
        values: Tensor,
        mask: Optional[Tensor],
    ) -> Tensor:
        keys, values = (
            part[self.entries].unflatten(2, (self._num_heads, -1)).transpose(1, 2)
            for part in (keys, values)
        )
        if mask is None:
            before = keys.size(2) - queries.size(2)
            mask = torch.ones(queries.size(2), keys.size(2), dtype=torch.bool, device=keys.device)
            mask = mask.tril(before)
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
    """The encoder's keys and values of one cross-attention in each layer.

    They are stored once per view of a source, and looked up by row.
    """

    def __init__(self) -> None:
        self._stored: List[KeysValues] = []  # of each layer, (M, H, D, U) and (M, H, U, D)

    def add_layer(self, view: KeysValues) -> None:
        """Stores the keys and values of the next layer, both (M, H, U, D)."""
        self._stored.append(
            KeysValues(view.keys.transpose(2, 3).contiguous(), view.values.contiguous())
        )

    def look_up(self, view: Tensor, padding: Optional[Tensor]) -> None:
        """Notes the view that each row attends to.

        Args:
            view: (R,) the number of a view.
            padding: (R, U) True at padding of that view, None if there is none.
        """
        self._view, self._padding = view, padding
        _, num_heads, head_dim, length = self._stored[0].keys.shape
        heads = _heads(view.unsqueeze(1), num_heads)
        self._channels = heads * head_dim + torch.arange(head_dim, device=view.device)
        self._positions = heads * length + torch.arange(length, device=view.device)
        self._bias = None
        if padding is not None:
            bias = torch.zeros(padding.shape, device=view.device)
            self._bias = bias.masked_fill_(padding, -math.inf).unsqueeze(1)  # R x 1 x U

    def attend(self, layer: int, queries: Tensor, kernel: Kernel) -> Tensor:
        """Attends from (R, H, P, D) queries to the view of their row."""
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


class KeyValueCache:
    """The memory of a decoder between the steps of a search.

    Args:
        batch: at the first step.
        views: for each layer, the keys and values (M, H, U, D) of its cross-attentions.
        cross: the cross-attentions in their order, ``"CP"`` or ``"CA"`` as in the attention
            pattern.
        num_heads: H.

    Attributes:
        position: of the first token that the step reads.
        context: the batch at this step.
        self_attn: to the row's own stream, an entry for each row over streams.
        aggregated_attn: to the aggregated view, an entry for each hypothesis.
        encoder_attn: to the source.
    """

    def __init__(
        self,
        batch: Context,
        views: Iterable[Sequence[KeysValues]],
        cross: Sequence[str],
        num_heads: int,
    ) -> None:
        self.position = self._length = 0
        streams = batch.streams
        self.context = Context(batch.slots, streams, batch.target_table, batch.output_table)
        self._padding = batch.padding
        device = streams.sentence.device
        num_streams = streams.sentence.numel()
        self.self_attn, self.aggregated_attn = (
            SelfAttentionCache(num_streams * streams.hypotheses, num_heads, device)
            for _ in range(2)
        )
        self._cross = cross
        self.encoder_attn = [CrossAttentionCache() for _ in cross]
        for of_layer in views:
            for cache, view in zip(self.encoder_attn, of_layer):
                cache.add_layer(view)
        # The stream and the sentence, at the start, of each stream.
        self._stream, self._sentence = torch.arange(num_streams, device=device), streams.sentence
        self._look_up()

    def advance(self, canonical: Tensor) -> Tensor:
        """Begins a step, at whose end each row has its new entries in each self-attention.

        Args:
            canonical: (B*K, T) canonical ids so far. Reserved slots that they take get streams.

        Returns:
            (B*K, P) those that no step has read.
        """
        new = canonical[:, self._length :]
        self.position, self._length = self._length, canonical.size(1)
        own_slots = self.context.own_slots(canonical)
        if own_slots is not None:
            self._give_streams(own_slots)
        self._append(new)
        return new

    def reorder(self, order: Tensor) -> None:
        """Follows fairseq's beams: each hypothesis takes all its streams along.

        Args:
            order: (B'*K',) the old hypothesis that each new one continues.
        """
        hypotheses = self.context.streams.hypotheses
        to = self.context.streams.reorder(order)
        self.context = self.context.moved(to)
        self._follow(to, order)
        if not (to.same_sentences and to.streams.hypotheses == hypotheses):
            self._continue_from(to.rows_of_streams)

    def _give_streams(self, own_slots: Tensor) -> None:
        """Gives reserved slots streams of their own, copies of the stream that stood for them."""
        streams = self.context.streams
        old = (streams.on_host or streams).num_slots
        own_slots = torch.maximum(own_slots, old)
        if torch.equal(own_slots, old):
            return
        new, continued = streams.with_own_streams(own_slots)
        self.context = self.context.extended(new, continued)
        hypotheses = torch.arange(streams.hypotheses, device=continued.index.device)
        self._repeat((continued.index.unsqueeze(1) * streams.hypotheses + hypotheses).flatten())
        self._continue_from(continued.index)

    def _append(self, new: Tensor) -> None:
        """Gives (B*K, P) new tokens entries."""
        streams, device = self.context.streams, self._sentence.device
        rows = streams.sentence.numel() * streams.hypotheses
        self.self_attn.advance(torch.arange(rows, device=device), rows, new.size(1))
        hypotheses = torch.arange(new.size(0), device=device)
        self.aggregated_attn.advance(streams.expand(hypotheses), new.size(0), new.size(1))

    def _follow(self, to: Reordering, order: Tensor) -> None:
        """Takes the entries of new hypotheses along, which continue those of ``order``."""
        self._repeat(to.rows)

    def _repeat(self, rows: Tensor) -> None:
        """Goes on with the entries of these rows over streams."""
        self.self_attn.select(rows)
        self.aggregated_attn.select(rows)

    def _continue_from(self, streams: Tensor) -> None:
        """Notes the (N',) old streams that the new ones continue."""
        self._stream, self._sentence = self._stream[streams], self._sentence[streams]
        self._look_up()

    def _look_up(self) -> None:
        """Tells the cross-attentions the view that each row attends to."""
        stream, sentence = (
            view.repeat_interleave(self.context.streams.hypotheses)
            for view in (self._stream, self._sentence)
        )
        padding = None if self._padding is None else self._padding[sentence]
        for letters, cache in zip(self._cross, self.encoder_attn):
            cache.look_up(stream if letters == "CP" else sentence, padding)


@dataclass(frozen=True)
class LayerMemory:
    """The keys and values of a layer's attentions in a step, as :class:`Sequences`."""

    cache: Any
    layer: int

    @property
    def position(self) -> int:
        """Of the first query."""
        return self.cache.position

    places, ready = position, None

    def own(self, queries: Tensor, new: KeysValues, kernel: Kernel) -> Tensor:
        """Attends within each row."""
        return self.cache.self_attn.attend(self.layer, queries, kernel, new)

    def aggregated(self, queries: Tensor, new: KeysValues, kernel: Kernel) -> Tensor:
        """Attends to the aggregated view of each hypothesis."""
        return self.cache.aggregated_attn.attend(self.layer, queries, kernel, new)

    def source(self, number: int, queries: Tensor, kernel: Kernel) -> Tensor:
        """Attends to the view of the cross-attention of this number."""
        return self.cache.encoder_attn[number].attend(self.layer, queries, kernel)


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
