"""The decoder: canonical ids and encoded sources in, logits over canonical ids out."""

from typing import Iterator, List, Optional

import torch
from torch import Tensor, nn

from sit_fairseq.models.adacos_scale import AdaCosScale
from sit_fairseq.models.attention import KeysValues
from sit_fairseq.models.cache import KeyValueCache
from sit_fairseq.models.config import StackConfig
from sit_fairseq.models.cpu_kernels import dropout
from sit_fairseq.models.embedding import TokenEmbedding
from sit_fairseq.models.encoder import EncodedSource
from sit_fairseq.models.layers import StreamDecoderLayer
from sit_fairseq.models.positions import make_positions
from sit_fairseq.symbols.streams import Streams, SymbolPositions


class StreamDecoder(nn.Module):
    """Decodes in slot space: inputs and outputs are canonical ids, never names.

    Args:
        embed_tokens: the matrix of embeddings, which may be the encoder's.
        cfg: layers, positions and norms.
        output_projection: another matrix to project with; None for ``embed_tokens``.
    """

    def __init__(
        self,
        embed_tokens: TokenEmbedding,
        cfg: StackConfig,
        output_projection: Optional[TokenEmbedding] = None,
    ) -> None:
        super().__init__()
        self.cfg = cfg
        self.embed_tokens = embed_tokens
        self.embed_positions = make_positions(cfg, embed_tokens.vocabulary)
        self.layernorm_embedding = cfg.norm(cfg.options.layernorm_embedding)
        self.layers = nn.ModuleList(StreamDecoderLayer(cfg) for _ in range(cfg.num_layers))
        self.layer_norm = cfg.norm(cfg.final_norm)
        self.output_projection = output_projection
        self.output_scale = AdaCosScale(embed_tokens.num_classes) if embed_tokens.cosine else None

    def forward(self, canonical: Tensor, source: EncodedSource) -> Tensor:
        """Computes logits for all target positions (teacher forcing).

        Args:
            canonical: (B*K, T) canonical ids of the targets. Ids without a stream (beams that
                are dead anyway hold such) read as placeholders.
            source: the sources, with K hypotheses.

        Returns:
            (B*K, T, V_n + S + R) logits, the arguments of a softmax; ``-inf`` for reserved slots
            that are neither taken nor next.
        """
        if self.embed_tokens.vocabulary.fresh is not None:
            source = source.with_own_streams(self._slots_needed(canonical, source))
        streams, mask = source.streams, source.mask
        x = self._embed(canonical, source, streams)
        positions = self._positions(canonical, streams)
        for layer, views in zip(self.layers, self.project_encoder(source)):
            x = layer(x, positions, views, mask)
        return self._project(x, canonical, source, streams)

    @torch.no_grad()
    def step(self, canonical: Tensor, source: EncodedSource, cache: KeyValueCache) -> Tensor:
        """Computes logits for the last target position, without gradients.

        Args:
            canonical: (B*K, T) canonical ids of the targets so far.
            source: as in :meth:`forward`.
            cache: of :meth:`new_cache`; keys and values of the position are appended.

        Returns:
            (B*K, 1, V_n + S + R) logits, S of the sentences that are still searched.
        """
        if self.embed_tokens.vocabulary.fresh is not None:
            cache.give_streams(self._slots_needed(canonical, source))
        cache.advance()
        x = self._embed(canonical[:, -1:], source, cache.streams, cache.position)
        positions = self._positions(canonical[:, -1:], cache.streams)
        for number, layer in enumerate(self.layers):
            x = layer.step(x, positions, cache, number)
        return self._project(x, canonical, source, cache.streams)

    def new_cache(self, source: EncodedSource) -> KeyValueCache:
        """The empty memory of the steps of a search."""
        return KeyValueCache(
            source.streams,
            source.padding,
            self.project_encoder(source),
            self.cfg.pattern.cross,
            num_heads=self.cfg.num_heads,
            embed_dim=self.cfg.embed_dim,
        )

    def project_encoder(self, source: EncodedSource) -> Iterator[List[KeysValues]]:
        """Keys and values of the cross-attentions, layer by layer."""
        aggregated = source.aggregated() if "CA" in self.cfg.pattern else None
        for layer in self.layers:
            yield layer.project_encoder(source.states, aggregated)

    def _embed(
        self, canonical: Tensor, source: EncodedSource, streams: Streams, offset: int = 0
    ) -> Tensor:
        """(N*K, T, C) input of the first layer, whose first position is ``offset``."""
        x = source.target_table.embed(canonical, streams)
        x = self.layernorm_embedding(self.embed_positions(x, streams, offset=offset))
        return dropout(x, self.cfg.options.dropout if self.training else 0.0)

    def _positions(self, canonical: Tensor, streams: Streams) -> SymbolPositions:
        return SymbolPositions.of(canonical, self.embed_tokens.vocabulary.num_base, streams)

    def _project(
        self, x: Tensor, canonical: Tensor, source: EncodedSource, streams: Streams
    ) -> Tensor:
        """(N*K, T, C) output of the last layer to (B*K, T, V_n + S + R) logits."""
        logits = source.output_table.project(self.layer_norm(x), streams)
        if self.output_scale is not None:
            logits = self.output_scale(logits)
        vocabulary = self.embed_tokens.vocabulary
        if vocabulary.fresh is None:
            return logits
        first = vocabulary.first_reserved(source.hypothesis_names)
        taken = vocabulary.fresh.taken(canonical, first)[:, -x.size(1) :]
        return vocabulary.fresh.close(logits, first, taken)

    def _slots_needed(self, canonical: Tensor, source: EncodedSource) -> Tensor:
        """(B,) on the CPU, the number of slots that need streams of their own, with the reserved
        slots that any hypothesis has taken."""
        vocabulary, streams = self.embed_tokens.vocabulary, source.streams
        first = vocabulary.first_reserved(source.hypothesis_names)
        taken = vocabulary.fresh.taken(canonical, first)[:, -1]
        needed = vocabulary.fresh.own_streams(taken)
        of_sentence = needed.view(-1, streams.hypotheses).amax(1)
        return (streams.on_host or streams).num_slots + of_sentence.cpu()
