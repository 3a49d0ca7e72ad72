"""Reserved slots, for symbols that a target holds and its source does not.

The R reserved slots of a sentence follow its own S. They are taken in their order, so that of
those that are free only the first can be next: targets that differ by the names of such symbols
are one target. Shapes: B*K sequences, T tokens, V columns.
"""

import math
from typing import Any

import torch
from torch import Tensor


def numbered(tokens: Tensor, fresh: Tensor) -> Tensor:
    """Numbers fresh symbols by first appearance.

    Args:
        tokens: (B, T) dictionary indices.
        fresh: (B, T) True at the tokens to number.

    Returns:
        (B, T) numbers from 0, -1 at all other tokens. No size depends on what is found, for
        which a GPU would have to be waited for.
    """
    first = (tokens.unsqueeze(2) == tokens.unsqueeze(1)).to(torch.uint8).argmax(2)
    place = torch.arange(tokens.size(1), device=tokens.device)
    number = ((first == place) & fresh).cumsum(1) - 1
    return number.gather(1, first).masked_fill(~fresh, -1)


def slots_taken(canonical: Tensor, first: Tensor, reserved: int) -> Tensor:
    """How many reserved slots each beginning of a sequence holds.

    Args:
        canonical: (B*K, T) canonical ids; those that no sequence can hold do not count.
        first: (B*K,) the canonical id of the first reserved slot.
        reserved: R.

    Returns:
        (B*K, T) the number among the tokens up to each position.
    """
    number = canonical - first.unsqueeze(1) + 1
    number = number.masked_fill((number < 0) | (number > reserved), 0)
    return number.cummax(1).values


def close_slots(logits: Tensor, first: Tensor, taken: Tensor, reserved: int) -> Tensor:
    """Closes all reserved slots but those that are taken and the next.

    Args:
        logits: (B*K, T, V).
        first: (B*K,) the column of the first reserved slot.
        taken: (B*K, T) how many are taken before the token that is chosen here.
        reserved: R.

    Returns:
        (B*K, T, V) logits, ``-inf`` in the closed columns.
    """
    end = first.unsqueeze(1) + (taken + 1).clamp(max=reserved)
    columns = torch.arange(logits.size(2), device=logits.device)
    return logits.masked_fill(columns >= end.unsqueeze(2), -math.inf)


class SlotVectors:
    """The vectors of slots in the baselines, whose embeddings know vectors only.

    Args:
        vectors: (B, S + R) the vector of each slot, -1 for those without one.
        vocabulary: of the slots.
    """

    def __init__(self, vectors: Tensor, vocabulary: Any) -> None:
        self.vectors = vectors
        self._num_base, self._named = vocabulary.num_base, vocabulary.named_rows
        self._unk = vocabulary.dictionary.unk()

    def ids(self, canonical: Tensor) -> Tensor:
        """(B, T) canonical ids to numbers of vectors, that of ``<unk>`` for those without one."""
        slot = canonical - self._num_base
        exists = (slot >= 0) & (slot < self.vectors.size(1))
        found = self.vectors.gather(1, slot.masked_fill(~exists, 0))
        found = found.masked_fill(~exists | (found < 0), self._unk)
        return torch.where(slot < 0, canonical, found)

    def columns(self, logits: Tensor) -> Tensor:
        """(B, T, vectors) logits to (B, T, V_n + S + R), ``-inf`` for slots without a vector and
        for symbols that have no slot."""
        index = self.vectors.unsqueeze(1).expand(-1, logits.size(1), -1)
        of_slots = logits.gather(2, index.clamp(min=0)).masked_fill(index < 0, -math.inf)
        base = logits[..., : self._num_base]
        if self._named is not None:
            base = base.masked_fill(self._named.to(base.device), -math.inf)
        return torch.cat((base, of_slots), dim=2)
