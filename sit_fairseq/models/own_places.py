"""The layout of ``--stream-places`` ``own`` and ``read``: at most two rows a token for all symbols.

A sequence of T tokens has T *background* rows, in which all symbols are *other*, and *own* rows, one
for each place of a symbol. From the stream of a symbol one sees its own rows at its places and
background rows elsewhere; from the background one sees background rows alone. All layers but the last
of the decoder compute rows; in the last one each symbol has its stream everywhere. The last one is a
whole layer (``own``), or an additional light one without a feed-forward network (``read``).

Shapes: B sequences (sources, or B*K hypotheses), T tokens, L rows, Q queries, H heads, D channels of
a head; else as in :mod:`sit_fairseq.symbols.streams`.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, List, NamedTuple, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from sit_fairseq.models.attention import AtOnce, Entries, Kernel, KeysValues, Rotation, Seen
from sit_fairseq.models.cache import CrossAttentionCache
from sit_fairseq.models.memory import Memory
from sit_fairseq.symbols.streams import Continuation, Streams, changed

# Instead of a slot: no symbol with a column stands there; a row of the background.
_NONE, _BACKGROUND = -2, -1

# The parts of a layout that have a row for each sentence.
_OF_SENTENCES = ("canonical", "symbol", "own_row", "slot", "token", "real", "padding")

# Numbers in a state of all streams, above which they are computed in parts, and computed again for
# the gradient. The other numbers of a part, about 30 times as many, then take 1 GiB in float32.
MOST_AT_ONCE = 2**23


@dataclass(frozen=True, eq=False)
class OwnPlaces:
    """The rows of sequences.

    Attributes:
        canonical: (B, T) canonical ids.
        num_base: V_n.
        streams: of the sequences.
        symbol: (B, T) the slot of the symbol at each token, negative without one.
        own_row: (B, T) the row of the own state of that symbol.
        background: (T,) the background row of each token.
        slot: (B, L) the slot of the symbol at the place of each row, negative without one.
        token: (B, L) the number of the token of each row.
        own: (L,) True at own rows.
        real: (B, L) False at padding.
        first: the number of the first token.
        padding: (B, T) True at padding, None if there is none.
    """

    canonical: Tensor
    num_base: int
    streams: Streams
    symbol: Tensor
    own_row: Tensor
    background: Tensor
    slot: Tensor
    token: Tensor
    own: Tensor
    real: Tensor
    first: int = 0
    padding: Optional[Tensor] = None

    @classmethod
    def packed(
        cls, canonical: Tensor, num_base: int, streams: Streams, padding: Optional[Tensor] = None
    ) -> "OwnPlaces":
        """T background rows, then the own rows; symbols without a column have none. Arguments as
        the attributes."""
        symbol = _slots(canonical, num_base, streams)
        is_symbol, length = symbol >= 0, symbol.size(1)
        count = is_symbol.sum(1)
        # The places of symbols first, in their order.
        place = is_symbol.to(torch.uint8).argsort(dim=1, descending=True, stable=True)
        place = place[:, : int(count.max())]
        real_own = torch.arange(place.size(1), device=count.device) < count.unsqueeze(1)
        place = place.masked_fill(~real_own, 0)
        token = torch.arange(length, device=symbol.device)
        real = torch.ones_like(is_symbol) if padding is None else ~padding
        return cls(
            *(canonical, num_base, streams, symbol),
            length + is_symbol.cumsum(1) - 1,
            token,
            torch.cat((symbol, symbol.gather(1, place).masked_fill(~real_own, _NONE)), 1),
            torch.cat((token.expand_as(symbol), place), 1),
            torch.arange(length + place.size(1), device=symbol.device) >= length,
            torch.cat((real, real_own), 1),
            padding=padding,
        )

    @classmethod
    def in_pairs(cls, canonical: Tensor, num_base: int, streams: Streams) -> "OwnPlaces":
        """A background row and an own row of each token in turn; the own rows of base tokens are
        padding."""
        symbol = _slots(canonical, num_base, streams)
        token = torch.arange(symbol.size(1), device=symbol.device)
        own = torch.arange(2 * symbol.size(1), device=symbol.device) % 2 == 1
        slot = symbol.repeat_interleave(2, 1)
        return cls(
            *(canonical, num_base, streams, symbol),
            (2 * token + 1).expand_as(symbol),
            2 * token,
            slot,
            token.repeat_interleave(2).expand_as(slot),
            own,
            (slot >= 0) | ~own,
        )

    def last(self, number: int) -> "OwnPlaces":
        """The pairs of the last tokens."""
        before = self.symbol.size(1) - number
        rows = changed(self, lambda part: part[:, 2 * before :], "slot", "token", "real")
        return replace(
            changed(rows, lambda part: part[:, before:], "canonical", "symbol"),
            own_row=self.own_row[:, :number],
            background=self.background[:number],
            own=self.own[2 * before :],
            first=self.first + before,
        )

    def to(self, device: torch.device, non_blocking: bool = True) -> "OwnPlaces":
        """See :class:`~sit_fairseq.models.attention.Layout`, as for all methods up to ``at_once``."""
        parts = (*_OF_SENTENCES, "streams", "background", "own")
        return changed(self, lambda part: part.to(device, non_blocking=non_blocking), *parts)

    def select(self, to: Continuation) -> Tuple["OwnPlaces", Tensor]:
        """All sequences have as many rows."""
        selected = changed(self, lambda part: part[to.sentences], *_OF_SENTENCES)
        return replace(selected, streams=replace(to.streams, hypotheses=1)), to.sentences

    def vectors(self) -> Tensor:
        """Symbols are actual at own rows, and placeholders in the background."""
        actual = self.num_base + 2 * self.streams.sort_of(self.canonical - self.num_base)
        actual, read = self.spread(actual), self.spread(self.canonical)
        return torch.where(read < self.num_base, read, actual + (~self.own).long())

    def spread(self, x: Tensor) -> Tensor:
        """As the token of each row has it."""
        token = self.token - self.first
        if x.dim() == 2:
            return x.expand(len(token), -1).gather(1, token)
        return F.embedding(token, x[0]) if len(x) == 1 else _pick(x, token)

    def aggregate(self, hidden: Tensor) -> Tensor:
        """Own states at the tokens that are symbols; elsewhere all streams are the background, and so
        is their mean."""
        return _pick(hidden, torch.where(self.symbol >= 0, self.own_row, self.background))

    def at_once(self, causal: bool) -> List[AtOnce]:
        """Both attend to rows or tokens of their own sequence."""
        if causal:
            return [AtOnce(self.seen(self.stream, self.token)), AtOnce(self.earlier)]
        return [AtOnce(self.seen(self.stream)), AtOnce(self.mask)]

    @property
    def stream(self) -> Tensor:
        """(B, L) the slot from whose stream each row sees."""
        return torch.where(self.own & self.real, self.slot, _BACKGROUND)

    @property
    def mask(self) -> Optional[Tensor]:
        """(B, 1, 1, T) True at real tokens; None if all are real."""
        return None if self.padding is None else ~self.padding[:, None, None]

    @property
    def earlier(self) -> Tensor:
        """(B, 1, L, T) True at the tokens up to that of each row, from the very first."""
        tokens = torch.arange(self.first + self.symbol.size(1), device=self.token.device)
        return (tokens <= self.token.unsqueeze(2)).unsqueeze(1)

    def seen(self, stream: Tensor, token: Optional[Tensor] = None, hypotheses: int = 1) -> Tensor:
        """(B, 1, K*Q, L) True at the rows that queries attend to.

        Each of (B*K, Q) queries sees from the ``stream`` of a slot; those of (B, Q) tokens see no
        later rows.
        """
        stream = stream.reshape(stream.size(0) // hypotheses, -1)
        seen = (self.slot.unsqueeze(1) == stream.unsqueeze(2)) == self.own
        seen = seen & self.real.unsqueeze(1)
        if token is not None:
            seen = seen & (self.token.unsqueeze(1) <= token.unsqueeze(2))
        return seen.unsqueeze(1)

    def of_slots(self, slot: Tensor) -> Tensor:
        """(B, Q, T) the row at each token of the streams of (B, Q) slots."""
        at_place = self.symbol.unsqueeze(1) == slot.unsqueeze(2)
        return torch.where(at_place, self.own_row.unsqueeze(1), self.background)

    def of_streams(self, streams: Streams, of_all: bool = False) -> Tensor:
        """(N*K, T) the row of its sequence that each stream has at each token, or its number among
        those of all sequences."""
        slot = streams.slot.unsqueeze(1).expand(-1, streams.hypotheses).reshape(-1, 1)
        at_place = streams.expand(self.symbol) == slot
        row = torch.where(at_place, streams.expand(self.own_row), self.background)
        if not of_all:
            return row
        sequence = torch.arange(self.symbol.size(0), device=row.device).unsqueeze(1)
        return row + streams.expand(sequence) * self.own.numel()


class OwnMemory(Memory):
    """The memory of a decoder with :class:`OwnPlaces`. A search keeps two entries a token in each
    self-attention, whatever the number of symbols.

    In the last layer a stream begins as its symbol's own state at its places and as the background
    elsewhere. No stream attends to another there, as the aggregated view is that of the rows. The
    layer projects queries, keys and values of rows, and gathers them for the streams.
    """

    lay_out = OwnPlaces.packed

    def finish(self, last: nn.Module, x: Tensor, seen: Seen, number: int) -> Tensor:
        """See :class:`Memory`."""
        view = None
        if last.aggregated_attn is not None:
            view = seen.layout.aggregate(last.attend_to_self(x, seen, number))
            if last.cfg.aggregated_normalize_before:
                view = last.aggregated_attn_layer_norm(view)
        if not self._keeps:
            return self._streams_at_once(last, x, view, seen, number)
        streams, new = self.streams, self._new.of_streams(self.streams, True)
        entries = streams.expand(self.own.entries).gather(1, self._past.of_streams(streams))
        own = self.own.seen_by(entries=entries, stores=view is None)
        x = _attend_to_self(last, x, seen, number, new, own)
        seen = replace(
            seen,
            layout=_StreamsOfRows(view),
            queries=seen.tokens,
            aggregated=self.aggregated.seen_by(entries=streams.expand(self.aggregated.entries)),
            source=self._source,
        )
        return last.attend_to_others(x, seen, number)

    def _streams_at_once(
        self, last: nn.Module, x: Tensor, view: Optional[Tensor], seen: Seen, number: int
    ) -> Tensor:
        streams, size = self.streams, self.streams.hypotheses
        row, mask = seen.layout.of_streams(streams, True), streams.mask(self._padding)
        of_source, each = None, row.size(1) * size
        if "CP" in self._cross:
            of_source = self._sources.of_streams(replace(streams, hypotheses=1), True)
            each = max(each, of_source.size(1))  # positions of a stream, or of what it reads

        def of_part(x: Tensor, part: Tuple[Streams, int, int]) -> Tensor:
            layout, first, begin = part
            some = slice(first, first + layout.sentence.numel())
            sentences = slice(begin, begin + layout.first.numel())
            rows, sequences = (slice(s.start * size, s.stop * size) for s in (some, sentences))
            of_rows = AtOnce(causal=True, expand=partial(_heads_at, row=row[rows]))
            x = _attend_to_self(last, x, seen, number, row[rows], of_rows)
            tokens = _rotation(seen.tokens, lambda half: half[sequences])
            part_mask, sources = None if mask is None else mask[some], []
            for letters, layers in zip(self._cross, self._views):
                if letters == "CP":
                    keys_values = layers[number].map(partial(_heads_at, row=of_source[some]))
                else:
                    keys_values = layers[number].map(lambda half: layout.expand(half[sentences]))
                sources.append(AtOnce(part_mask, layers={number: keys_values}, hypotheses=size))
            part_seen = replace(
                seen,
                layout=_StreamsOfRows(None if view is None else view[sequences]),
                queries=_rotation(tokens, layout.expand),
                tokens=tokens,
                aggregated=AtOnce(causal=True, expand=layout.expand),
                source=sources,
            )
            return last.attend_to_others(x, part_seen, number)

        parts = _parts(streams, max(1, MOST_AT_ONCE // (x.size(2) * each)))
        if len(parts) == 1:
            return of_part(x, parts[0])
        return torch.cat([checkpoint(of_part, x, part, use_reentrant=False) for part in parts])

    def _begin(self, source: Any) -> None:
        self._sources = getattr(source, "layout", None)
        for letters, (*rows, last) in zip(self._cross, self._views if self._keeps else ()):
            if letters == "CP":
                of_streams = self._sources.of_streams(replace(self.streams, hypotheses=1), True)
                last = last.map(partial(_heads_at, row=of_streams))
            self._source.append(CrossAttentionCache([*[None] * len(rows), last]))

    def _see(self, canonical: Tensor, new: Tensor, position: Tensor) -> Seen:
        ids = self._num_base, self.streams
        if self._keeps:
            self._past = OwnPlaces.in_pairs(canonical, *ids)
            layout = self._new = self._past.last(new.size(1))
            entries = self._kept(layout)
        else:
            layout = self.lay_out(new, *ids)
            entries = layout.at_once(causal=True)
        sources = []
        for letters, layers in zip(self._cross, self._views):
            size, mask = self.streams.hypotheses, self._sources.mask
            if letters == "CP":
                mask = self._sources.seen(layout.stream, hypotheses=size)
            sources.append(AtOnce(mask, layers=layers, hypotheses=size))
        return Seen(layout, position, *entries, sources)

    def _kept(self, rows: OwnPlaces) -> Tuple[Entries, Entries]:
        """The entries of self-attentions, with those of new rows."""
        sequences, past = torch.arange(len(rows.token), device=rows.token.device), self._past
        number = rows.symbol.size(1)
        self.own.advance(sequences, len(sequences), 2 * number)
        self.aggregated.advance(sequences, len(sequences), number)
        if number > 1:
            own = self.own.seen_by(mask=past.seen(rows.stream, rows.token))
            return own, self.aggregated.seen_by(mask=rows.earlier)
        # Each of the two rows attends to one entry a token.
        own = self.own.entries.gather(1, past.of_slots(rows.stream).flatten(1))
        view = self.aggregated.entries.repeat_interleave(2, 0)
        both = (self.own, own.view(view.shape)), (self.aggregated, view)
        return tuple(partial(_in_pairs, one.seen_by(entries=entries)) for one, entries in both)

    def _follow(self, to: Continuation, order: Optional[Tensor]) -> None:
        if order is not None:
            self._select(order.to(self._sentence.device))
        if not to.same_sentences and self._sources is not None:
            self._sources, rows = self._sources.select(to)
            self._views = [
                [view.map(lambda half: half[rows]) for view in layers] for layers in self._views
            ]


class _StreamsOfRows(NamedTuple):
    """Hands a layer of streams the aggregated view of the rows, (B*K, T, C)."""

    view: Optional[Tensor]

    def aggregate(self, streams: Tensor) -> Tensor:
        """See :class:`~sit_fairseq.models.attention.Layout`."""
        return self.view


def _parts(streams: Streams, most: int) -> List[Tuple[Streams, int, int]]:
    """A layout in parts of at most so many streams, with the first stream and the first sentence of
    each. The slots of a part begin at 0 in each sentence."""
    count, host = streams.sentence.numel(), streams.on_host or streams
    if count <= most:
        return [(streams, 0, 0)]
    parts = []
    for first in range(0, count, most):
        sentence = host.sentence[first : first + most]
        part = Streams.of_slots(torch.bincount(sentence - sentence[0]), streams.hypotheses)
        parts.append((part.to(streams.sentence.device), first, int(sentence[0])))
    return parts


def _attend_to_self(
    last: nn.Module, x: Tensor, seen: Seen, number: int, row: Tensor, entries: Entries
) -> Tensor:
    """The per-stream self-attention of the last layer from (N*K, T) rows among those of all sequences
    to the entries of their streams."""

    def own(
        layer: int, queries: Tensor, kernel: Kernel, new: Optional[KeysValues] = None
    ) -> Tensor:
        return entries(layer, _heads_at(queries, row), kernel, new)

    return last.attend_to_self(x, replace(seen, own=own, spread=partial(_at, row=row)), number)


def _in_pairs(
    entries: Entries, layer: int, queries: Tensor, kernel: Kernel, new: Optional[KeysValues] = None
) -> Tensor:
    """Has each of the two rows of a token attend as a sequence of its own."""
    each = queries.transpose(1, 2).flatten(0, 1).unsqueeze(2)
    attended = entries(layer, each, kernel, new)
    return attended.view(-1, 2, *attended.shape[1::2]).transpose(1, 2)


def _rotation(rotation: Optional[Rotation], change: Any) -> Optional[Rotation]:
    """A rotation whose rows are changed, but for one that all rows share."""
    if rotation is None or len(rotation.cos) == 1:
        return rotation
    return Rotation(*map(change, rotation))


def _heads_at(part: Tensor, row: Tensor) -> Tensor:
    """(B, H, L, D) at (N, T) rows among those of all sequences -> (N, H, T, D)."""
    found = _at(part.transpose(1, 2).flatten(2), row)
    return found.unflatten(2, (part.size(1), -1)).transpose(1, 2)


def _at(x: Tensor, row: Tensor) -> Tensor:
    """(B, L, C) at (N, T) rows among those of all sequences -> (N, T, C)."""
    # An embedding, as its gradient takes a sixth of the time of an index's on a CPU.
    return F.embedding(row, x.flatten(0, 1))


def _pick(x: Tensor, row: Tensor) -> Tensor:
    """(B, L, C) at (B, T) rows of each sequence -> (B, T, C)."""
    sequence = torch.arange(x.size(0), device=x.device).unsqueeze(1)
    return _at(x, row + sequence * x.size(1))


def _slots(canonical: Tensor, num_base: int, streams: Streams) -> Tensor:
    slot, count = canonical - num_base, streams.all_slots.repeat_interleave(streams.hypotheses)
    return slot.masked_fill((slot < 0) | (slot >= count.unsqueeze(1)), _NONE)
