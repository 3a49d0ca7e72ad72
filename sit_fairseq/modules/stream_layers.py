"""Encoder and decoder layers over packed streams (Algorithms 3 and 4).

Shapes as in :mod:`sit_fairseq.symbols.streams`: N*K rows over streams, B*K rows over
hypotheses, T target or source positions, U source positions seen from the decoder.
"""

from dataclasses import dataclass
from functools import partial
from typing import Callable, List, Optional

import torch
from fairseq import utils
from torch import Tensor, nn

from sit_fairseq.modules.attention_pattern import AttentionPattern
from sit_fairseq.modules.functional import dropout
from sit_fairseq.modules.key_value_cache import KeyValueCache
from sit_fairseq.modules.products import Linear, feed_forward
from sit_fairseq.modules.stream_attention import KeysValues, StreamSelfAttention, ViewAttention
from sit_fairseq.symbols.streams import Streams, SymbolPositions


@dataclass(frozen=True)
class LayerConfig:
    """Sizes and rates shared by the layers of one side.

    Attributes:
        embed_dim: C.
        view_dim: channels of the encoder's output, which cross-attentions read.
        ffn_dim: hidden channels of the feed-forward network.
        num_heads: heads of every attention.
        rotary: attentions rotate queries and keys by their positions.
        dropout: on every sub-layer's output, before the residual sum.
        attention_dropout: on attention weights.
        activation_dropout: inside the feed-forward network.
        activation: name of fairseq's activation function.
        norm_eps: what layer norms add to the variance.
        normalize_before: layer norm before each sub-layer instead of after the sum.
        aggregated_normalize_before: the same for the attention to the aggregated view.
    """

    embed_dim: int
    view_dim: int
    ffn_dim: int
    num_heads: int
    rotary: bool
    dropout: float
    attention_dropout: float
    activation_dropout: float
    activation: str
    norm_eps: float
    normalize_before: bool
    aggregated_normalize_before: bool

    def norm(self) -> nn.LayerNorm:
        """A new layer norm over the channels."""
        return nn.LayerNorm(self.embed_dim, eps=self.norm_eps)


class _StreamLayer(nn.Module):
    """Residual sub-layers and the feed-forward network."""

    def __init__(self, cfg: LayerConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.fc1 = Linear(cfg.embed_dim, cfg.ffn_dim)
        self.fc2 = Linear(cfg.ffn_dim, cfg.embed_dim)
        self.final_layer_norm = self._norm()
        self.activation = utils.get_activation_fn(cfg.activation)

    def _norm(self) -> nn.LayerNorm:
        return self.cfg.norm()

    def _self_attention(self) -> StreamSelfAttention:
        cfg = self.cfg
        return StreamSelfAttention(
            cfg.embed_dim, cfg.num_heads, dropout=cfg.attention_dropout, rotary=cfg.rotary
        )

    def _view_attention(self, view_dim: int) -> ViewAttention:
        cfg = self.cfg
        return ViewAttention(
            cfg.embed_dim,
            cfg.num_heads,
            view_dim=view_dim,
            dropout=cfg.attention_dropout,
            rotary=cfg.rotary,
        )

    def _residual(
        self,
        x: Tensor,
        norm: nn.LayerNorm,
        sublayer: Callable[[Tensor], Tensor],
        *,
        aggregated: bool = False,
    ) -> Tensor:
        cfg = self.cfg
        if cfg.aggregated_normalize_before if aggregated else cfg.normalize_before:
            return x + self._dropout(sublayer(norm(x)), cfg.dropout)
        return norm(x + self._dropout(sublayer(x), cfg.dropout))

    def _feed_forward(self, x: Tensor) -> Tensor:
        rate = self.cfg.activation_dropout if self.training else 0.0
        return feed_forward(x, self.fc1, self.fc2, self.activation, rate)

    def _dropout(self, x: Tensor, rate: float) -> Tensor:
        return dropout(x, rate if self.training else 0.0)


def _expand(memory: KeysValues, streams: Streams) -> KeysValues:
    return KeysValues(streams.expand(memory.keys), streams.expand(memory.values))


class StreamEncoderLayer(_StreamLayer):
    """Per-stream self-attention, attention to the aggregated view, feed-forward.

    Algorithm 3; equivariant under renaming.
    """

    def __init__(self, cfg: LayerConfig, pattern: AttentionPattern) -> None:
        super().__init__(cfg)
        if pattern.encoder_per_stream:
            self.self_attn = self._self_attention()
            self.self_attn_layer_norm = self._norm()
        if pattern.encoder_aggregated:
            self.aggregated_attn = self._view_attention(cfg.embed_dim)
            self.aggregated_attn_layer_norm = self._norm()
        self.pattern = pattern

    def forward(self, x: Tensor, positions: SymbolPositions, mask: Optional[Tensor]) -> Tensor:
        """Maps (N, T, C) to (N, T, C); mask (N, 1, 1, T) is True at real tokens."""
        if self.pattern.encoder_per_stream:
            x = self._residual(x, self.self_attn_layer_norm, lambda h: self.self_attn(h, mask=mask))
        if self.pattern.encoder_aggregated:

            def attend_to_aggregate(h: Tensor) -> Tensor:
                view = self.aggregated_attn.project(positions.aggregate(h))
                return self.aggregated_attn(h, _expand(view, positions.streams), mask=mask)

            norm = self.aggregated_attn_layer_norm
            x = self._residual(x, norm, attend_to_aggregate, aggregated=True)
        return self._residual(x, self.final_layer_norm, self._feed_forward)


class StreamDecoderLayer(_StreamLayer):
    """Causal per-stream and aggregated attention, cross-attentions, feed-forward.

    Algorithm 4; equivariant under renaming.
    """

    def __init__(self, cfg: LayerConfig, pattern: AttentionPattern) -> None:
        super().__init__(cfg)
        if pattern.decoder_per_stream:
            self.self_attn = self._self_attention()
            self.self_attn_layer_norm = self._norm()
        if pattern.decoder_aggregated:
            self.aggregated_attn = self._view_attention(cfg.embed_dim)
            self.aggregated_attn_layer_norm = self._norm()
        self.encoder_attn = nn.ModuleList(self._view_attention(cfg.view_dim) for _ in pattern.cross)
        self.encoder_attn_layer_norm = nn.ModuleList(self._norm() for _ in pattern.cross)
        self.pattern = pattern

    def project_encoder(self, per_stream: Tensor, aggregated: Optional[Tensor]) -> List[KeysValues]:
        """Keys and values of each cross-attention, once per stream or sentence.

        Args:
            per_stream: (N, U, C) encoder output.
            aggregated: (B, U, C) its aggregated view, if the pattern has CA.
        """
        return [
            attention.project(per_stream if letters == "CP" else aggregated)
            for letters, attention in zip(self.pattern.cross, self.encoder_attn)
        ]

    def forward(
        self,
        x: Tensor,
        positions: SymbolPositions,
        views: List[KeysValues],
        encoder_mask: Optional[Tensor],
    ) -> Tensor:
        """Maps (N*K, T, C) to (N*K, T, C), given the whole target (teacher forcing).

        Args:
            positions: where the target holds symbols.
            views: of :meth:`project_encoder`.
            encoder_mask: (N, 1, 1, U) True at real source tokens.
        """
        streams = positions.streams

        def attend_to_aggregate(h: Tensor) -> Tensor:
            view = self.aggregated_attn.project(positions.aggregate(h))
            return self.aggregated_attn(h, _expand(view, streams), causal=True)

        def attend_to_encoder(h: Tensor, number: int) -> Tensor:
            view = views[number]
            if self.pattern.cross[number] == "CA":
                view = _expand(view, streams)
            return self.encoder_attn[number](
                h, view, mask=encoder_mask, hypotheses=streams.hypotheses
            )

        return self._sublayers(
            x, lambda h: self.self_attn(h, causal=True), attend_to_aggregate, attend_to_encoder
        )

    @torch.no_grad()
    def step(
        self, x: Tensor, positions: SymbolPositions, cache: KeyValueCache, layer: int
    ) -> Tensor:
        """One decoding step, (N*K, 1, C) to (N*K, 1, C), without gradients.

        Args:
            positions: where the last tokens are symbols.
            cache: the keys and values of ``x`` are appended.
            layer: the number of this layer.
        """
        position = cache.position

        def attend_to_self(h: Tensor) -> Tensor:
            return self.self_attn.step(h, cache.self_attn, layer, position)

        def attend_to_aggregate(h: Tensor) -> Tensor:
            view = self.aggregated_attn.project(positions.aggregate(h), position)
            cache.aggregated_attn.append(layer, view.keys.flatten(1), view.values.flatten(1))
            return self.aggregated_attn.step(h, cache.aggregated_attn, layer, position)

        def attend_to_encoder(h: Tensor, number: int) -> Tensor:
            return self.encoder_attn[number].step(h, cache.encoder_attn[number], layer, position)

        return self._sublayers(x, attend_to_self, attend_to_aggregate, attend_to_encoder)

    def _sublayers(
        self,
        x: Tensor,
        attend_to_self: Callable[[Tensor], Tensor],
        attend_to_aggregate: Callable[[Tensor], Tensor],
        attend_to_encoder: Callable[[Tensor, int], Tensor],
    ) -> Tensor:
        """Those of the pattern, in their order; cross-attentions are called by number."""
        if self.pattern.decoder_per_stream:
            x = self._residual(x, self.self_attn_layer_norm, attend_to_self)
        if self.pattern.decoder_aggregated:
            norm = self.aggregated_attn_layer_norm
            x = self._residual(x, norm, attend_to_aggregate, aggregated=True)
        for number, norm in enumerate(self.encoder_attn_layer_norm):
            x = self._residual(x, norm, partial(attend_to_encoder, number=number))
        return self._residual(x, self.final_layer_norm, self._feed_forward)
