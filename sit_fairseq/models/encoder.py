"""The encoder: canonical ids in, packed streams out."""

from typing import Optional, Union

from torch import Tensor, nn

from sit_fairseq.models.attention import Sequences
from sit_fairseq.models.config import StackConfig
from sit_fairseq.models.cpu_kernels import dropout
from sit_fairseq.models.embedding import StreamTable, TokenEmbedding
from sit_fairseq.models.layers import StreamLayer
from sit_fairseq.models.positions import make_positions
from sit_fairseq.symbols.rows import Places, Rows, over_streams
from sit_fairseq.symbols.streams import Streams, SymbolPositions


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
        self.layers = nn.ModuleList(StreamLayer(cfg, "E") for _ in range(cfg.num_layers))
        self.layer_norm = cfg.norm(cfg.final_norm)

    def rows(
        self, canonical: Tensor, streams: Streams, padding: Optional[Tensor]
    ) -> Optional[Rows]:
        """The rows of a batch, if there are such in place of streams."""
        return None

    def forward(
        self,
        canonical: Tensor,
        streams: Streams,
        table: StreamTable,
        padding: Optional[Tensor] = None,
        prepared: Optional[Tensor] = None,
        rows: Optional[Rows] = None,
        places: Union[int, Places] = 0,
    ) -> Tensor:
        """Encodes a batch of canonical ids.

        Args:
            canonical: (B, T) canonical ids, padded on the right.
            streams: the streams of the sentences.
            table: the vectors of the batch.
            padding: (B, T) True at padding, None if there is none.
            prepared: the result of the positions' ``prepare`` for the batch.
            rows: of :meth:`rows`, with places.
            places: the position of the first token, or of all (B, T).

        Returns:
            (N, T, C) output of the last layer.
        """
        x = self.embed_positions(table.embed(canonical, streams), streams, prepared, places)
        x = dropout(self.layernorm_embedding(x), self.cfg.options.dropout if self.training else 0.0)
        positions = SymbolPositions.of(canonical, table.vocabulary.num_base, streams)
        at = dict(position=places, places=over_streams(places, streams))
        memory = Sequences(streams, streams.mask(padding), **at)
        for layer in self.layers:
            x = layer(x, positions, memory)
        return self.layer_norm(x)


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
