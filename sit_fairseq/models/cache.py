"""The key-value cache of step-by-step decoding.

Keys and values stay in place when beams are reordered or sentences end. Tables say which of the
stored ones each row attends to.

Shapes: R rows over streams, B sentences, N streams, K hypotheses of each sentence, T
positions so far, U source positions, E stored entries, C channels, H heads, D = C / H
channels of a head; M views of sources (of streams, or aggregated) that the search began with.
"""

import math
from typing import Dict, Iterable, List, Optional, Sequence, Tuple

import torch
from torch import Tensor

from sit_fairseq.models.context import Context, EncodedSource
from sit_fairseq.models.cpu_kernels import SHORT_AXIS, weighted_sums

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

    Attributes:
        entries: (R, T) the table; its last column is of the present step.
    """

    def __init__(self, rows: int, num_heads: int, device: torch.device) -> None:
        self.entries = torch.empty(rows, 0, dtype=torch.long, device=device)
        self._num_heads = num_heads
        self._size = 0
        self._keys: Dict[int, Tensor] = {}
        self._values: Dict[int, Tensor] = {}
        self._heads: Optional[Tensor] = None

    def advance(self, new: Tensor, count: int) -> None:
        """Begins a step, in which each layer appends as many entries.

        Args:
            new: (R,) the new entry of each row.
            count: the number of new entries; rows may share them.
        """
        self.entries = torch.cat((self.entries, (self._size + new).unsqueeze(1)), dim=1)
        self._size += count
        self._heads = None

    def select(self, rows: Tensor) -> None:
        """Goes on with the given rows, in that order."""
        self.entries = self.entries.index_select(0, rows)
        self._heads = None

    def append(self, layer: int, keys: Tensor, values: Tensor) -> None:
        """Stores a layer's entries of this step, both (count, C)."""
        start = self._size - keys.size(0)
        for stored, new in ((self._keys, keys), (self._values, values)):
            stored[layer] = _room(stored.get(layer), start, self._size, new)
            stored[layer][start : self._size] = new

    def attend(self, layer: int, queries: Tensor) -> Tensor:
        """Attends from one query per row to the entries of that row.

        Args:
            layer: the number of the layer.
            queries: (R, C).

        Returns:
            (R, C).
        """
        head_dim = queries.size(1) // self._num_heads
        scores = self._scores(self._keys[layer], queries * head_dim**-0.5)
        if scores.size(1) < SHORT_AXIS:
            weights = scores.softmax(1).transpose(1, 2).flatten(0, 1)
        else:
            weights = scores.transpose(1, 2).flatten(0, 1).softmax(1)
        if self._heads is None:
            self._heads = _heads(self.entries, self._num_heads)
        attended = weighted_sums(self._values[layer].view(-1, head_dim), self._heads, weights)
        return attended.view_as(queries)

    def _scores(self, stored: Tensor, queries: Tensor) -> Tensor:
        """(R, T, H) products of queries with the keys of their entries."""
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

    Args:
        num_heads: H.
        head_dim: D.
    """

    def __init__(self, num_heads: int, head_dim: int) -> None:
        self._num_heads = num_heads
        self._head_dim = head_dim
        self._keys: List[Tensor] = []
        self._values: List[Tensor] = []

    def add_layer(self, keys: Tensor, values: Tensor) -> None:
        """Stores the keys and values of the next layer, both (M, H, U, D)."""
        self._keys.append(keys.transpose(2, 3).flatten(0, 2))  # -> M*H*D x U
        self._values.append(values.transpose(1, 2).flatten(0, 2))  # -> M*U*H x D

    def look_up(self, views: Tensor, padding: Optional[Tensor]) -> None:
        """From now on each row attends to the given view.

        Args:
            views: (R,) indices of views.
            padding: (R, U) True where a view has no token; None if all have as many.
        """
        device = views.device
        channels = torch.arange(self._num_heads * self._head_dim, device=device)
        channels = views.unsqueeze(1) * channels.numel() + channels
        self._channels = channels.view(-1, self._head_dim)  # R*H x D, among M*H*D
        length = self._keys[0].size(1)
        positions = torch.arange(length, device=device)
        self._heads = _heads(views.unsqueeze(1) * length + positions, self._num_heads)
        self._bias = None
        if padding is not None:
            bias = torch.zeros(padding.shape, device=device).masked_fill_(padding, -math.inf)
            self._bias = bias.unsqueeze(1)  # R x 1 x U

    def attend(self, layer: int, queries: Tensor) -> Tensor:
        """Attends from one query per row to the view of that row.

        Args:
            layer: the number of the layer.
            queries: (R, C).

        Returns:
            (R, C).
        """
        by_head = queries.reshape(self._channels.shape) * self._head_dim**-0.5
        scores = weighted_sums(self._keys[layer], self._channels, by_head)
        if self._bias is not None:
            scores.view(self._bias.size(0), -1, scores.size(1)).add_(self._bias)
        attended = weighted_sums(self._values[layer], self._heads, scores.softmax(1))
        return attended.view(queries.shape)


class KeyValueCache:
    """The memory of a decoder between the steps of a search.

    Args:
        source: the batch at the first step.
        views: for each layer, the keys and values (M, H, U, D) of its cross-attentions.
        cross: the cross-attentions in their order, ``"CP"`` or ``"CA"`` as in the attention
            pattern.
        num_heads: H.
        embed_dim: C.

    Attributes:
        position: of the step.
        context: the batch at this step.
        self_attn: to the row's own stream, an entry for each row over streams.
        aggregated_attn: to the aggregated view, an entry for each hypothesis.
        encoder_attn: to the source.
    """

    def __init__(
        self,
        source: EncodedSource,
        views: Iterable[Sequence[Tuple[Tensor, Tensor]]],
        cross: Sequence[str],
        *,
        num_heads: int,
        embed_dim: int,
    ) -> None:
        self.position = -1
        streams = source.streams
        self.context = Context(source.slots, streams, source.target_table, source.output_table)
        self._padding = source.padding
        device = streams.sentence.device
        num_streams = streams.sentence.numel()
        self.self_attn, self.aggregated_attn = (
            SelfAttentionCache(num_streams * streams.hypotheses, num_heads, device)
            for _ in range(2)
        )
        self._cross = cross
        self.encoder_attn = [CrossAttentionCache(num_heads, embed_dim // num_heads) for _ in cross]
        for of_layer in views:
            for cache, (keys, values) in zip(self.encoder_attn, of_layer):
                cache.add_layer(keys, values)
        # The stream and the sentence, at the start, of each stream.
        self._stream, self._sentence = torch.arange(num_streams, device=device), streams.sentence
        self._look_up()

    def advance(self, canonical: Tensor) -> None:
        """Begins a step, at whose end each row has one more entry in each self-attention.

        Args:
            canonical: (B*K, T) canonical ids so far. Reserved slots that they take get streams.
        """
        self.position += 1
        own_slots = self.context.own_slots(canonical)
        if own_slots is not None:
            self._give_streams(own_slots)
        streams, device = self.context.streams, self._sentence.device
        rows = streams.sentence.numel() * streams.hypotheses
        self.self_attn.advance(torch.arange(rows, device=device), rows)
        hypotheses = streams.first.numel() * streams.hypotheses
        self.aggregated_attn.advance(
            streams.expand(torch.arange(hypotheses, device=device)), hypotheses
        )

    def reorder(self, order: Tensor) -> None:
        """Follows fairseq's beams: each hypothesis takes all its streams along.

        Args:
            order: (B'*K',) the old hypothesis that each new one continues.
        """
        hypotheses = self.context.streams.hypotheses
        to = self.context.streams.reorder(order)
        self.context = self.context.moved(to)
        self.self_attn.select(to.rows)
        self.aggregated_attn.select(to.rows)
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
        rows = (continued.index.unsqueeze(1) * streams.hypotheses + hypotheses).flatten()
        self.self_attn.select(rows)
        self.aggregated_attn.select(rows)
        self._continue_from(continued.index)

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
