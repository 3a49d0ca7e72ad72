"""The inputs of a decoder beside the tokens of a batch."""

from dataclasses import dataclass, replace
from typing import Optional

from torch import Tensor

from sit_fairseq.models.attention import Layout
from sit_fairseq.models.embedding import StreamTable
from sit_fairseq.symbols.slots import Slots
from sit_fairseq.symbols.streams import Continuation, Streams, changed


@dataclass(frozen=True, eq=False)
class Context:
    """A batch without sources. Only the layout of streams counts hypotheses.

    Attributes:
        slots: of the B sentences.
        streams: their layout, with K hypotheses of each sentence.
        target_table: vectors that embed targets.
        output_table: vectors that features are projected with.
    """

    slots: Slots
    streams: Streams
    target_table: StreamTable
    output_table: StreamTable

    @property
    def hypothesis_slots(self) -> Slots:
        """The slots of the B*K hypotheses."""
        number = self.streams.hypotheses
        if number == 1:
            return self.slots
        return changed(self.slots, lambda names: names.repeat_interleave(number, 0), "names")

    def own_slots(self, canonical: Tensor) -> Optional[Tensor]:
        """(B,) how many slots need streams of their own, on the CPU: those of the source, and the
        reserved ones that (B*K, T) canonical ids of any hypothesis take. None if no reserved slots
        have streams."""
        if self.slots.vocabulary.fresh is None or self.slots.vocabulary.one_stream:
            return None
        needed = self.hypothesis_slots.needed(canonical)
        return (self.slots.num_slots + needed.view(-1, self.streams.hypotheses).amax(1)).cpu()

    def close(self, logits: Tensor, canonical: Tensor) -> Tensor:
        """Closes the reserved slots that cannot come next; see :meth:`Slots.close`."""
        return self.hypothesis_slots.close(logits, canonical)

    def reorder(self, order: Tensor) -> "Context":
        """Makes new hypotheses out of (H,) old ones."""
        return self.moved(self.streams.reorder(order))

    def moved(self, to: Continuation) -> "Context":
        """The batch with its hypotheses in another order."""
        if to.same_sentences:
            return replace(self, streams=to.streams)
        slots = changed(self.slots, lambda names: names.index_select(0, to.sentences), "names")
        return replace(self, streams=to.streams, slots=slots)


@dataclass(frozen=True, eq=False)
class EncodedSource(Context):
    """A batch with one encoded source for each sentence.

    Attributes:
        layout: of the sources, with their (B, U) canonical ids.
        states: (R, U, C) output of the encoder.
        position: (B, U) of their tokens, or (1, U) of all.
    """

    layout: Layout
    states: Tensor
    position: Tensor

    @property
    def canonical(self) -> Tensor:
        """(B, U) the sources in canonical ids."""
        return self.layout.canonical

    def moved(self, to: Continuation) -> "EncodedSource":
        """See :class:`Context`."""
        moved = super().moved(to)
        if to.same_sentences:
            return moved
        layout, rows = self.layout.select(to)
        position = self.position[to.sentences] if len(self.position) > 1 else self.position
        return replace(moved, layout=layout, states=self.states[rows], position=position)
