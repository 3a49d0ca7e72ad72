"""The encoder: canonical ids in, packed streams out."""

from dataclasses import dataclass, replace
from typing import Optional

from torch import Tensor, nn

from sit_fairseq.models.config import StackConfig
from sit_fairseq.models.cpu_kernels import dropout
from sit_fairseq.models.embedding import StreamTable, TokenEmbedding
from sit_fairseq.models.layers import StreamEncoderLayer
from sit_fairseq.models.positions import make_positions
from sit_fairseq.symbols.streams import Streams, SymbolPositions, is_identity


class StreamEncoder(nn.Module):
    """Encodes the streams of each sentence together.

    Args:
        embed_tokens: the matrix of embeddings, with the vocabulary.
        cfg: layers, positions and norms.
    """

    def __init__(self, embed_tokens: TokenEmbedding, cfg: StackConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed_tokens = embed_tokens
        self.embed_positions = make_positions(cfg, embed_tokens.vocabulary)
        self.layernorm_embedding = cfg.norm(cfg.options.layernorm_embedding)
        self.layers = nn.ModuleList(StreamEncoderLayer(cfg) for _ in range(cfg.num_layers))
        self.layer_norm = cfg.norm(cfg.final_norm)

    def forward(
        self,
        canonical: Tensor,
        streams: Streams,
        table: StreamTable,
        padding: Optional[Tensor] = None,
        prepared: Optional[Tensor] = None,
    ) -> Tensor:
        """Encodes a batch of canonical ids.

        Args:
            canonical: (B, T) canonical ids, padded on the right.
            streams: the streams of the sentences.
            table: the vectors of the batch.
            padding: (B, T) True at padding, None if there is none.
            prepared: the result of the positions' ``prepare`` for the batch.

        Returns:
            (N, T, C) output of the last layer.
        """
        x = self.embed_positions(table.embed(canonical, streams), streams, prepared)
        x = dropout(self.layernorm_embedding(x), self.cfg.options.dropout if self.training else 0.0)
        positions = SymbolPositions.of(canonical, table.vocabulary.num_base, streams)
        mask = stream_mask(padding, streams)
        for layer in self.layers:
            x = layer(x, positions, mask)
        return self.layer_norm(x)


@dataclass(frozen=True)
class EncodedSource:
    """The encoded sources of a batch, as a decoder needs them. There is one source per sentence;
    only the layout counts hypotheses.

    Attributes:
        states: (N, U, C) output of the encoder.
        padding: (B, U) True at padding, None if there is none.
        streams: the layout, with K hypotheses.
        names: (B, S) the dictionary index of each slot.
        canonical: (B, U) the sources in canonical ids.
        target_table: vectors that embed targets.
        output_table: vectors that features are projected with.
    """

    states: Tensor
    padding: Optional[Tensor]
    streams: Streams
    names: Tensor
    canonical: Tensor
    target_table: StreamTable
    output_table: StreamTable

    @property
    def mask(self) -> Optional[Tensor]:
        """(N, 1, 1, U) True at real tokens; None if all are real."""
        return stream_mask(self.padding, self.streams)

    @property
    def hypothesis_names(self) -> Tensor:
        """(B*K, S) the dictionary index of each slot."""
        return self.names.repeat_interleave(self.streams.hypotheses, dim=0)

    def aggregated(self) -> Tensor:
        """(B, U, C) the aggregated view of the states (Algorithm 2)."""
        num_base = self.target_table.vocabulary.num_base
        streams = replace(self.streams, hypotheses=1)
        return SymbolPositions.of(self.canonical, num_base, streams).aggregate(self.states)

    def reorder(self, order: Tensor) -> "EncodedSource":
        """Makes new hypotheses out of the old ones that ``order`` names."""
        streams, sentences, stream_rows, _ = self.streams.reorder(order)
        if is_identity(sentences, self.names.size(0)):
            return replace(self, streams=streams)
        device = self.states.device
        sentences, stream_rows = (
            rows.to(device, non_blocking=True) for rows in (sentences, stream_rows)
        )
        return replace(
            self,
            streams=streams,
            states=self.states.index_select(0, stream_rows),
            padding=None if self.padding is None else self.padding.index_select(0, sentences),
            names=self.names.index_select(0, sentences),
            canonical=self.canonical.index_select(0, sentences),
        )

    def with_own_streams(self, num_slots: Tensor) -> "EncodedSource":
        """The sources after reserved slots are taken; see :meth:`Streams.with_own_streams`."""
        streams, repetition = self.streams.with_own_streams(num_slots)
        return replace(self, streams=streams, states=repetition(self.states))


def stream_mask(padding: Optional[Tensor], streams: Streams) -> Optional[Tensor]:
    """(B, T) padding to an (N, 1, 1, T) mask, True at real tokens; None if all are real."""
    return None if padding is None else ~padding[streams.sentence][:, None, None, :]


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
