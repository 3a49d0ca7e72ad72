"""Packing of ragged streams, and the two ways to cross between streams and sentences.

Shapes: B sentences, S_b streams in sentence b, N = sum of S_b, K hypotheses of each
sentence (beams; 1 in training), T tokens, C channels. A tensor *over streams* has N*K
rows, ordered by stream, then hypothesis; a tensor *over hypotheses* has B*K rows,
ordered by sentence, then hypothesis, as fairseq orders its beams.
"""

from dataclasses import dataclass, replace
from typing import Optional, Tuple

import torch
from torch import Tensor

from sit_fairseq.transfers import upload


@dataclass(frozen=True)
class Streams:
    """Which stream belongs to which sentence.

    Attributes:
        num_slots: (B,) the number of distinct symbols of each sentence.
        sentence: (N,) the sentence of each stream.
        slot: (N,) the slot, within its sentence, that each stream belongs to.
        first: (B,) the first stream of each sentence.
        hypotheses: K.
        most_slots: the largest of these numbers.
        on_host: the same layout on the CPU, where its sizes are known without waiting for a
            GPU; None if this one is there.
    """

    num_slots: Tensor
    sentence: Tensor
    slot: Tensor
    first: Tensor
    hypotheses: int
    most_slots: int
    on_host: Optional["Streams"] = None

    @classmethod
    def of_slots(cls, num_slots: Tensor, hypotheses: int = 1) -> "Streams":
        """One stream per symbol; a sentence without symbols gets one anonymous stream
        (the paper's appendix A, "Edge case").

        Args:
            num_slots: (B,), on the CPU.
            hypotheses: K.
        """
        count = num_slots.clamp(min=1)
        sentence = torch.repeat_interleave(torch.arange(count.numel()), count)
        first = count.cumsum(0) - count
        slot = torch.arange(sentence.numel()) - first[sentence]
        return cls(num_slots, sentence, slot, first, hypotheses, int(num_slots.max()))

    def to(self, device: torch.device) -> "Streams":
        """The layout, made on the CPU, for tensors of a device."""
        if device == self.num_slots.device:
            return self
        moved = {
            name: upload(getattr(self, name), device)
            for name in ("num_slots", "sentence", "slot", "first")
        }
        return replace(self, **moved, on_host=self)

    @property
    def num_streams(self) -> Tensor:
        """(B,) S_b, at least 1."""
        return self.num_slots.clamp(min=1)

    def row_of(self, slot: Tensor) -> Tensor:
        """The row over streams of each hypothesis' stream for ``slot``.

        Args:
            slot: (B*K, ...) slots; those that do not exist get some row of the sentence.
        """
        hypothesis = torch.arange(slot.size(0), device=slot.device)
        sentence = hypothesis // self.hypotheses
        shape = (-1,) + (1,) * (slot.dim() - 1)
        last = (self.num_streams[sentence] - 1).view(shape)
        stream = self.first[sentence].view(shape) + torch.minimum(slot.clamp(min=0), last)
        return stream * self.hypotheses + (hypothesis % self.hypotheses).view(shape)

    def expand(self, x: Tensor) -> Tensor:
        """(B*K, ...) over hypotheses -> (N*K, ...) over streams, by repetition."""
        grouped = x.reshape(self.first.numel(), -1)
        return _Expand.apply(grouped, self).view(-1, *x.shape[1:])

    def mean(self, x: Tensor) -> Tensor:
        """(N*K, ...) over streams -> (B*K, ...) over hypotheses, by averaging."""
        grouped = x.reshape(self.sentence.numel(), -1)
        total = _Sum.apply(grouped, self)
        mean = total / self.num_streams.to(x.dtype).unsqueeze(1)
        return mean.view(-1, *x.shape[1:])

    def of_one_hypothesis(self) -> "Streams":
        """The layout of the same sentences with K = 1."""
        on_host = self.on_host and replace(self.on_host, hypotheses=1)
        return replace(self, hypotheses=1, on_host=on_host)

    def reorder(self, order: Tensor) -> Tuple["Streams", Tensor, Tensor, Tensor]:
        """The layout after fairseq reorders hypotheses, and where its rows come from.

        Args:
            order: (H,) the old hypothesis that each new one continues. Runs of equal
                length that stay within one sentence become that sentence's hypotheses;
                otherwise each new hypothesis is a sentence of its own.

        Returns:
            the new layout; (B',) old sentence of each new one; (N',) old stream of each
            new one; (N'*K',) old row over streams of each new one. All but the layout are on
            the CPU.
        """
        old, order = self.on_host or self, order.cpu()
        sentences, runs = torch.unique_consecutive(order // old.hypotheses, return_counts=True)
        hypotheses = int(runs[0]) if bool((runs == runs[0]).all()) else 1
        if hypotheses == 1:
            sentences = order // old.hypotheses
        new = Streams.of_slots(old.num_slots[sentences], hypotheses)
        old_stream = old.first[sentences][new.sentence] + new.slot
        old_hypothesis = (order % old.hypotheses).view(-1, hypotheses)[new.sentence]
        rows = old_stream.unsqueeze(1) * old.hypotheses + old_hypothesis
        return new.to(self.first.device), sentences, old_stream, rows.view(-1)


def is_identity(order: Tensor, size: int) -> bool:
    """Whether ``order``, of indices below ``size``, lists 0 .. size - 1."""
    return order.numel() == size and bool((order[1:] > order[:-1]).all())


def _segment_sum(x: Tensor, streams: Streams) -> Tensor:
    """(N, D) -> (B, D). Deterministic on every device: index_add is sequential on the
    CPU, but adds in no fixed order on a GPU, where segment_reduce does not."""
    if x.is_cuda:
        # Checking the lengths would mean to wait for them.
        return torch.segment_reduce(x, "sum", lengths=streams.num_streams, axis=0, unsafe=True)
    return x.new_zeros(streams.first.numel(), x.size(1)).index_add_(0, streams.sentence, x)


class _Sum(torch.autograd.Function):
    """Sum over the streams of a sentence; its gradient is :class:`_Expand`."""

    @staticmethod
    def forward(ctx, x: Tensor, streams: Streams) -> Tensor:
        ctx.streams = streams
        return _segment_sum(x, streams)

    @staticmethod
    def backward(ctx, grad: Tensor):
        return grad.index_select(0, ctx.streams.sentence), None


class _Expand(torch.autograd.Function):
    """Repetition for each stream of a sentence; its gradient is :class:`_Sum`."""

    @staticmethod
    def forward(ctx, x: Tensor, streams: Streams) -> Tensor:
        ctx.streams = streams
        return x.index_select(0, streams.sentence)

    @staticmethod
    def backward(ctx, grad: Tensor):
        return _segment_sum(grad.contiguous(), ctx.streams), None


@dataclass(frozen=True)
class SymbolPositions:
    """Where a batch of sequences holds symbols, to aggregate its streams.

    Attributes:
        streams: the layout of the rows to aggregate.
        is_symbol: (B*K, T) True where the token is a symbol that has a stream.
        source: (B*K, T) index of that stream's hidden state among N*K*T.
    """

    streams: Streams
    is_symbol: Tensor
    source: Tensor

    @classmethod
    def of(cls, canonical: Tensor, num_base: int, streams: Streams) -> "SymbolPositions":
        """Reads the positions off canonical ids.

        Args:
            canonical: (B*K, T) canonical ids of :class:`StreamVocabulary`.
            num_base: V_n.
            streams: the layout of the streams made of these sequences.
        """
        slot = canonical - num_base
        sentence = torch.arange(slot.size(0), device=slot.device) // streams.hypotheses
        exists = (slot >= 0) & (slot < streams.num_slots[sentence].unsqueeze(1))
        position = torch.arange(slot.size(1), device=slot.device)
        return cls(streams, exists, streams.row_of(slot) * slot.size(1) + position)

    def aggregate(self, hidden: Tensor) -> Tensor:
        """Fuses the streams of each sentence into one view (Algorithm 2).

        Args:
            hidden: (N*K, T, C) hidden states of all streams.

        Returns:
            (B*K, T, C) the mean over streams, but at a symbol's positions the hidden
            state of that symbol's own stream. Invariant under renaming.
        """
        own = hidden.reshape(-1, hidden.size(2))[self.source]
        return torch.where(self.is_symbol.unsqueeze(2), own, self.streams.mean(hidden))
