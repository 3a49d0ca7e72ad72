"""Encoder and decoder of ``--stream-places own``: a symbol has a stream of its own where it stands.

All layers but the last of the decoder compute :class:`~sit_fairseq.symbols.rows.Rows`: a token has
two at most, whatever the number of symbols. :mod:`sit_fairseq.models.last_layer` computes the last
one.

Shapes: B sequences (sources, or B*K hypotheses), T tokens, L rows, P new tokens of a step, H heads,
D channels of a head; else as in :mod:`sit_fairseq.symbols.streams`.
"""

from dataclasses import dataclass, replace
from typing import Any, Iterator, List, Optional, Sequence, Tuple, Union

import torch
from torch import Tensor, nn

from sit_fairseq.models.attention import Kernel, KeysValues, Projected, attend_folded
from sit_fairseq.models.cache import KeyValueCache, SelfAttentionCache
from sit_fairseq.models.context import Context
from sit_fairseq.models.cpu_kernels import dropout
from sit_fairseq.models.decoder import StreamDecoder
from sit_fairseq.models.embedding import StreamTable
from sit_fairseq.models.encoder import StreamEncoder
from sit_fairseq.models.last_layer import LastLayer, at
from sit_fairseq.symbols.rows import Places, Rows, pick
from sit_fairseq.symbols.streams import Reordering, Streams


class RowEncoder(StreamEncoder):
    """:class:`StreamEncoder` over rows."""

    def rows(self, canonical: Tensor, streams: Streams, padding: Optional[Tensor]) -> Rows:
        """See :class:`StreamEncoder`."""
        num_base = self.embed_tokens.vocabulary.num_base
        return Rows.packed(canonical, num_base, streams.num_slots, padding)

    def forward(
        self,
        canonical: Tensor,
        streams: Streams,
        table: StreamTable,
        padding: Optional[Tensor] = None,
        prepared: Optional[Tensor] = None,
        rows: Optional[Rows] = None,
        places: Union[int, Places] = 0,
    ) -> Tensor:
        """Encodes a batch, see :class:`StreamEncoder`; (B, L, C) output of the last layer."""
        x = _embed(self, canonical, rows, table, streams, prepared)
        memory = RowSequences(rows, rows.seen(rows.stream), None if padding is None else rows.mask)
        for layer in self.layers:
            x = layer(x, rows, memory)
        return self.layer_norm(x)


class RowDecoder(StreamDecoder):
    """:class:`StreamDecoder` over rows."""

    def forward(self, canonical: Tensor, source: Context, places: Union[int, Places] = 0) -> Tensor:
        """Computes logits for all target positions, see :class:`StreamDecoder`."""
        own_slots = source.own_slots(canonical)
        if own_slots is not None:
            source = source.extended(*source.streams.with_own_streams(own_slots))
        streams, cross = source.streams, self.cfg.pattern.cross
        rows = Rows.packed(canonical, *self._columns(streams))
        if not isinstance(places, int):
            rows = replace(rows, spread=places)
        x = _embed(self, canonical, rows, source.target_table, streams)
        memory = RowSequences(rows, rows.seen(rows.stream, rows.position), rows.earlier)
        memory = memory.with_sources(source, cross)
        *views, last = self.project_encoder(source)
        for layer, of_layer in zip(self.layers, views):
            x = layer(x, rows, replace(memory, views=of_layer))
        x = LastLayer.of(self.layers[-1], x, rows, memory).streams(source, last)
        return self._project(x, canonical, source)

    @torch.no_grad()
    def step(self, canonical: Tensor, cache: "RowCache") -> Tensor:
        """Computes logits for the positions that no step has read, see :class:`StreamDecoder`."""
        new = cache.advance(canonical)
        context, streams = cache.context, cache.context.streams
        past = Rows.in_pairs(canonical, *self._columns(streams))
        rows = past.last(new.size(1))
        x = _embed(self, new, rows, context.target_table, streams)
        memory = cache.memory(past, rows).with_sources(cache, self.cfg.pattern.cross)
        for number, views in enumerate(cache.views):
            x = self.layers[number](x, rows, replace(memory, layer=number, views=views))
        number = len(cache.views)
        last = LastLayer.of(
            self.layers[number], x, rows, replace(memory, layer=number), stores=True
        )
        x = last.step(cache, number, past.of_streams(streams))
        return self._project(x, canonical, context)

    def new_cache(self, source: Context) -> "RowCache":
        """The empty memory of the steps of a search."""
        *views, last = self.project_encoder(source)
        streams = replace(source.streams, hypotheses=1)
        last = [
            KeysValues(*at(source.rows.of_streams(streams, True), *view)) if kind == "CP" else view
            for kind, view in zip(self.cfg.pattern.cross, last)
        ]
        return RowCache(source, views, last, self.cfg.pattern.cross, self.cfg.num_heads)

    def project_encoder(self, source: Context) -> Iterator[List[KeysValues]]:
        """Keys and values of the cross-attentions to the encoder's rows, layer by layer."""
        cross = self.cfg.pattern.cross
        views = [source.view(letters) for letters in cross]
        places = [source.rows.places if one == "CP" else source.places for one in cross]
        for layer in self.layers:
            yield layer.project_encoder(views, places)

    def _columns(self, streams: Streams) -> Tuple[int, Tensor]:
        """V_n, and (B*K,) the slots of each sequence."""
        num_slots = streams.all_slots.repeat_interleave(streams.hypotheses)
        return self.embed_tokens.vocabulary.num_base, num_slots


@dataclass(frozen=True, eq=False)
class RowSequences:
    """Lets rows attend in a layer, as :class:`Sequences` lets streams.

    Attributes:
        rows: the rows that attend.
        seen: (B*K, 1, L, ...) True at the rows that each row attends to.
        seen_view: (B*K, 1, L or 1, ...) True at the tokens of the aggregated view; None if all are
            seen.
        hypotheses: K.
        seen_source: of each cross-attention, as ``seen`` and ``seen_view``, for K*L queries.
        views: keys and values of each cross-attention.
    """

    rows: Rows
    seen: Tensor
    seen_view: Optional[Tensor]
    hypotheses: int = 1
    seen_source: Sequence[Tensor] = ()
    views: Sequence[KeysValues] = ()
    ready: Optional[Projected] = None

    @property
    def position(self) -> Union[int, Places]:
        """Of the first token, or of all."""
        return self.rows.token_places

    @property
    def places(self) -> Places:
        """The position of each query."""
        return self.rows.places

    def with_sources(self, source: Any, cross: Sequence[str]) -> "RowSequences":
        """The same with the rows of encoded sources, if there are cross-attentions."""
        hypotheses, stream = source.streams.hypotheses, self.rows.stream
        seen = {"CA": source.rows.mask} if "CA" in cross else {}
        if "CP" in cross:
            seen["CP"] = source.rows.seen(stream, hypotheses=hypotheses)
        return replace(self, hypotheses=hypotheses, seen_source=[seen[one] for one in cross])

    def own(self, queries: Tensor, new: KeysValues, kernel: Kernel) -> Tensor:
        """Attends to the rows that each row sees."""
        return kernel(queries, *new, mask=self.seen)

    def aggregated(self, queries: Tensor, new: KeysValues, kernel: Kernel) -> Tensor:
        """Attends to the aggregated view of each sequence."""
        return kernel(queries, *new, mask=self.seen_view)

    def source(self, number: int, queries: Tensor, kernel: Kernel) -> Tensor:
        """Attends to the view of the cross-attention of this number."""
        view, mask = self.views[number], self.seen_source[number]
        return attend_folded(queries, view, kernel, self.hypotheses, mask)


@dataclass(frozen=True)
class RowMemory(RowSequences):
    """Lets rows attend in a step of a search, which stores keys and values.

    Attributes:
        self_attn: the entries of rows.
        aggregated_attn: the entries of the aggregated view.
        layer: the number of the layer.
    """

    self_attn: Any = None
    aggregated_attn: Any = None
    layer: int = 0

    @classmethod
    def of(cls, cache: Any, past: Rows, rows: Rows) -> "RowMemory":
        """The memory of a step: the last ``rows`` attend to ``past``, all tokens so far."""
        seen = dict(seen=past.seen(rows.stream, rows.position), seen_view=rows.earlier)
        return cls(rows, **seen, self_attn=cache.self_attn, aggregated_attn=cache.aggregated_attn)

    def own(self, queries: Tensor, new: KeysValues, kernel: Kernel) -> Tensor:
        """Attends to the rows that each row sees, earlier ones too."""
        return self._attend(self.self_attn, queries, kernel, new, self.seen)

    def aggregated(self, queries: Tensor, new: KeysValues, kernel: Kernel) -> Tensor:
        """Attends to the aggregated view of each sequence, earlier tokens too."""
        return self._attend(self.aggregated_attn, queries, kernel, new, self.seen_view)

    def _attend(
        self, entries: Any, queries: Tensor, kernel: Kernel, new: KeysValues, seen: Optional[Tensor]
    ) -> Tensor:
        return entries.attend(self.layer, queries, kernel, new, seen)


@dataclass(frozen=True)
class PairMemory(RowMemory):
    """The memory of a step of one token, whose two rows each attend to one entry of each token."""

    @classmethod
    def of(cls, cache: Any, past: Rows, rows: Rows) -> "PairMemory":
        """The memory of a step: the last two ``rows`` attend to ``past``, all tokens so far."""
        own, view = cache.self_attn, cache.aggregated_attn
        entries = own.entries.gather(1, past.of_slots(rows.stream).flatten(1))
        return cls(
            *(rows, None, None),
            self_attn=own.seen_by(entries.view(-1, view.entries.size(1))),
            aggregated_attn=view.seen_by(view.entries.repeat_interleave(2, 0)),
        )

    def _attend(
        self, entries: Any, queries: Tensor, kernel: Kernel, new: KeysValues, seen: Optional[Tensor]
    ) -> Tensor:
        each = queries.transpose(1, 2).flatten(0, 1).unsqueeze(2)  # a sequence of its own
        attended = entries.attend(self.layer, each, kernel, new)
        return attended.view(-1, 2, *attended.shape[1::2]).transpose(1, 2)


class RowCache(KeyValueCache):
    """The memory of a :class:`RowDecoder` between the steps of a search.

    Its self-attentions have two entries a position, whatever the number of symbols.

    Args:
        batch: at the first step.
        views: for each layer but the last, the keys and values of its cross-attentions, (B, H, L, D)
            of the rows of sources (CP) or (B, H, U, D) of their aggregated view (CA).
        last: those of the last layer, of streams (CP).
        cross, num_heads: see :class:`KeyValueCache`.
    """

    def __init__(
        self,
        batch: Context,
        views: Sequence[Sequence[KeysValues]],
        last: Sequence[KeysValues],
        cross: Sequence[str],
        num_heads: int,
    ) -> None:
        super().__init__(batch, [last], cross, num_heads)
        sequences = batch.streams.first.numel() * batch.streams.hypotheses
        self.self_attn, self.aggregated_attn = (
            SelfAttentionCache(sequences, num_heads, batch.streams.sentence.device)
            for _ in range(2)
        )
        self.views, self.rows = views, batch.rows

    @property
    def streams(self) -> Streams:
        """The layout of the step."""
        return self.context.streams

    def memory(self, past: Rows, rows: Rows) -> RowMemory:
        """The memory of a step: the last ``rows`` attend to ``past``, all tokens so far."""
        one = rows.token.size(1) == 1
        return (PairMemory if one else RowMemory).of(self, past, rows)

    def _append(self, new: Tensor) -> None:
        count = torch.arange(new.size(0), device=new.device)
        self.self_attn.advance(count, new.size(0), 2 * new.size(1))
        self.aggregated_attn.advance(count, new.size(0), new.size(1))

    def _follow(self, to: Reordering, order: Tensor) -> None:
        order = order.to(self._sentence.device)
        self.self_attn.select(order)
        self.aggregated_attn.select(order)
        if not to.same_sentences and self.rows is not None:
            self.rows = self.rows.select(to.sentences)
            self.views = [
                [KeysValues(*(part[to.sentences] for part in view)) for view in of_layer]
                for of_layer in self.views
            ]

    def _repeat(self, rows: Tensor) -> None:
        """Hypotheses have as many rows as before."""


def _embed(
    side: nn.Module,
    canonical: Tensor,
    rows: Rows,
    table: StreamTable,
    streams: Streams,
    prepared: Optional[Tensor] = None,
) -> Tensor:
    """(B, L, C) input of the first layer of an encoder or a decoder (Algorithm 1).

    Args:
        side: the encoder or the decoder.
        canonical: (B, T) canonical ids.
        rows: their rows.
        table: the vectors of the batch.
        streams: says the sorts of symbols.
        prepared: of the positions.
    """
    num_base, token = table.vocabulary.num_base, rows.position - rows.first
    actual = num_base + 2 * streams.sort_of(canonical - num_base)
    actual, read = actual.gather(1, token), canonical.gather(1, token)
    x = table.look_up(torch.where(read < num_base, read, actual + (~rows.own).long()))
    nothing = x.new_zeros(*canonical.shape, x.size(2))
    x = x + pick(side.embed_positions(nothing, rows, prepared, rows.token_places), token)
    return dropout(side.layernorm_embedding(x), side.cfg.options.dropout if side.training else 0.0)
