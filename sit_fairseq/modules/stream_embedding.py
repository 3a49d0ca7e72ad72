"""Matrices of token embeddings, and their use as output projection, over streams."""

import math
from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sit_fairseq.symbols.stream_vocabulary import StreamVocabulary
from sit_fairseq.symbols.streams import Streams


class TiedEmbedding(nn.Module):
    """A matrix that embeds canonical ids and projects hidden states to their logits.

    Its rows are L2-normalised for both uses under the cosine head, so are the features
    before projection, and logits are cosines (section 3.3, "Cosine loss"). In the paper's
    models input and output, encoder and decoder share one matrix (three-way tying).

    Args:
        vocabulary: what the ids mean; it may change when a checkpoint is loaded.
        num_rows: learnt rows, as many as a loaded checkpoint has.
        embed_dim: C.
        row_dim: channels of a learnt row.
        cosine: whether logits are cosines.
        scaled: multiply the embedding by the square root of C.
    """

    def __init__(
        self,
        vocabulary: StreamVocabulary,
        num_rows: int,
        embed_dim: int,
        row_dim: int,
        *,
        cosine: bool,
        scaled: bool,
    ) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.cosine = cosine
        self.scale = math.sqrt(embed_dim) if scaled else 1.0
        self.resized = False  # by a checkpoint of another number of rows
        self.weight = nn.Parameter(torch.empty(num_rows, row_dim))
        # Directions only matter under the cosine head; a linear head wants small logits.
        nn.init.normal_(self.weight, std=1.0 if cosine else embed_dim**-0.5)

    @property
    def num_classes(self) -> int:
        """Among how many vectors a target token is chosen, for AdaCos."""
        raise NotImplementedError

    def draw_codes(self) -> Optional[Tensor]:
        """What a batch needs beside the matrix, the same in encoder and decoder; None if
        everything is learnt."""
        return None

    def forward(
        self, canonical: Tensor, streams: Streams, codes: Optional[Tensor] = None
    ) -> Tensor:
        """(B*K, T) canonical ids to (N*K, T, C) embeddings over streams, with the batch's
        :meth:`draw_codes`."""
        raise NotImplementedError

    def project(self, hidden: Tensor, streams: Streams, codes: Optional[Tensor] = None) -> Tensor:
        """(N*K, T, C) features to (B*K, T, V) float32 (or float64) logits, ``-inf`` for base
        tokens that no target can hold; with the batch's :meth:`draw_codes`."""
        # Half precision has too few digits for cosines.
        with torch.autocast(hidden.device.type, enabled=False):
            hidden = hidden if hidden.dtype == torch.float64 else hidden.float()
            hidden = F.normalize(hidden, dim=2) if self.cosine else hidden
            logits = self._project(hidden, streams, codes)
        if self.vocabulary.source_only is None:
            return logits
        impossible = self.vocabulary.source_only.bool()
        impossible = F.pad(impossible, (0, logits.size(2) - impossible.numel()))
        return logits.masked_fill(impossible, -math.inf)

    def _project(self, hidden: Tensor, streams: Streams, codes: Optional[Tensor]) -> Tensor:
        raise NotImplementedError

    def _lookup(self, ids: Tensor, codes: Optional[Tensor]) -> Tensor:
        embedded = F.embedding(ids, self._matrix(codes))
        return embedded if self.scale == 1.0 else embedded * self.scale

    def _matrix(self, codes: Optional[Tensor]) -> Tensor:
        """One row per vector, as both uses see it."""
        if not self.cosine:
            return self.weight
        weight = self.weight if self.weight.dtype == torch.float64 else self.weight.float()
        return F.normalize(weight, dim=1).to(self.weight.dtype)

    def _load_from_state_dict(self, state_dict, prefix, *args, **kwargs) -> None:
        """Takes over the number of rows of a checkpoint."""
        saved = state_dict.get(prefix + "weight")
        if saved is not None and saved.dim() == 2 and saved.size(1) == self.weight.size(1):
            # Asked twice: encoder and decoder share the matrix.
            self.resized |= saved.shape != self.weight.shape
            self.weight.data = self.weight.data.new_empty(saved.shape)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


class StreamEmbedding(TiedEmbedding):
    """Embeds streams (Algorithm 1) and projects them to logits (Algorithm 5).

    The matrix has ``V_n + 2`` rows: the base tokens, then *actual* (the symbol a stream
    belongs to), then *placeholder* (every other symbol). It does not know how many
    symbols there are.

    Args:
        vocabulary: gives V_n.
        embed_dim: C.
        cosine: see :class:`TiedEmbedding`.
        scaled: likewise.
    """

    def __init__(
        self, vocabulary: StreamVocabulary, embed_dim: int, *, cosine: bool, scaled: bool
    ) -> None:
        num_rows = vocabulary.num_base + 2
        super().__init__(vocabulary, num_rows, embed_dim, embed_dim, cosine=cosine, scaled=scaled)

    @property
    def num_classes(self) -> int:
        """Every symbol shares one row of the matrix, hence V_n + 1."""
        return self.vocabulary.num_base + 1

    def forward(
        self, canonical: Tensor, streams: Streams, codes: Optional[Tensor] = None
    ) -> Tensor:
        """Embeds each sequence once per stream.

        Args:
            canonical: (B*K, T) canonical ids; symbols without a stream are embedded as
                placeholders.
            streams: the layout of the result.
            codes: None.

        Returns:
            (N*K, T, C) embeddings. Equivariant: renaming permutes the streams.
        """
        num_base = self.vocabulary.num_base
        tokens = streams.expand(canonical)
        # Not repeat_interleave, which PyTorch 2.13 exports to ONNX in a wrong order.
        slot = streams.slot.unsqueeze(1).expand(-1, streams.hypotheses).reshape(-1, 1)
        special = torch.where(tokens == num_base + slot, num_base, num_base + 1)
        return self._lookup(torch.where(tokens < num_base, tokens, special), codes)

    def _project(self, hidden: Tensor, streams: Streams, codes: Optional[Tensor]) -> Tensor:
        """Base logits from the mean over streams, symbol logits from their own stream.

        The projection is linear, so that the mean of the streams' base logits is
        computed as the projection of one mean hidden state.

        Args:
            hidden: (N*K, T, C) decoder features.
            streams: their layout.
            codes: None.

        Returns:
            (B*K, T, V_n + S) logits, ``-inf`` for the slots that a sentence does not have;
            reserved slots that are not taken have those of the stream that stands for them.
        """
        num_base = self.vocabulary.num_base
        matrix = self._matrix(codes).to(hidden.dtype)
        base = streams.mean(hidden) @ matrix[:num_base].t()
        own = hidden @ matrix[num_base]  # (N*K, T)
        slots = torch.arange(streams.most_slots, device=hidden.device)
        num_slots = streams.num_slots
        if streams.reserved is not None:
            num_slots = num_slots + streams.reserved
        num_slots = num_slots.repeat_interleave(streams.hypotheses)
        rows = streams.row_of(slots.expand(num_slots.numel(), -1))
        missing = slots >= num_slots.unsqueeze(1)  # (B*K, S)
        symbol = own[rows].masked_fill(missing.unsqueeze(2), -math.inf).transpose(1, 2)
        return torch.cat((base, symbol), dim=2)
