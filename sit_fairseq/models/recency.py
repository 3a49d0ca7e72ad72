"""The baseline of recency: a symbol is called by how many others were used since its last use.

A symbol that was never used comes after all that were, so a new one has the number of used ones.
The numbers say which symbol is meant, and the code of a text tells its canonical ids.

Shapes as in :mod:`sit_fairseq.symbols.streams`; P new tokens of a step.
"""

from typing import Tuple

import torch
from torch import Tensor

from sit_fairseq.models.memory import Memory
from sit_fairseq.models.stacks import Decoder
from sit_fairseq.symbols.vocabulary import Vocabulary


class RecencyDecoder(Decoder):
    """:class:`Decoder` whose symbols are numbered by last use, each sort for itself.

    Canonical ids come in and logits over canonical ids go out.
    """

    def forward(self, canonical: Tensor, memory: Memory) -> Tensor:
        """See :class:`Decoder`."""
        vocabulary = self.embed_tokens.vocabulary
        codes, numbers = by_last_use(canonical, vocabulary)
        logits = super().forward(codes, memory)
        codes, symbols = logits.split([vocabulary.num_base, vocabulary.fresh.number], 2)
        return torch.cat((codes, symbols.gather(2, numbers[:, -logits.size(1) :])), 2)


def by_last_use(canonical: Tensor, vocabulary: Vocabulary) -> Tuple[Tensor, Tensor]:
    """Numbers symbols by last use.

    Args:
        canonical: (B, T) canonical ids.
        vocabulary: with R reserved slots, one after the other for each sort.

    Returns:
        (B, T) codes, V_n and the number of each symbol before it stands there; and (B, T, R) the
        number of each slot after each token.
    """
    slot, fresh = canonical - vocabulary.num_base, vocabulary.fresh
    slots = torch.arange(fresh.number, device=canonical.device)
    place = torch.arange(1, canonical.size(1) + 1, device=canonical.device).unsqueeze(1)
    used = torch.where(slot.unsqueeze(2) == slots, place, -slots).cummax(1).values
    used = torch.cat(((-slots).expand(len(used), 1, -1), used), 1)
    numbers = torch.cat(
        [
            offset + of_sort.argsort(2, descending=True).argsort(2)
            for offset, of_sort in zip(fresh.offsets, used.split(fresh.numbers, 2))
        ],
        2,
    )
    known = slot.clamp(0, fresh.number - 1).unsqueeze(2)
    codes = vocabulary.num_base + numbers[:, :-1].gather(2, known).squeeze(2)
    return torch.where((slot >= 0) & (slot < fresh.number), codes, canonical), numbers[:, 1:]
