"""The layout of the paper, ``--stream-places all``: every stream has a row at every token.

Shapes as in :mod:`sit_fairseq.symbols.streams`; P new tokens.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, List, Optional, Sequence, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sit_fairseq.models.attention import AtOnce, Entries, Seen, Views
from sit_fairseq.models.cache import CrossAttentionCache, SelfAttentionCache
from sit_fairseq.models.memory import Memory
from sit_fairseq.symbols.streams import Reordering, Repetition, Streams


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

    def to(self, device: torch.device) -> "AllPlaces":
        """The layout, made on the CPU, for tensors of a device."""
        padding = None if self.padding is None else self.padding.to(device, non_blocking=True)
        canonical = self.canonical.to(device, non_blocking=True)
        return AllPlaces(canonical, self.num_base, self.streams.to(device), padding)

    def select(self, to: Reordering) -> Tuple["AllPlaces", Tensor]:
        """The layout of these sentences, and the rows that it has of this one."""
        streams = replace(to.streams, hypotheses=1)
        padding = None if self.padding is None else self.padding[to.sentences]
        selected = AllPlaces(self.canonical[to.sentences], self.num_base, streams, padding)
        return selected, to.rows_of_streams

    def vectors(self) -> Tensor:
        """(N*K, T) rows of the matrix of embeddings; see
        :class:`~sit_fairseq.models.attention.Layout`. Symbols without a stream are placeholders."""
        num_base, streams = self.num_base, self.streams
        tokens = streams.expand(self.canonical)
        # Not repeat_interleave, which PyTorch 2.13 exports to ONNX in a wrong order.
        slot = streams.slot.unsqueeze(1).expand(-1, streams.hypotheses).reshape(-1, 1)
        special = torch.where(tokens == num_base + slot, num_base, num_base + 1)
        if streams.sorts is not None:
            special = special + 2 * streams.expand(streams.sort_of(self.canonical - num_base))
        return torch.where(tokens < num_base, tokens, special)

    def spread(self, x: Tensor) -> Tensor:
        """(B*K, T, ...) of tokens -> (N*K, T, ...) of rows; what all share stays as it is."""
        return x if len(x) == 1 else self.streams.expand(x)

    def aggregate(self, hidden: Tensor) -> Tensor:
        """Fuses the streams of each sentence into one view (Algorithm 2).

        Args:
            hidden: (N*K, T, C) hidden states of all streams.

        Returns:
            (B*K, T, C) the mean over streams, but at a symbol's tokens the hidden
            state of that symbol's own stream. Invariant under renaming.
        """
        is_symbol, row = self._own
        # An embedding, as its gradient takes a sixth of the time of an index's on a CPU.
        own = F.embedding(row, hidden.reshape(-1, hidden.size(2)))
        return torch.where(is_symbol.unsqueeze(2), own, self.streams.mean(hidden))

    def at_once(self, causal: bool) -> List[AtOnce]:
        """See :class:`~sit_fairseq.models.attention.Layout`."""
        mask = self.streams.mask(self.padding)
        return [AtOnce(mask, causal), AtOnce(mask, causal, self.streams.expand)]

    @cached_property
    def _own(self) -> Tuple[Tensor, Tensor]:
        """(B*K, T) True where the token is a symbol that has a stream, and the number of that
        stream's hidden state there among N*K*T."""
        slot, streams = self.canonical - self.num_base, self.streams
        sentence = torch.arange(slot.size(0), device=slot.device) // streams.hypotheses
        exists = (slot >= 0) & (slot < streams.num_slots[sentence].unsqueeze(1))
        token = torch.arange(slot.size(1), device=slot.device)
        return exists, streams.row_of(slot) * slot.size(1) + token


class AllMemory(Memory):
    """The memory of a decoder with :class:`AllPlaces`."""

    lay_out = AllPlaces

    def finish(self, last: nn.Module, x: Tensor, seen: Seen, number: int) -> Tensor:
        """See :class:`Memory`."""
        return last(x, seen, number)

    def _begin(self, source: Any) -> None:
        self._continued: Optional[Repetition] = None
        if self._keeps:
            rows, device = self._stream.numel() * self.streams.hypotheses, self._stream.device
            self.own, self.aggregated = (
                SelfAttentionCache(rows, self._decoder.cfg.num_heads, device) for _ in range(2)
            )
            self._source = [CrossAttentionCache(layers) for layers in self._views]

    def _see(self, canonical: Tensor, new: Tensor, position: Tensor) -> Seen:
        streams = self.streams
        layout = self.lay_out(new, self._decoder.embed_tokens.vocabulary.num_base, streams)
        return Seen(
            layout,
            position,
            *self._decoder.rotations(layout, position),
            *(self._kept(new) if self._keeps else layout.at_once(causal=True)),
            self._source if self._keeps else self._sources_at_once(),
        )

    def _kept(self, new: Tensor) -> Sequence[Entries]:
        """The entries of self-attentions, with those of (B*K, P) new tokens."""
        sequences = torch.arange(len(new), device=new.device)
        of_rows = self.streams.expand(sequences)
        rows = torch.arange(of_rows.numel(), device=new.device)
        self.own.advance(rows, rows.numel(), new.size(1))
        self.aggregated.advance(of_rows, sequences.numel(), new.size(1))
        return self.own, self.aggregated

    def _sources_at_once(self) -> List[Views]:
        streams, mask = self.streams, self.streams.mask(self._padding)
        expand = {"CP": self._continued, "CA": streams.expand}
        return [
            Views(layers, streams.hypotheses, mask, expand[letters])
            for letters, layers in zip(self._cross, self._views)
        ]

    def _follow(self, to: Reordering, order: Tensor) -> None:
        self._select(to.rows)

    def _repeat(self, continued: Repetition) -> None:
        self._continued = continued
        if self._keeps:
            size = self.streams.hypotheses
            hypotheses = torch.arange(size, device=continued.index.device)
            self._select((continued.index.unsqueeze(1) * size + hypotheses).flatten())

    def _select(self, rows: Tensor) -> None:
        self.own.select(rows)
        self.aggregated.select(rows)
