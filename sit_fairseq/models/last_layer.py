"""The last layer of a decoder of ``--stream-places own``: each symbol has its stream everywhere.

A stream begins as the symbol's own state at its places and as the background elsewhere. So rows are
projected once, and streams pick their queries, keys and values among those. No stream attends to
another, as the aggregated view is that of the rows. So they may be computed in parts.

Shapes: B sequences (sources, or B*K hypotheses), T tokens, L rows, H heads, D channels of a head;
else as in :mod:`sit_fairseq.symbols.streams`.
"""

from dataclasses import dataclass, replace
from typing import Any, Dict, List, Optional, Sequence, Union

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from sit_fairseq.models.attention import Kernel, KeysValues, Projected, Sequences
from sit_fairseq.models.cache import CrossAttentionCache, SelfAttentionCache
from sit_fairseq.models.context import Context
from sit_fairseq.symbols.rows import Places, Rows, over_streams
from sit_fairseq.symbols.streams import Part

# Numbers in a state of all streams, above which they are computed in parts, and computed again for
# the gradient. The other numbers of a part, about 30 times as many, then take 1 GiB in float32.
MOST_AT_ONCE = 2**23


@dataclass(frozen=True, eq=False)
class LastLayer:
    """The layer after its rows have attended to themselves.

    Attributes:
        layer: a decoder's.
        x: (B*K, L, C) its input.
        rows: of its input.
        ready: queries, keys and values of the rows; None if they do not attend to themselves.
        view: (B*K, T, C) the aggregated view of the rows.
    """

    layer: nn.Module
    x: Tensor
    rows: Rows
    ready: Optional[Projected]
    view: Tensor

    @classmethod
    def of(
        cls, layer: nn.Module, x: Tensor, rows: Rows, memory: Any, stores: bool = False
    ) -> "LastLayer":
        """Has the rows attend to themselves.

        Args:
            memory: what rows see, see :class:`~sit_fairseq.models.own_places.RowSequences`.
            stores: whether ``memory`` keeps keys and values for later steps.
        """
        ready, seen = None, x
        if layer.self_attn is not None:
            ready = layer.project_to_self(x, memory)
            if stores or layer.aggregated_attn is not None:
                seen = layer.attend_to_self(x, replace(memory, ready=ready))
        view = rows.aggregate(seen)
        if layer.aggregated_attn is not None and layer.cfg.aggregated_normalize_before:
            view = layer.aggregated_attn_layer_norm(view)
        return cls(layer, x, rows, ready, view)

    def streams(self, source: Context, views: Sequence[KeysValues]) -> Tensor:
        """(N*K, T, C) output for all positions.

        Args:
            source: the batch.
            views: keys and values of each cross-attention, of the rows of sources (CP) or of their
                aggregated view (CA).
        """
        row, streams = self.rows.of_streams(source.streams, True), source.streams
        cross, of_source = self.layer.cfg.pattern.cross, None
        if "CP" in cross:
            of_source = source.rows.of_streams(replace(streams, hypotheses=1), True)

        def of_part(x: Tensor, part: Part) -> Tensor:
            seen = [
                (
                    KeysValues(*at(of_source[part.streams], *view))
                    if letters == "CP"
                    else KeysValues(*(half[part.sentences] for half in view))
                )
                for letters, view in zip(cross, views)
            ]
            mask = None if source.mask is None else source.mask[part.streams]
            memory = Sequences(part.layout, None, True, cross, seen, mask, **self._places(part))
            if self.ready is not None:
                queries, *new = at(row[part.rows], self.ready[0], *self.ready[1])
                memory = replace(memory, ready=(queries, KeysValues(*new)))
            view = _View(self.view[part.sequences])
            return self.layer(_pick(x, row[part.rows]), view, memory)

        each = row.size(1) * streams.hypotheses  # positions of a stream, or of what it reads
        each = each if of_source is None else max(each, of_source.size(1))
        most = max(1, MOST_AT_ONCE // (self.x.size(2) * each))
        parts = streams.parts(most)
        if len(parts) == 1:
            return of_part(self.x, parts[0])
        return torch.cat([checkpoint(of_part, self.x, part, use_reentrant=False) for part in parts])

    def _places(self, part: Part) -> Dict[str, Union[int, Places]]:
        """The positions of tokens and of queries, see :class:`Sequences`."""
        position = self.rows.token_places
        if not isinstance(position, int):
            position = replace(position, position=position.position[part.sequences])
        return {"position": position, "places": over_streams(position, part.layout)}

    def step(self, cache: Any, number: int, row: Tensor) -> Tensor:
        """(N*K, P, C) output for the positions of a step.

        Args:
            cache: of the search.
            number: of the layer.
            row: (N*K, T) the row of each stream at each position, among the pairs of a hypothesis.
        """
        streams = cache.context.streams
        own, view = cache.self_attn, cache.aggregated_attn
        new = self.rows.of_streams(streams, True)
        memory = StreamMemory(
            cache.position,
            number,
            own.seen_by(streams.expand(own.entries).gather(1, row)),
            view.seen_by(streams.expand(view.entries)),
            cache.encoder_attn,
            None if self.ready is None else (*at(new, self.ready[0]), None),
        )
        return self.layer(_pick(self.x, new), _View(self.view), memory)


@dataclass(frozen=True, eq=False)
class _View:
    """Hands a layer of streams the aggregated view of the rows."""

    x: Tensor

    def aggregate(self, streams: Tensor) -> Tensor:
        """(B*K, T, C)."""
        return self.x


@dataclass(frozen=True)
class StreamMemory:
    """Lets streams of the last layer attend to the entries of rows in a step. It stores nothing.

    Attributes:
        position: of the first query.
        layer: the number of the layer.
        self_attn: the entry that each stream has at each position.
        aggregated_attn: the entry of the view.
        encoder_attn: the entries of each cross-attention.
        ready: the queries of the streams, if they attend to themselves.
    """

    position: int
    layer: int
    self_attn: SelfAttentionCache
    aggregated_attn: SelfAttentionCache
    encoder_attn: Sequence[CrossAttentionCache]
    ready: Optional[Projected]

    @property
    def places(self) -> int:
        """Of the first query."""
        return self.position

    def own(self, queries: Tensor, new: KeysValues, kernel: Kernel) -> Tensor:
        """Attends within each stream."""
        return self.self_attn.attend(self.layer, queries, kernel)

    def aggregated(self, queries: Tensor, new: KeysValues, kernel: Kernel) -> Tensor:
        """Attends to the aggregated view of each hypothesis."""
        return self.aggregated_attn.attend(self.layer, queries, kernel, new)

    def source(self, number: int, queries: Tensor, kernel: Kernel) -> Tensor:
        """Attends to the view of the cross-attention of this number."""
        return self.encoder_attn[number].attend(0, queries, kernel)


def at(row: Tensor, *parts: Tensor) -> List[Tensor]:
    """(B, H, L, D) each, at (N, T) rows among those of all sequences -> (N, H, T, D) each."""
    table = torch.cat([part.transpose(1, 2).flatten(2) for part in parts], 2)
    found = _pick(table, row).unflatten(2, (len(parts), parts[0].size(1), -1))
    return list(found.permute(2, 0, 3, 1, 4))


def _pick(x: Tensor, row: Tensor) -> Tensor:
    """(B, L, C) at (N, T) rows among those of all sequences -> (N, T, C)."""
    # An embedding, as its gradient takes a sixth of the time of an index's on a CPU.
    return F.embedding(row, x.flatten(0, 1))
