"""Packing of ragged streams, and the two ways to cross between streams and sentences.

Shapes: B sentences, S_b streams in sentence b, N = sum of S_b, K hypotheses of each
sentence (beams; 1 in training), T tokens, C channels, R reserved slots. A tensor *over
streams* has N*K rows, ordered by stream, then hypothesis; a tensor *over hypotheses* has
B*K rows, ordered by sentence, then hypothesis, as fairseq orders its beams.
"""

from dataclasses import dataclass, replace
from typing import Any, Callable, NamedTuple, Optional, Union

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Streams:
    """The layout of the streams of a batch: the sentence and the slot of each stream.

    Attributes:
        num_slots: (B,) the slots of each sentence that have a stream of their own: its distinct
            symbols and, in a decoder, the reserved slots that are taken.
        sentence: (N,) the sentence of each stream.
        slot: (N,) the slot, within its sentence, that each stream belongs to.
        first: (B,) the first stream of each sentence.
        hypotheses: K.
        most_slots: the most slots of a sentence, with or without a stream of their own.
        sorts: (B, slots) the sort of each slot; None if there is one sort only.
        reserved: (B,) how many reserved slots the last stream of each sentence stands for. They
            have not occurred, so their streams are equal. None without such a stream.
        on_host: this layout on the CPU, where its sizes are known without waiting for a GPU;
            None if it is on the CPU.
    """

    num_slots: Tensor
    sentence: Tensor
    slot: Tensor
    first: Tensor
    hypotheses: int
    most_slots: int
    reserved: Optional[Tensor] = None
    sorts: Optional[Tensor] = None
    on_host: Optional["Streams"] = None

    @classmethod
    def of_slots(
        cls,
        num_slots: Tensor,
        hypotheses: int = 1,
        reserved: Optional[Tensor] = None,
        sorts: Optional[Tensor] = None,
    ) -> "Streams":
        """Makes one stream per symbol, on the CPU. A sentence without symbols gets one anonymous stream
        (the paper's appendix A, "Edge case"), and so do the reserved slots of a sentence."""
        count = num_slots.clamp(min=1) if reserved is None else num_slots + 1
        sentence = torch.arange(count.numel(), device=count.device).repeat_interleave(count)
        first = count.cumsum(0) - count
        slot = torch.arange(sentence.numel(), device=count.device) - first[sentence]
        most_slots = int((num_slots if reserved is None else num_slots + reserved).max())
        return cls(num_slots, sentence, slot, first, hypotheses, most_slots, reserved, sorts)

    def to(self, device: torch.device, non_blocking: bool = True) -> "Streams":
        """The layout, made on the CPU, for tensors of a device."""
        if device == self.num_slots.device:
            return self
        parts = ("num_slots", "sentence", "slot", "first", "reserved", "sorts")
        moved = changed(self, lambda part: part.to(device, non_blocking=non_blocking), *parts)
        return replace(moved, on_host=self)

    @property
    def num_streams(self) -> Tensor:
        """(B,) at least 1."""
        return self.num_slots.clamp(min=1) if self.reserved is None else self.num_slots + 1

    @property
    def all_slots(self) -> Tensor:
        """(B,) slots with or without a stream of their own."""
        return self.num_slots if self.reserved is None else self.num_slots + self.reserved

    def row_of(self, slot: Tensor) -> Tensor:
        """The row over streams of each hypothesis' stream for (B*K, ...) slots; those without a
        stream of their own get the sentence's last."""
        hypothesis = torch.arange(slot.size(0), device=slot.device)
        sentence = hypothesis // self.hypotheses
        shape = (-1,) + (1,) * (slot.dim() - 1)
        last = (self.num_streams[sentence] - 1).view(shape)
        stream = self.first[sentence].view(shape) + torch.minimum(slot.clamp(min=0), last)
        return stream * self.hypotheses + (hypothesis % self.hypotheses).view(shape)

    def sort_of(self, slot: Tensor) -> Tensor:
        """The sort of (B*K, ...) slots, or of any numbers where there is none."""
        if self.sorts is None or self.sorts.size(1) == 0:
            return torch.zeros_like(slot)
        sentence = torch.arange(slot.size(0), device=slot.device) // self.hypotheses
        known = slot.clamp(0, self.sorts.size(1) - 1)
        return self.sorts[sentence].gather(1, known.flatten(1)).view_as(slot)

    def expand(self, x: Tensor) -> Tensor:
        """(B*K, ...) over hypotheses -> (N*K, ...) over streams, by repetition."""
        grouped = x.reshape(self.first.numel(), -1)
        if x.requires_grad:
            repeated = _Expand.apply(grouped, self.sentence, self.num_streams)
        else:
            repeated = grouped.index_select(0, self.sentence)
        return repeated.view(-1, *x.shape[1:])

    def mean(self, x: Tensor) -> Tensor:
        """(N*K, ...) over streams -> (B*K, ...) over hypotheses, by averaging. The stream of
        reserved slots counts as often as there are such slots."""
        grouped = x.reshape(self.sentence.numel(), -1)
        count = self.num_streams
        total = (_Sum.apply if x.requires_grad else _segment_sum)(grouped, self.sentence, count)
        if self.reserved is not None:
            last = grouped.index_select(0, self.first + self.num_slots)
            total = total + last * (self.reserved - 1).to(x.dtype).unsqueeze(1)
            count = self.num_slots + self.reserved
        mean = total / count.to(x.dtype).unsqueeze(1)
        return mean.view(-1, *x.shape[1:])

    def reorder(self, order: Tensor) -> "Continuation":
        """The layout of new hypotheses that continue the old ones of (H,) ``order``. Runs of equal
        length that stay within one sentence become that sentence's hypotheses; otherwise each new
        hypothesis is a sentence of its own."""
        order = order.cpu()
        sentence, hypothesis = order // self.hypotheses, order % self.hypotheses
        sentences, runs = torch.unique_consecutive(sentence, return_counts=True)
        size = int(runs[0]) if bool((runs == runs[0]).all()) else 1
        return self._continued(sentence if size == 1 else sentences, hypothesis.view(-1, size))

    def with_own_streams(self, num_slots: Tensor) -> "Continuation":
        """The layout after ``num_slots``, (B,) on the CPU and at least as many as now, have streams
        of their own. The streams of reserved slots were equal and computed as one until then. So a
        new stream has the past of the sentence's last stream."""
        old = self.on_host or self
        hypothesis = torch.arange(old.hypotheses, device="cpu").expand(len(num_slots), -1)
        sentences = torch.arange(len(num_slots), device="cpu")
        return self._continued(sentences, hypothesis, num_slots - old.num_slots)

    def _continued(
        self, sentences: Tensor, hypothesis: Tensor, taken: Union[int, Tensor] = 0
    ) -> "Continuation":
        """The layout of these (B',) sentences with these (B', K') hypotheses of each, once so many
        more slots have streams of their own."""
        old = self.on_host or self
        reserved = None if old.reserved is None else old.reserved[sentences] - taken
        sorts = None if old.sorts is None else old.sorts[sentences]
        num_slots = old.num_slots[sentences] + taken
        new = Streams.of_slots(num_slots, hypothesis.size(1), reserved, sorts)
        sentence = sentences[new.sentence]
        stream = old.first[sentence] + torch.minimum(new.slot, old.num_streams[sentence] - 1)
        rows = (stream.unsqueeze(1) * old.hypotheses + hypothesis[new.sentence]).view(-1)
        same = sentences.numel() == old.first.numel() and bool((sentences.diff() > 0).all())
        device = self.first.device
        moved = (part.to(device, non_blocking=True) for part in (sentences, stream, rows))
        return Continuation(new.to(device), same, *moved)

    def mask(self, padding: Optional[Tensor]) -> Optional[Tensor]:
        """(B, T) padding to an (N, 1, 1, T) mask, True at real tokens; None if all are real."""
        return None if padding is None else ~padding[self.sentence][:, None, None, :]


class Continuation(NamedTuple):
    """A layout that continues another one.

    Attributes:
        streams: the new layout.
        same_sentences: whether its sentences are the old ones, in their order.
        sentences: (B',) the old sentence of each new one.
        rows_of_streams: (N',) the old stream of each new one.
        rows: (N'*K',) the old row over streams of each new one.
    """

    streams: Streams
    same_sentences: bool
    sentences: Tensor
    rows_of_streams: Tensor
    rows: Tensor


def changed(whole: Any, change: Callable, *names: str) -> Any:
    """A dataclass with its parts of these names changed alike, but for those that are None."""
    parts = {name: getattr(whole, name) for name in names}
    new = {name: change(part) for name, part in parts.items() if part is not None}
    return replace(whole, **new)


def _segment_sum(x: Tensor, index: Tensor, count: Tensor) -> Tensor:
    """(N, D) -> (B, D). Deterministic on every device: index_add is sequential on the
    CPU, but adds in no fixed order on a GPU, where segment_reduce does not."""
    if x.is_cuda:
        # Checking the lengths would mean to wait for them.
        return torch.segment_reduce(x, "sum", lengths=count, axis=0, unsafe=True)
    return x.new_zeros(count.numel(), x.size(1)).index_add_(0, index, x)


class _Sum(torch.autograd.Function):
    """Sum over the streams of a sentence; its gradient is :class:`_Expand`."""

    @staticmethod
    def forward(ctx, x: Tensor, index: Tensor, count: Tensor) -> Tensor:
        ctx.index = index
        return _segment_sum(x, index, count)

    @staticmethod
    def backward(ctx, grad: Tensor):
        return grad.index_select(0, ctx.index), None, None


class _Expand(torch.autograd.Function):
    """Repetition for each stream of a sentence; its gradient is :class:`_Sum`."""

    @staticmethod
    def forward(ctx, x: Tensor, index: Tensor, count: Tensor) -> Tensor:
        ctx.index, ctx.count = index, count
        return x.index_select(0, index)

    @staticmethod
    def backward(ctx, grad: Tensor):
        return _segment_sum(grad.contiguous(), ctx.index, ctx.count), None, None
