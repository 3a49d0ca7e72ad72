"""The inputs of a decoder beside the tokens of a batch."""

from dataclasses import dataclass, replace
from typing import Optional, Union

from torch import Tensor

from sit_fairseq.models.embedding import StreamTable
from sit_fairseq.symbols.rows import Places, Rows, over_streams
from sit_fairseq.symbols.slots import Slots
from sit_fairseq.symbols.streams import Reordering, Repetition, Streams, SymbolPositions


@dataclass(frozen=True)
class Context:
    """A batch without sources. Only the layout counts hypotheses.

    Attributes:
        slots: of the B sentences.
        streams: the layout, with K hypotheses of each sentence.
        target_table: vectors that embed targets.
        output_table: vectors that features are projected with.
    """

    slots: Slots
    streams: Streams
    target_table: StreamTable
    output_table: StreamTable
    padding = rows = None  # of sources

    @property
    def mask(self) -> Optional[Tensor]:
        """(N, 1, 1, U) True at real tokens of the sources; None if all are real."""
        return self.streams.mask(self.padding)

    @property
    def hypothesis_slots(self) -> Slots:
        """The slots of the B*K hypotheses."""
        return self.slots.repeat(self.streams.hypotheses)

    def own_slots(self, canonical: Tensor) -> Optional[Tensor]:
        """Counts the slots that need streams of their own.

        Args:
            canonical: (B*K, T) canonical ids.

        Returns:
            (B,) the numbers on the CPU, with the reserved slots that any hypothesis has taken; None
            if there are no reserved slots with streams.
        """
        if self.slots.vocabulary.fresh is None or self.slots.vocabulary.one_stream:
            return None
        needed = self.hypothesis_slots.needed(canonical)
        return (self.slots.num_slots + needed.view(-1, self.streams.hypotheses).amax(1)).cpu()

    def close(self, logits: Tensor, canonical: Tensor) -> Tensor:
        """Closes the reserved slots that cannot come next; see :meth:`Slots.close`."""
        if self.slots.vocabulary.fresh is None:
            return logits
        return self.hypothesis_slots.close(logits, canonical)

    def extended(self, streams: Streams, repetition: Repetition) -> "Context":
        """The batch after reserved slots are taken; see :meth:`Streams.with_own_streams`."""
        return replace(self, streams=streams)

    def reorder(self, order: Tensor) -> "Context":
        """Makes new hypotheses out of the old ones that (H,) ``order`` names."""
        return self.moved(self.streams.reorder(order))

    def moved(self, to: Reordering) -> "Context":
        """The batch with its hypotheses in another order."""
        moved = replace(self, streams=to.streams)
        return moved if to.same_sentences else replace(moved, slots=self.slots.select(to.sentences))


@dataclass(frozen=True, eq=False)
class EncodedSource(Context):
    """A batch with one encoded source for each sentence.

    Attributes:
        states: (N, U, C) output of the encoder, or (B, L, C) over rows.
        canonical: (B, U) the sources in canonical ids.
        padding: (B, U) True at padding, None if there is none.
        rows: of ``states``; None over streams.
        places: the position of the first token of sources, or of all (B, U).
    """

    states: Tensor
    canonical: Tensor
    padding: Optional[Tensor] = None
    rows: Optional[Rows] = None
    places: Union[int, Places] = 0

    def places_of(self, letters: str) -> Union[int, Places]:
        """The positions of a :meth:`view`: of (N, U) streams, or of (B, U) aggregated."""
        if letters == "CA":
            return self.places
        return over_streams(self.places, replace(self.streams, hypotheses=1))

    def view(self, letters: str) -> Tensor:
        """The states that a cross-attention sees: of each stream (``"CP"``), or (B, U, C)
        aggregated by Algorithm 2 (``"CA"``)."""
        if letters == "CP":
            return self.states
        if self.rows is not None:
            return self.rows.aggregate(self.states)
        streams = replace(self.streams, hypotheses=1)
        num_base = self.target_table.vocabulary.num_base
        return SymbolPositions.of(self.canonical, num_base, streams).aggregate(self.states)

    def extended(self, streams: Streams, repetition: Repetition) -> "EncodedSource":
        """See :class:`Context`."""
        states = repetition(self.states) if self.rows is None else self.states
        return replace(self, streams=streams, states=states)

    def moved(self, to: Reordering) -> "EncodedSource":
        """See :class:`Context`."""
        moved = super().moved(to)
        if to.same_sentences:
            return moved
        over = to.rows_of_streams if self.rows is None else to.sentences
        places = self.places
        if not isinstance(places, int):
            places = replace(places, position=places.position.index_select(0, to.sentences))
        return replace(
            moved,
            states=self.states.index_select(0, over),
            rows=None if self.rows is None else self.rows.select(to.sentences),
            padding=None if self.padding is None else self.padding.index_select(0, to.sentences),
            canonical=self.canonical.index_select(0, to.sentences),
            places=places,
        )
