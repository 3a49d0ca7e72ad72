"""The slots of a batch: the symbols of each sentence, and the canonical ids that stand for them.

Canonical ids are the ``0 .. V_n - 1`` (base tokens) and ``V_n + slot`` (symbols) of the paper's
Algorithm 1. Shapes: B sentences, K hypotheses of each, T tokens, S slots (the largest number of
distinct symbols in one sentence of the batch), R reserved slots.
"""

from dataclasses import dataclass, replace
from typing import Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sit_fairseq.symbols.streams import Streams


@dataclass(frozen=True, eq=False)
class Slots:
    """The slots of the sentences of a batch.

    Attributes:
        vocabulary: the :class:`~sit_fairseq.symbols.vocabulary.Vocabulary`, with the R reserved slots that follow those of each sentence.
        names: (B, S) the dictionary index of the symbol of each slot, padded with ``<pad>``.
        every: (B, S + R) the same with the reserved slots, once :meth:`named` has named them.
    """

    vocabulary: nn.Module
    names: Tensor
    every: Optional[Tensor] = None

    @classmethod
    def by_appearance(cls, vocabulary: nn.Module, tokens: Tensor) -> Tuple[Tensor, "Slots"]:
        """Replaces every symbol by its slot, in order of first appearance.

        Renaming the symbols of a sentence does not change the canonical ids, which are all that the
        model computes with (Theorem 4.1 becomes an equality of inputs).

        Args:
            vocabulary: says which tokens are symbols.
            tokens: (B, T) dictionary indices.

        Returns:
            (B, T) canonical ids, and the slots; S may be 0.
        """
        rows = vocabulary.rows(tokens)
        sentence, position = (rows < 0).nonzero(as_tuple=True)
        if sentence.numel() == 0:
            return rows, cls(vocabulary, tokens.new_empty(tokens.size(0), 0))
        # One key per (sentence, symbol); the earliest position of each key orders slots.
        key = sentence * (int(tokens.max()) + 1) + tokens[sentence, position]
        keys, key_of_position = torch.unique(key, return_inverse=True)
        first = torch.full_like(keys, tokens.size(1))
        first = first.scatter_reduce(0, key_of_position, position, "amin")
        is_first = torch.zeros_like(rows)
        is_first[sentence, first[key_of_position]] = 1
        slot = is_first.cumsum(1)[sentence, first[key_of_position]] - 1
        canonical = rows.clone()
        canonical[sentence, position] = vocabulary.num_base + slot
        width, pad = int(slot.max()) + 1, vocabulary.dictionary.pad()
        names = tokens.new_full((tokens.size(0), width), pad)
        names[sentence, slot] = tokens[sentence, position]
        return canonical, cls(vocabulary, names)

    @property
    def num_columns(self) -> int:
        """The number of canonical ids, V_n + S + R."""
        return self.vocabulary.num_base + self.names.size(1) + self.vocabulary.fresh_symbols

    @property
    def num_slots(self) -> Tensor:
        """(B,) the slots of each sentence, without the reserved ones."""
        return self.names.ne(self.vocabulary.dictionary.pad()).sum(1)

    @property
    def first_reserved(self) -> Tensor:
        """(B,) the canonical id of the first reserved slot of each sentence."""
        return self.vocabulary.num_base + self.num_slots

    @property
    def sorts(self) -> Optional[Tensor]:
        """(B, S + R) the sort of each slot; None if there is one sort only."""
        dictionary, fresh = self.vocabulary.dictionary, self.vocabulary.fresh
        if self.vocabulary.num_sorts == 1:
            return None
        numbers = self.names.new_tensor(fresh.numbers if fresh else ())
        after = torch.arange(len(numbers), device=numbers.device).repeat_interleave(numbers)
        own = dictionary.sorts_of(self.names).clamp(min=0)
        place = self.num_slots.unsqueeze(1) + torch.arange(len(after), device=numbers.device)
        return F.pad(own, (0, len(after))).scatter(1, place, after.expand_as(place))

    def to(self, device: torch.device) -> "Slots":
        """The slots for tensors of a device."""
        return replace(self, names=self.names.to(device, non_blocking=True))

    def repeat(self, hypotheses: int) -> "Slots":
        """The slots of B*K sequences, K for each sentence."""
        if hypotheses == 1:
            return self
        return replace(self, names=self.names.repeat_interleave(hypotheses, dim=0))

    def select(self, sentences: Tensor) -> "Slots":
        """The slots of these sentences, in their order."""
        return replace(self, names=self.names.index_select(0, sentences))

    def streams(self) -> Streams:
        """The layout of the streams, on the CPU as the slots: one for each slot, and one for all
        reserved slots of a sentence. A baseline has one stream a sentence."""
        number = self.vocabulary.fresh_symbols
        if self.vocabulary.one_stream:
            return Streams.of_slots(self.names.new_zeros(self.names.size(0)))
        reserved = torch.full_like(self.num_slots, number) if number else None
        return Streams.of_slots(self.num_slots, reserved=reserved, sorts=self.sorts)

    def encode(self, tokens: Tensor) -> Tensor:
        """Dictionary indices to canonical ids.

        Args:
            tokens: (B, T) dictionary indices, for example a target.

        Returns:
            (B, T) canonical ids. Symbols that the source lacks have the reserved slots, in order
            of first appearance; one without a slot becomes ``<unk>``.
        """
        vocabulary = self.vocabulary
        rows = vocabulary.rows(tokens)
        has_slot, slot = torch.zeros_like(rows, dtype=torch.bool), rows
        if self.names.size(1):
            has_slot, slot = (tokens.unsqueeze(2) == self.names.unsqueeze(1)).max(dim=2)
        symbol = torch.where(has_slot, vocabulary.num_base + slot, vocabulary.unk)
        if vocabulary.fresh is not None:
            slot = vocabulary.fresh.encode(tokens, (rows < 0) & ~has_slot)
            symbol = torch.where(slot < 0, symbol, self.first_reserved.unsqueeze(1) + slot)
        return torch.where(rows < 0, symbol, rows)

    def targets(self, tokens: Tensor) -> Tensor:
        """Dictionary indices of (B, T) targets to the canonical ids that a loss compares with:
        ``<pad>``, which no loss counts, also where a token cannot be produced."""
        canonical, vocabulary = self.encode(tokens), self.vocabulary
        return canonical.masked_fill(
            vocabulary.unproducible(canonical), vocabulary.dictionary.pad()
        )

    def named(self, given: Optional[Tensor] = None) -> "Slots":
        """Names the reserved slots, so that :meth:`decode` knows them.

        Args:
            given: (B, T) dictionary indices of targets, or of beginnings of answers. Their fresh
                symbols keep their names.

        Raises:
            UserError: a sentence leaves too few names for its reserved slots.
        """
        names, vocabulary = self.names.cpu(), self.vocabulary
        if vocabulary.fresh is None:
            return replace(self, every=names)
        targets = [()] * len(names) if given is None else map(vocabulary.symbols_of, given.cpu())
        return replace(self, every=vocabulary.fresh.slots(names, targets))

    def decode(self, canonical: Tensor, sentence: int) -> Tensor:
        """(T,) canonical ids of a sentence, by its place, back to dictionary indices."""
        names = self.every[sentence].to(canonical.device)
        return torch.cat((self.vocabulary.index_of_row.to(names.device), names))[canonical]

    def needed(self, canonical: Tensor) -> Tensor:
        """(B,) the reserved slots of each sequence that need streams of their own: all up to the
        last one that its (B, T) canonical ids take."""
        fresh = self.vocabulary.fresh
        return fresh.own_streams(fresh.taken(canonical, self.first_reserved)[:, -1])

    def close(self, logits: Tensor, canonical: Tensor) -> Tensor:
        """Closes the reserved slots that cannot come next.

        Args:
            logits: (B, P, V) of the tokens after each of the last P ones.
            canonical: (B, T) canonical ids.

        Returns:
            (B, P, V) logits, ``-inf`` in the columns of reserved slots that are neither taken nor
            the next of their sort.
        """
        fresh = self.vocabulary.fresh
        taken = fresh.taken(canonical, self.first_reserved)[:, -logits.size(1) :]
        return fresh.close(logits, self.first_reserved, taken)


def left_align(tokens: Tensor, pad: int):
    """Moves padding to the right, on which fairseq does not always have it.

    Args:
        tokens: (B, T) indices, padded on either side.
        pad: the index of ``<pad>``.

    Returns:
        (B, T) the same padded on the right, and (B, T) True at padding.
    """
    padding = tokens.eq(pad)
    if bool(padding[:, 0].any()):
        order = padding.long().argsort(dim=1, stable=True)
        tokens, padding = tokens.gather(1, order), padding.gather(1, order)
    return tokens, padding
