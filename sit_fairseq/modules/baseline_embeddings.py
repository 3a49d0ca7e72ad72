"""Embeddings of the baselines: one vector per canonical id, one stream per sentence."""

import random
from typing import Dict, List, Optional

import torch
import torch.nn.functional as F
from torch import Tensor

from sit_fairseq.errors import UserError
from sit_fairseq.modules.stream_embedding import TiedEmbedding
from sit_fairseq.symbols.baseline_vocabularies import (
    CanonicalVocabulary,
    FixedVocabulary,
    NamedVocabulary,
)
from sit_fairseq.symbols.streams import Streams


class _OneStreamEmbedding(TiedEmbedding):
    """Looks canonical ids up in a matrix and multiplies features with it."""

    @property
    def num_classes(self) -> int:
        """One for each vector."""
        return self.weight.size(0)

    def forward(
        self, canonical: Tensor, streams: Streams, codes: Optional[Tensor] = None
    ) -> Tensor:
        """Embeds each sequence.

        Args:
            canonical: (B*K, T) canonical ids; those without a vector (beams that are dead
                anyway hold such) are embedded as ``<unk>``.
            streams: one per sentence.
            codes: see :meth:`TiedEmbedding.draw_codes`.

        Returns:
            (B*K, T, C) embeddings.
        """
        unk = self.vocabulary.dictionary.unk()
        num_vectors = self._num_vectors(codes)
        return self._lookup(canonical.masked_fill(canonical >= num_vectors, unk), codes)

    def _num_vectors(self, codes: Optional[Tensor]) -> int:
        return self.weight.size(0)

    def _project(self, hidden: Tensor, streams: Streams, codes: Optional[Tensor]) -> Tensor:
        return hidden @ self._matrix(codes).to(hidden.dtype).t()


class FixedEmbedding(_OneStreamEmbedding):
    """A learnt row for each token, symbols included.

    Not invariant under renaming. With a dictionary that lists the symbols of the test
    data, and training data that hold them, it is the paper's full vocabulary baseline.

    Args:
        vocabulary: tokens with their rows.
        embed_dim: C.
        cosine: see :class:`TiedEmbedding`.
        scaled: likewise.
    """

    def __init__(
        self, vocabulary: FixedVocabulary, embed_dim: int, *, cosine: bool, scaled: bool
    ) -> None:
        num_rows = vocabulary.num_base
        super().__init__(vocabulary, num_rows, embed_dim, embed_dim, cosine=cosine, scaled=scaled)


class CanonicalEmbedding(_OneStreamEmbedding):
    """A learnt row for each base token, and for the first, second, ... symbol of a sentence.

    Invariant under renaming, but bound to the number of symbols it was trained with.

    Args:
        vocabulary: base tokens, and how many symbols have a row.
        embed_dim: C.
        cosine: see :class:`TiedEmbedding`.
        scaled: likewise.
    """

    def __init__(
        self, vocabulary: CanonicalVocabulary, embed_dim: int, *, cosine: bool, scaled: bool
    ) -> None:
        num_rows = vocabulary.num_base + vocabulary.num_symbol_rows
        super().__init__(vocabulary, num_rows, embed_dim, embed_dim, cosine=cosine, scaled=scaled)


class RandomEmbedding(_OneStreamEmbedding):
    """Dual-part embeddings of symbols (Isik et al., ICML 2025, arXiv 2410.17161).

    A symbol's vector is a learnt part that all symbols share, and a code: a corner of the
    hypercube, different for each symbol. A base token's vector is learnt but for the
    channels of codes, where it is zero. Each part is L2-normalised, then the whole.

    In training all codes are drawn anew for each batch. In evaluation a code is a function
    of the symbol's name and a seed; only where two names get the same corner does the
    later one in the dictionary take another. Hence any symbol has a vector, and the model
    is invariant under renaming on average only.

    Args:
        vocabulary: base tokens, and symbols by name.
        embed_dim: C.
        code_dim: channels of a code, which tell ``2 ** code_dim`` symbols apart.
        seed: decides the codes of evaluation.
        cosine: see :class:`TiedEmbedding`.
        scaled: likewise.
    """

    def __init__(
        self,
        vocabulary: NamedVocabulary,
        embed_dim: int,
        code_dim: int,
        seed: int,
        *,
        cosine: bool,
        scaled: bool,
    ) -> None:
        num_rows, row_dim = vocabulary.num_base + 1, embed_dim - code_dim
        super().__init__(vocabulary, num_rows, embed_dim, row_dim, cosine=cosine, scaled=scaled)
        self.code_dim = code_dim
        self.seed = seed
        self._random_codes(seed)  # refuses too many symbols
        vocabulary.most_symbols = 2**code_dim

    @property
    def num_classes(self) -> int:
        """Base tokens and the symbols there are."""
        return self.vocabulary.num_base + len(self.vocabulary.symbol_names())

    def draw_codes(self) -> Tensor:
        """(J, D) the codes of the symbols there are, for a batch."""
        return self._random_codes(int(torch.randint(2**62, ())) if self.training else self.seed)

    def _random_codes(self, seed: int) -> Tensor:
        return random_codes(self.vocabulary.symbol_names(), self.code_dim, seed)

    def _num_vectors(self, codes: Optional[Tensor]) -> int:
        return self.vocabulary.num_base + codes.size(0)

    def _matrix(self, codes: Optional[Tensor]) -> Tensor:
        weight = self.weight if self.weight.dtype == torch.float64 else self.weight.float()
        learnt = F.normalize(weight, dim=1)
        codes = F.normalize(codes.to(learnt), dim=1)
        base = F.pad(learnt[:-1], (0, self.code_dim))
        symbols = torch.cat((learnt[-1:].expand(codes.size(0), -1), codes), dim=1)
        return F.normalize(torch.cat((base, symbols)), dim=1).to(self.weight.dtype)


def random_codes(names: List[str], code_dim: int, seed: int) -> Tensor:
    """Draws a corner of the hypercube for each name, without repetition.

    Args:
        names: J different names.
        code_dim: D.
        seed: with the name it decides where a name's draws begin.

    Returns:
        (J, D) of -1 and 1.

    Raises:
        UserError: if there are fewer than J corners.
    """
    if len(names) > 2**code_dim:
        raise UserError(
            f"codes of {code_dim} channels tell {2**code_dim} symbols apart, but there are "
            f"{len(names)}; train with --symbol-code-dim {(len(names) - 1).bit_length()} or more"
        )
    corners: Dict[int, str] = {}
    for name in names:
        draws = random.Random(f"{seed} {name}")
        corner = draws.getrandbits(code_dim)
        while corner in corners:
            corner = draws.getrandbits(code_dim)
        corners[corner] = name
    bits = [[1.0 if corner >> bit & 1 else -1.0 for bit in range(code_dim)] for corner in corners]
    return torch.tensor(bits).view(len(names), code_dim)
