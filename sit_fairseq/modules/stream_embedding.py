"""Matrices of token embeddings, and their use as output projection, over streams."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sit_fairseq.modules.stream_vocabulary import StreamVocabulary
from sit_fairseq.modules.streams import Streams


class StreamEmbedding(nn.Module):
    """Embeds streams (Algorithm 1) and projects them to logits (Algorithm 5).

    The matrix has ``V_n + 2`` rows: the base tokens, then *actual* (the symbol a stream
    belongs to), then *placeholder* (every other symbol). It does not know how many
    symbols there are. In the paper's models input and output, encoder and decoder share
    one matrix (three-way tying).

    Args:
        vocabulary: gives V_n, and changes it when a checkpoint is loaded.
        embed_dim: C.
        cosine: L2-normalise the rows for both uses and the features before projection,
            so that logits are cosines (section 3.3, "Cosine loss").
        scaled: without ``cosine``, multiply the embedding by the square root of C as
            fairseq does.
    """

    def __init__(
        self, vocabulary: StreamVocabulary, embed_dim: int, *, cosine: bool, scaled: bool = True
    ) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.cosine = cosine
        self.scale = 1.0 if cosine or not scaled else math.sqrt(embed_dim)
        self.weight = nn.Parameter(torch.empty(vocabulary.num_base + 2, embed_dim))
        # Directions only matter under the cosine head; a linear head wants small logits.
        nn.init.normal_(self.weight, std=1.0 if cosine else embed_dim**-0.5)

    def forward(self, canonical: Tensor, streams: Streams) -> Tensor:
        """Embeds each sequence once per stream.

        Args:
            canonical: (B*K, T) canonical ids; symbols without a stream are embedded as
                placeholders.
            streams: the layout of the result.

        Returns:
            (N*K, T, C) embeddings. Equivariant: renaming permutes the streams.
        """
        num_base = self.vocabulary.num_base
        tokens = streams.expand(canonical)
        slot = streams.slot.repeat_interleave(streams.hypotheses).unsqueeze(1)
        special = torch.where(tokens == num_base + slot, num_base, num_base + 1)
        embedded = F.embedding(torch.where(tokens < num_base, tokens, special), self._matrix())
        return embedded if self.scale == 1.0 else embedded * self.scale

    def project(self, hidden: Tensor, streams: Streams) -> Tensor:
        """Base logits from the mean over streams, symbol logits from their own stream.

        The projection is linear, so that the mean of the streams' base logits is
        computed as the projection of one mean hidden state.

        Args:
            hidden: (N*K, T, C) decoder features.
            streams: their layout.

        Returns:
            (B*K, T, V_n + S) float32 (or float64) logits, ``-inf`` for the slots that a
            sentence does not have and for base tokens of sources only.
        """
        # Half precision has too few digits for cosines.
        with torch.autocast(hidden.device.type, enabled=False):
            return self._project(
                hidden if hidden.dtype == torch.float64 else hidden.float(), streams
            )

    def _project(self, hidden: Tensor, streams: Streams) -> Tensor:
        num_base = self.vocabulary.num_base
        if self.cosine:
            hidden = F.normalize(hidden, dim=2)
        matrix = self._matrix().to(hidden.dtype)
        base = streams.mean(hidden) @ matrix[:num_base].t()
        if self.vocabulary.source_only is not None:
            base = base.masked_fill(self.vocabulary.source_only, -math.inf)
        own = hidden @ matrix[num_base]  # (N*K, T)
        slots = torch.arange(int(streams.num_slots.max()), device=hidden.device)
        num_slots = streams.num_slots.repeat_interleave(streams.hypotheses)
        rows = streams.row_of(slots.expand(num_slots.numel(), -1))
        missing = slots >= num_slots.unsqueeze(1)  # (B*K, S)
        symbol = own[rows].masked_fill(missing.unsqueeze(2), -math.inf).transpose(1, 2)
        return torch.cat((base, symbol), dim=2)

    def _matrix(self) -> Tensor:
        if not self.cosine:
            return self.weight
        weight = self.weight if self.weight.dtype == torch.float64 else self.weight.float()
        return F.normalize(weight, dim=1).to(self.weight.dtype)

    def _load_from_state_dict(self, state_dict, prefix, *args, **kwargs) -> None:
        """Takes over the number of base tokens of a checkpoint."""
        saved = state_dict.get(prefix + "weight")
        if saved is not None and saved.dim() == 2 and saved.size(1) == self.weight.size(1):
            self.weight.data = self.weight.data.new_empty(saved.shape)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
