"""The decoder: canonical ids and a batch's context in, logits over canonical ids out."""

from typing import Iterator, List, Optional, Tuple, Union

import torch
from torch import Tensor, nn

from sit_fairseq.models.adacos_scale import AdaCosScale
from sit_fairseq.models.attention import KeysValues, Sequences
from sit_fairseq.models.cache import KeyValueCache, LayerMemory
from sit_fairseq.models.config import StackConfig
from sit_fairseq.models.context import Context
from sit_fairseq.models.cpu_kernels import dropout
from sit_fairseq.models.embedding import TokenEmbedding
from sit_fairseq.models.layers import StreamLayer
from sit_fairseq.models.positions import make_positions
from sit_fairseq.symbols.rows import Places, over_streams
from sit_fairseq.symbols.streams import SymbolPositions


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
        self.layers = nn.ModuleList(
            StreamLayer(cfg, "D", cfg.pattern.cross) for _ in range(cfg.num_layers)
        )
        self.layer_norm = cfg.norm(cfg.final_norm)
        self.output_projection = output_projection
        self.output_scale = AdaCosScale(embed_tokens.num_classes) if embed_tokens.cosine else None

    def forward(self, canonical: Tensor, source: Context, places: Union[int, Places] = 0) -> Tensor:
        """Computes logits for all target positions (teacher forcing).

        Args:
            canonical: (B*K, T) canonical ids of the targets. Ids without a stream (beams that
                are dead anyway hold such) read as placeholders.
            source: the batch, with K hypotheses. Cross-attentions need encoded sources.
            places: the position of the first token, or of all (B*K, T).

        Returns:
            (B*K, T, V_n + S + R) logits, the arguments of a softmax; ``-inf`` for reserved slots
            that are neither taken nor next.
        """
        own_slots = source.own_slots(canonical)
        if own_slots is not None:
            source = source.extended(*source.streams.with_own_streams(own_slots))
        mask, cross = source.mask, self.cfg.pattern.cross
        x, positions = self._embed(canonical, source, places)
        at = dict(position=places, places=over_streams(places, source.streams))
        for layer, views in zip(self.layers, self.project_encoder(source)):
            x = layer(x, positions, Sequences(source.streams, None, True, cross, views, mask, **at))
        return self._project(x, canonical, source)

    @torch.no_grad()
    def step(self, canonical: Tensor, cache: KeyValueCache) -> Tensor:
        """Computes logits for the positions that no step has read, without gradients.

        Args:
            canonical: (B*K, T) canonical ids of the targets so far.
            cache: of :meth:`new_cache`; keys and values of the P new positions are appended.

        Returns:
            (B*K, P, V_n + S + R) logits, S of the sentences that are still searched.
        """
        new = cache.advance(canonical)
        x, positions = self._embed(new, cache.context, cache.position)
        for number, layer in enumerate(self.layers):
            x = layer(x, positions, LayerMemory(cache, number))
        return self._project(x, canonical, cache.context)

    def new_cache(self, source: Context) -> KeyValueCache:
        """The empty memory of the steps of a search."""
        return KeyValueCache(
            source,
            self.project_encoder(source),
            self.cfg.pattern.cross,
            self.cfg.num_heads,
        )

    def project_encoder(self, source: Context) -> Iterator[List[KeysValues]]:
        """Keys and values of the cross-attentions, layer by layer."""
        views = [source.view(letters) for letters in self.cfg.pattern.cross]
        places = [source.places_of(letters) for letters in self.cfg.pattern.cross]
        for layer in self.layers:
            yield layer.project_encoder(views, places)

    def _embed(
        self, canonical: Tensor, context: Context, offset: Union[int, Places] = 0
    ) -> Tuple[Tensor, SymbolPositions]:
        """(N*K, T, C) input of the first layer, whose positions begin with ``offset`` or are these,
        and the places of its symbols."""
        streams, num_base = context.streams, self.embed_tokens.vocabulary.num_base
        x = context.target_table.embed(canonical, streams)
        x = self.layernorm_embedding(self.embed_positions(x, streams, offset=offset))
        x = dropout(x, self.cfg.options.dropout if self.training else 0.0)
        return x, SymbolPositions.of(canonical, num_base, streams)

    def _project(self, x: Tensor, canonical: Tensor, context: Context) -> Tensor:
        """(N*K, T, C) output of the last layer to (B*K, T, V_n + S + R) logits."""
        logits = context.output_table.project(self.layer_norm(x), context.streams)
        if self.output_scale is not None:
            logits = self.output_scale(logits)
        return context.close(logits, canonical)
