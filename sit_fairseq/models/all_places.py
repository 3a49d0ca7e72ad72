"""The layout of the paper, ``--stream-places all``: every stream has a row at every token.

Shapes as in :mod:`sit_fairseq.symbols.streams`; P new tokens.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, List, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor

from sit_fairseq.models.attention import AtOnce, Seen
from sit_fairseq.models.cache import CrossAttentionCache
from sit_fairseq.models.memory import Memory
from sit_fairseq.symbols.streams import Continuation, Streams, changed


@dataclass(frozen=True, eq=False)
class AllPlaces:
    """Rows over streams, in the order of these.

    Attributes:
        canonical: (B*K, T) canonical ids.
        num_base: V_n.
        streams: of the sequences.
        padding: (B*K, T) True at padding on the right, None if there is none.
    """

    canonical: Tensor
    num_base: int
    streams: Streams
    padding: Optional[Tensor] = None

    def to(self, device: torch.device, non_blocking: bool = True) -> "AllPlaces":
        """See :class:`~sit_fairseq.models.attention.Layout`, as for all methods."""
        parts = ("canonical", "streams", "padding")
        return changed(self, lambda part: part.to(device, non_blocking=non_blocking), *parts)

    def select(self, to: Continuation) -> Tuple["AllPlaces", Tensor]:
        """Its rows are those over streams."""
        streams = replace(to.streams, hypotheses=1)
        selected = changed(self, lambda part: part[to.sentences], "canonical", "padding")
        return replace(selected, streams=streams), to.rows_of_streams

    def vectors(self) -> Tensor:
        """Symbols without a stream are placeholders."""
        num_base, streams = self.num_base, self.streams
        tokens = streams.expand(self.canonical)
        # Not repeat_interleave, which PyTorch 2.13 exports to ONNX in a wrong order.
        slot = streams.slot.unsqueeze(1).expand(-1, streams.hypotheses).reshape(-1, 1)
        special = torch.where(tokens == num_base + slot, num_base, num_base + 1)
        if streams.sorts is not None:
            special = special + 2 * streams.expand(streams.sort_of(self.canonical - num_base))
        return torch.where(tokens < num_base, tokens, special)

    def spread(self, x: Tensor) -> Tensor:
        """A tensor that all sequences share, (1, T, ...), stays as it is."""
        return x if len(x) == 1 else self.streams.expand(x)

    def aggregate(self, hidden: Tensor) -> Tensor:
        """The mean over streams, but at a symbol's tokens the hidden state of that symbol's own
        stream. Invariant under renaming."""
        is_symbol, row = self._own
        # An embedding, as its gradient takes a sixth of the time of an index's on a CPU.
        own = F.embedding(row, hidden.reshape(-1, hidden.size(2)))
        return torch.where(is_symbol.unsqueeze(2), own, self.streams.mean(hidden))

    def at_once(self, causal: bool) -> List[AtOnce]:
        """Sequences have one view, which all streams share."""
        mask = self.streams.mask(self.padding)
        return [AtOnce(mask, causal), AtOnce(mask, causal, self.streams.expand)]

    @cached_property
    def _own(self) -> Tuple[Tensor, Tensor]:
        """(B*K, T) True at symbols with a stream, and the index of that stream's hidden state there
        among all N*K*T."""
        slot, streams = self.canonical - self.num_base, self.streams
        sentence = torch.arange(slot.size(0), device=slot.device) // streams.hypotheses
        exists = (slot >= 0) & (slot < streams.num_slots[sentence].unsqueeze(1))
        token = torch.arange(slot.size(1), device=slot.device)
        return exists, streams.row_of(slot) * slot.size(1) + token


class AllMemory(Memory):
    """The memory of a decoder with :class:`AllPlaces`."""

    lay_out = AllPlaces

    def _begin(self, source: Any) -> None:
        if self._keeps:
            self._source = [CrossAttentionCache(layers) for layers in self._views]

    def _see(self, canonical: Tensor, new: Tensor, position: Tensor) -> Seen:
        streams = self.streams
        layout = self.lay_out(new, self._num_base, streams)
        entries, sources = layout.at_once(causal=True), self._source
        if self._keeps:
            sequences = torch.arange(len(new), device=new.device)
            of_rows = streams.expand(sequences)
            rows = torch.arange(of_rows.numel(), device=new.device)
            self.own.advance(rows, rows.numel(), new.size(1))
            self.aggregated.advance(of_rows, sequences.numel(), new.size(1))
            entries = self.own, self.aggregated
        else:
            mask, expand = streams.mask(self._padding), {"CP": self._of_streams}
            sources = [
                AtOnce(mask, False, expand.get(letters, streams.expand), view, streams.hypotheses)
                for letters, view in zip(self._cross, self._views)
            ]
        return Seen(layout, position, *entries, sources)

    def _of_streams(self, views: Tensor) -> Tensor:
        """Views of the streams at the start, to those of the streams as they are now."""
        if len(views) == len(self._stream):
            return views
        return F.embedding(self._stream, views.flatten(1)).view(-1, *views.shape[1:])

    def _follow(self, to: Continuation, order: Optional[Tensor]) -> None:
        if self._keeps:
            self._select(to.rows)
