"""Token embeddings over streams, and their use as output projection (Algorithms 1 and 5).

Shapes as in :mod:`sit_fairseq.symbols.streams`; V columns of logits.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sit_fairseq.errors import UserError
from sit_fairseq.models.attention import Layout
from sit_fairseq.symbols.streams import Streams
from sit_fairseq.symbols.vocabulary import Vocabulary


class TokenEmbedding(nn.Module):
    """A matrix that embeds canonical ids and projects hidden states to their logits. In the paper's
    models input and output, encoder and decoder share one (three-way tying).

    It has ``V_n + 2 G`` rows: the base tokens, then for each of the G sorts of symbols *actual*
    (the symbol that a stream belongs to) and *placeholder* (every other symbol of the sort). Under the
    ``cosine`` head its rows are L2-normalised for both uses, so are the features before projection,
    and logits are cosines (section 3.3, "Cosine loss"). A ``scaled`` embedding is multiplied by the
    square root of its C channels.
    """

    def __init__(
        self, vocabulary: Vocabulary, embed_dim: int, *, cosine: bool, scaled: bool
    ) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.cosine = cosine
        self.scale = math.sqrt(embed_dim) if scaled else 1.0
        self.weight = nn.Parameter(torch.empty(*self._shape(embed_dim)))
        # Directions only matter under the cosine head; a linear head wants small logits.
        nn.init.normal_(self.weight, std=1.0 if cosine else embed_dim**-0.5)
        self.register_load_state_dict_post_hook(_check_rows)

    @property
    def num_classes(self) -> int:
        """The C of AdaCos: base tokens, and the vector that the symbols of a sort share."""
        return self.vocabulary.num_base + self.vocabulary.num_sorts

    def table(self) -> "StreamTable":
        """The vectors of a batch."""
        return StreamTable(self, self._matrix())

    def rows_of(self, layout: Layout, number: int) -> Tensor:
        """(R, T) the index, in a matrix of ``number`` rows, that each row of a layout begins with."""
        return layout.vectors()

    def logits(self, hidden: Tensor, matrix: Tensor, streams: Streams) -> Tensor:
        """Base logits from the mean over streams, symbol logits from their own stream. The
        projection is linear, so that of the mean is the mean of projections."""
        num_base = self.vocabulary.num_base
        base = streams.mean(hidden) @ matrix[:num_base].t()
        num_slots = streams.all_slots.repeat_interleave(streams.hypotheses).unsqueeze(1)
        slots = torch.arange(streams.most_slots, device=hidden.device)
        slots = slots.expand(num_slots.size(0), -1)
        if streams.sorts is None:
            own = (hidden @ matrix[num_base])[streams.row_of(slots)]  # (B*K, S, T)
        else:
            of_sorts = (hidden @ matrix[num_base::2].t())[streams.row_of(slots)]
            sort = streams.sort_of(slots)[:, :, None, None].expand(-1, -1, hidden.size(1), 1)
            own = of_sorts.gather(3, sort).squeeze(3)
        symbol = own.masked_fill((slots >= num_slots).unsqueeze(2), -math.inf).transpose(1, 2)
        return torch.cat((base, symbol), dim=2)

    def _shape(self, embed_dim: int):
        return self.vocabulary.num_base + 2 * self.vocabulary.num_sorts, embed_dim

    def _matrix(self) -> Tensor:
        """One row per vector, as both uses see it."""
        weight = self.weight
        return F.normalize(wide(weight), dim=1).to(weight.dtype) if self.cosine else weight

    def _load_from_state_dict(self, state_dict, prefix, *args, **kwargs) -> None:
        """Takes over the number of rows of a checkpoint."""
        saved = state_dict.get(prefix + "weight")
        if saved is not None and saved.dim() == 2 and saved.size(1) == self.weight.size(1):
            self.weight.data = self.weight.data.new_empty(saved.shape)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


def _check_rows(embedding: TokenEmbedding, unused: Any) -> None:
    """A UserError if a matrix has another number of rows than the vocabulary, loaded after it, needs."""
    rows, needed = embedding.weight.size(0), embedding._shape(0)[0]
    vocabulary = embedding.vocabulary
    if rows != needed and vocabulary.one_stream and vocabulary.fresh_symbols:
        number = vocabulary.fresh_symbols
        raise UserError(
            f"the checkpoint has vectors for {number + rows - needed} symbols, but fresh_symbols is "
            f"{number}; keep the fresh_symbols of training, which only a model of streams may exceed"
        )
    if rows != needed:
        raise UserError(
            f"the embedding of the checkpoint has {rows} rows, but its tokens and symbols need {needed}: "
            "it is damaged, or of another symbol_embedding; name another file"
        )


def wide(x: Tensor) -> Tensor:
    """Float32 or float64: half precision has too few digits for cosines and probabilities."""
    return x if x.dtype == torch.float64 else x.float()


@dataclass(frozen=True, eq=False)
class StreamTable:
    """The vectors of a batch, one in each row of a matrix, the same in encoder, decoder and
    projection."""

    embedding: TokenEmbedding
    matrix: Tensor

    def embed(self, layout: Layout) -> Tensor:
        """(R, T, C) embeddings of the rows of a layout (Algorithm 1). Renaming permutes the
        streams."""
        embedded = F.embedding(self.embedding.rows_of(layout, len(self.matrix)), self.matrix)
        scale = self.embedding.scale
        return embedded if scale == 1.0 else embedded * scale

    def project(self, hidden: Tensor, streams: Streams) -> Tensor:
        """Projects (N*K, T, C) decoder features to logits (Algorithm 5).

        Returns (B*K, T, V_n + S + R) float32 (or float64) logits, ``-inf`` for the slots that a
        sentence does not have and for base tokens that no target can hold; reserved slots that are
        not taken have those of the stream that stands for them.
        """
        with torch.autocast(hidden.device.type, enabled=False):
            hidden = F.normalize(wide(hidden), dim=2) if self.embedding.cosine else wide(hidden)
            logits = self.embedding.logits(hidden, self.matrix.to(hidden.dtype), streams)
        impossible = self.embedding.vocabulary.source_only
        if impossible is None:
            return logits
        impossible = F.pad(impossible.bool(), (0, logits.size(2) - impossible.numel()))
        return logits.masked_fill(impossible, -math.inf)
