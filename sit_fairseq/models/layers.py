"""Encoder and decoder layers over packed streams (Algorithms 3 and 4).

Shapes as in :mod:`sit_fairseq.symbols.streams`: N*K rows over streams, B*K rows over
hypotheses, T target or source positions, U source positions seen from the decoder.
"""

from functools import partial
from typing import Callable, Dict, List, Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sit_fairseq.errors import UserError
from sit_fairseq.models.attention import KeysValues, StreamSelfAttention, ViewAttention
from sit_fairseq.models.cache import KeyValueCache
from sit_fairseq.models.config import StackConfig
from sit_fairseq.models.cpu_kernels import Linear, dropout, relu_network
from sit_fairseq.symbols.streams import Streams, SymbolPositions

# By their names in fairseq.
ACTIVATIONS: Dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    **dict.fromkeys(("gelu_accurate", "gelu_fast"), partial(F.gelu, approximate="tanh")),
    "tanh": torch.tanh,
    "linear": torch.Tensor.contiguous,
}


class _Layer(nn.Module):
    """Residual sub-layers and the feed-forward network."""

    def __init__(self, cfg: StackConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.fc1 = Linear(cfg.embed_dim, cfg.ffn_dim)
        self.fc2 = Linear(cfg.ffn_dim, cfg.embed_dim)
        self.final_layer_norm = cfg.norm()
        if cfg.options.activation_fn not in ACTIVATIONS:
            raise UserError(
                f"the activation {cfg.options.activation_fn!r} is none of {', '.join(ACTIVATIONS)}",
                "activation_fn",
            )
        self.activation = ACTIVATIONS[cfg.options.activation_fn]

    def _attention(self, kind, **sizes: int):
        cfg = self.cfg
        rate, rotary = cfg.options.attention_dropout, cfg.positions == "rope"
        return kind(cfg.embed_dim, cfg.num_heads, dropout=rate, rotary=rotary, **sizes)

    def _residual(
        self, x: Tensor, norm: nn.Module, sublayer: Callable[[Tensor], Tensor], before: bool
    ) -> Tensor:
        """Norm(x + Dropout(sublayer(x))), or the norm before the sub-layer."""
        rate = self.cfg.options.dropout if self.training else 0.0
        if before:
            return x + dropout(sublayer(norm(x)), rate)
        return norm(x + dropout(sublayer(x), rate))

    def _feed_forward(self, x: Tensor) -> Tensor:
        rate = self.cfg.options.activation_dropout if self.training else 0.0
        if self.activation is F.relu and rate == 0.0:
            return relu_network(self.fc1, self.fc2, x)
        return self.fc2(dropout(self.activation(self.fc1(x)), rate))


class StreamEncoderLayer(_Layer):
    """Algorithm 3; equivariant under renaming."""

    def __init__(self, cfg: StackConfig) -> None:
        super().__init__(cfg)
        if "EP" in cfg.pattern:
            self.self_attn = self._attention(StreamSelfAttention)
            self.self_attn_layer_norm = cfg.norm()
        if "EA" in cfg.pattern:
            self.aggregated_attn = self._attention(ViewAttention, view_dim=cfg.embed_dim)
            self.aggregated_attn_layer_norm = cfg.norm()

    def forward(self, x: Tensor, positions: SymbolPositions, mask: Optional[Tensor]) -> Tensor:
        """Maps (N, T, C) to (N, T, C); mask (N, 1, 1, T) is True at real tokens."""

        def attend_to_self(h: Tensor) -> Tensor:
            return self.self_attn(h, mask=mask)

        def attend_to_aggregate(h: Tensor) -> Tensor:
            view = self.aggregated_attn.project(positions.aggregate(h))
            return self.aggregated_attn(h, _expand(view, positions.streams), mask=mask)

        cfg = self.cfg
        if "EP" in cfg.pattern:
            x = self._residual(x, self.self_attn_layer_norm, attend_to_self, cfg.normalize_before)
        if "EA" in cfg.pattern:
            norm, before = self.aggregated_attn_layer_norm, cfg.aggregated_normalize_before
            x = self._residual(x, norm, attend_to_aggregate, before)
        return self._residual(x, self.final_layer_norm, self._feed_forward, cfg.normalize_before)


class StreamDecoderLayer(_Layer):
    """Algorithm 4; equivariant under renaming."""

    def __init__(self, cfg: StackConfig) -> None:
        super().__init__(cfg)
        if "DP" in cfg.pattern:
            self.self_attn = self._attention(StreamSelfAttention)
            self.self_attn_layer_norm = cfg.norm()
        if "DA" in cfg.pattern:
            self.aggregated_attn = self._attention(ViewAttention, view_dim=cfg.embed_dim)
            self.aggregated_attn_layer_norm = cfg.norm()
        self.encoder_attn = nn.ModuleList(
            self._attention(ViewAttention, view_dim=cfg.view_dim) for _ in cfg.pattern.cross
        )
        self.encoder_attn_layer_norm = nn.ModuleList(cfg.norm() for _ in cfg.pattern.cross)

    def project_encoder(self, views: List[Tensor]) -> List[KeysValues]:
        """Keys and values of each cross-attention, once per stream (CP) or sentence (CA)."""
        return [attention.project(view) for attention, view in zip(self.encoder_attn, views)]

    def forward(
        self,
        x: Tensor,
        positions: SymbolPositions,
        views: List[KeysValues],
        encoder_mask: Optional[Tensor],
    ) -> Tensor:
        """Maps (N*K, T, C) to (N*K, T, C), given the whole target (teacher forcing).

        Args:
            x: hidden states of all streams.
            positions: where the target holds symbols.
            views: of :meth:`project_encoder`.
            encoder_mask: (N, 1, 1, U) True at real source tokens.
        """
        streams = positions.streams

        def attend_to_self(h: Tensor) -> Tensor:
            return self.self_attn(h, causal=True)

        def attend_to_aggregate(h: Tensor) -> Tensor:
            view = self.aggregated_attn.project(positions.aggregate(h))
            return self.aggregated_attn(h, _expand(view, streams), causal=True)

        def attend_to_encoder(h: Tensor, number: int) -> Tensor:
            view = views[number]
            if self.cfg.pattern.cross[number] == "CA":
                view = _expand(view, streams)
            attention = self.encoder_attn[number]
            return attention(h, view, mask=encoder_mask, hypotheses=streams.hypotheses)

        return self._sublayers(x, attend_to_self, attend_to_aggregate, attend_to_encoder)

    @torch.no_grad()
    def step(
        self, x: Tensor, positions: SymbolPositions, cache: KeyValueCache, layer: int
    ) -> Tensor:
        """One decoding step, (N*K, 1, C) to (N*K, 1, C), without gradients.

        Args:
            x: hidden states of all streams.
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
        """The sub-layers of the pattern, in their order; cross-attentions are called by number."""
        cfg = self.cfg
        if "DP" in cfg.pattern:
            x = self._residual(x, self.self_attn_layer_norm, attend_to_self, cfg.normalize_before)
        if "DA" in cfg.pattern:
            norm, before = self.aggregated_attn_layer_norm, cfg.aggregated_normalize_before
            x = self._residual(x, norm, attend_to_aggregate, before)
        for number, norm in enumerate(self.encoder_attn_layer_norm):
            sublayer = partial(attend_to_encoder, number=number)
            x = self._residual(x, norm, sublayer, cfg.normalize_before)
        return self._residual(x, self.final_layer_norm, self._feed_forward, cfg.normalize_before)


def _expand(memory: KeysValues, streams: Streams) -> KeysValues:
    return KeysValues(streams.expand(memory.keys), streams.expand(memory.values))
