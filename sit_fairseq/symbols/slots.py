"""The slots of a batch: the symbols of each sentence, and the canonical ids that stand for them.

Canonical ids are the ``0 .. V_n - 1`` (base tokens) and ``V_n + slot`` (symbols) of the paper's
Algorithm 1. Shapes: B sentences, K hypotheses of each, T tokens, S slots (the most symbols of a
sentence of the batch), R reserved slots, G sorts, V columns.
"""

import math
from dataclasses import dataclass, replace
from typing import Optional, Sequence, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sit_fairseq.errors import UserError
from sit_fairseq.symbols.streams import Streams
from sit_fairseq.symbols.tokens import TokenTable


@dataclass(frozen=True, eq=False)
class Slots:
    """The slots of the sentences of a batch. Those of fresh symbols, the reserved ones, follow the
    sentence's own, sort by sort.

    Attributes:
        vocabulary: the :class:`~sit_fairseq.symbols.vocabulary.Vocabulary`.
        names: (B, S) the dictionary index of the symbol of each slot, padded with ``<pad>``.
        every: (B, S + R) the same with the reserved slots; None before :meth:`named`.
    """

    vocabulary: nn.Module
    names: Tensor
    every: Optional[Tensor] = None

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
        if self.vocabulary.num_sorts == 1:
            return None
        fresh = self.vocabulary.fresh
        after = [s for s, n in enumerate(fresh.numbers if fresh else ()) for _ in range(n)]
        after = self.names.new_tensor(after)
        own = self.vocabulary.dictionary.sorts_of(self.names).clamp(min=0)
        place = self.num_slots.unsqueeze(1) + torch.arange(len(after), device=after.device)
        return F.pad(own, (0, len(after))).scatter(1, place, after.expand_as(place))

    def to(self, device: torch.device, non_blocking: bool = True) -> "Slots":
        """The slots for tensors of a device."""
        return replace(self, names=self.names.to(device, non_blocking=non_blocking))

    def streams(self) -> Streams:
        """The layout of the streams, on the CPU as the slots: one for each slot, and one for all
        reserved slots of a sentence. A baseline has one stream a sentence."""
        numbers, fresh = self.num_slots, self.vocabulary.fresh_symbols
        if self.vocabulary.one_stream:
            return Streams.of_slots(torch.zeros_like(numbers))
        reserved = torch.full_like(numbers, fresh) if fresh else None
        return Streams.of_slots(numbers, reserved=reserved, sorts=self.sorts)

    def encode(self, tokens: Tensor) -> Tensor:
        """(B, T) dictionary indices, for example of targets, to canonical ids. Symbols that the source
        lacks get the reserved slots by first appearance; one without a slot becomes ``<unk>``."""
        vocabulary = self.vocabulary
        rows = vocabulary.rows(tokens)
        has_slot, slot = torch.zeros_like(rows, dtype=torch.bool), rows
        if self.names.size(1):
            has_slot, slot = (tokens.unsqueeze(2) == self.names.unsqueeze(1)).max(dim=2)
        symbol = torch.where(has_slot, vocabulary.num_base + slot, vocabulary.unk)
        if vocabulary.fresh is not None:
            fresh = (rows < 0) & ~has_slot
            slot = numbered_in_sorts(tokens, fresh, vocabulary.dictionary, vocabulary.fresh.numbers)
            symbol = torch.where(slot < 0, symbol, self.first_reserved.unsqueeze(1) + slot)
        return torch.where(rows < 0, symbol, rows)

    def targets(self, tokens: Tensor) -> Tensor:
        """(B, T) dictionary indices of targets to the canonical ids that a loss compares with:
        ``<pad>``, which no loss counts, also where a token cannot be produced."""
        return self.vocabulary.counted(self.encode(tokens))

    def named(self, given: Optional[Tensor] = None) -> "Slots":
        """Names the reserved slots for :meth:`decode`. Fresh symbols of ``given``, (B, T) targets or
        beginnings of answers, keep their names. A UserError if there are too few names."""
        names, vocabulary, fresh = self.names.cpu(), self.vocabulary, self.vocabulary.fresh
        if fresh is None:
            return replace(self, every=names)
        pad, rows = vocabulary.dictionary.pad(), []
        for number, row in enumerate(names.tolist()):
            own = [index for index in row if index != pad]
            target = () if given is None else vocabulary.symbols_of(given[number].cpu())
            found = fresh.name(own, target)
            if len(found) < len(own) + fresh.number:
                reason = f"a sentence of {len(own)} symbols {fresh.lacking(own, target)}"
                raise UserError(reason, "fresh_names")
            rows.append(found + [pad] * (len(row) - len(own)))
        width = names.size(1) + fresh.number
        return replace(self, every=names.new_tensor(rows).view(len(rows), width))

    def decode(self, canonical: Tensor, sentence: int) -> Tensor:
        """(T,) canonical ids of a sentence, by its place, back to dictionary indices."""
        names = self.every[sentence].to(canonical.device)
        return torch.cat((self.vocabulary.index_of_row.to(names.device), names))[canonical]

    def taken(self, canonical: Tensor) -> Tensor:
        """(B, T, G) how many reserved slots of each sort each beginning of (B, T) canonical ids takes.
        Ids that no sequence can hold do not count."""
        slot, fresh = canonical - self.first_reserved.unsqueeze(1), self.vocabulary.fresh
        numbers = [slot - offset + 1 for offset in fresh.offsets]
        taken = [n.masked_fill((n < 0) | (n > most), 0) for n, most in zip(numbers, fresh.numbers)]
        return torch.stack(taken, dim=2).cummax(1).values

    def needed(self, canonical: Tensor) -> Tensor:
        """(B,) the reserved slots of each sequence that need streams of their own: all up to the
        last one that its (B, T) canonical ids take."""
        taken = self.taken(canonical)[:, -1]
        ends = taken + torch.tensor(self.vocabulary.fresh.offsets, device=taken.device)
        return ends.masked_fill(taken.eq(0), 0).amax(-1)

    def close(self, logits: Tensor, canonical: Tensor) -> Tensor:
        """(B, P, V) logits after each of the last P of (B, T) canonical ids, with ``-inf`` for reserved
        slots that are neither taken nor the next of their sort: answers that differ by the names of
        fresh symbols are one."""
        fresh = self.vocabulary.fresh
        if fresh is None:
            return logits
        taken = self.taken(canonical)[:, -logits.size(1) :]
        columns = torch.arange(logits.size(2), device=logits.device)
        slot = (columns - self.first_reserved.unsqueeze(1)).unsqueeze(1)  # B x 1 x V
        closed = slot >= fresh.number
        for sort, (offset, most) in enumerate(zip(fresh.offsets, fresh.numbers)):
            open_ = offset + (taken[..., sort] + 1).clamp(max=most)
            closed = closed | (slot >= open_.unsqueeze(2)) & (slot < offset + most)
        return logits.masked_fill(closed, -math.inf)


def numbered(tokens: Tensor, which: Tensor) -> Tensor:
    """Numbers those of (B, T) tokens ``which`` is True at by first appearance, from 0; all others have
    -1. Sizes do not depend on values, so nothing waits for a GPU."""
    ordered, order = tokens.sort(dim=1, stable=True)
    place = torch.arange(tokens.size(1), device=tokens.device)
    begins = F.pad(ordered[:, 1:] != ordered[:, :-1], (1, 0), value=True)
    begin = torch.where(begins, place, 0).cummax(1).values
    first = torch.empty_like(order).scatter_(1, order, order.gather(1, begin))
    number = ((first == place) & which).cumsum(1) - 1
    return number.gather(1, first).masked_fill(~which, -1)


def numbered_in_sorts(
    tokens: Tensor, which: Tensor, dictionary: TokenTable, numbers: Sequence[int]
) -> Tensor:
    """As :func:`numbered`, for each sort apart: sort s has the next ``numbers[s]`` numbers; -1 also for
    a symbol beyond these."""
    several = len(numbers) > 1  # sizes then depend on values
    sorts = dictionary.sorts_of(tokens) if several else torch.zeros_like(tokens)
    places, offset = torch.full_like(tokens, -1), 0
    for sort, most in enumerate(numbers):
        number = numbered(tokens, which & sorts.eq(sort))
        places = torch.where((number >= 0) & (number < most), number + offset, places)
        offset += most
    return places


def left_align(tokens: Tensor, pad: int) -> Tuple[Tensor, Tensor]:
    """(B, T) tokens, padded on either side, to the same padded on the right, and (B, T) True at
    padding."""
    padding = tokens.eq(pad)
    if bool(padding[:, 0].any()):
        order = padding.long().argsort(dim=1, stable=True)
        tokens, padding = tokens.gather(1, order), padding.gather(1, order)
    return tokens, padding
