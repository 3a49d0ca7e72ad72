"""Encoder and decoder layers over packed streams (Algorithms 3 and 4).

Shapes as in :mod:`sit_fairseq.modules.streams`: N*K rows over streams, B*K rows over
hypotheses, T target or source positions, U source positions seen from the decoder.
"""

from dataclasses import dataclass, replace
from typing import Callable, List, Optional

from fairseq import utils
from torch import Tensor, nn

from sit_fairseq.modules.attention_pattern import AttentionPattern
from sit_fairseq.modules.functional import dropout, feed_forward
from sit_fairseq.modules.stream_attention import KeysValues, StreamSelfAttention, ViewAttention
from sit_fairseq.modules.streams import Streams, SymbolPositions


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
    normalize_before: bool
    aggregated_normalize_before: bool


class _StreamLayer(nn.Module):
    """Residual sub-layers and the feed-forward network."""

    def __init__(self, cfg: LayerConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.fc1 = nn.Linear(cfg.embed_dim, cfg.ffn_dim)
        self.fc2 = nn.Linear(cfg.ffn_dim, cfg.embed_dim)
        self.final_layer_norm = self._norm()
        self.activation = utils.get_activation_fn(cfg.activation)

    def _norm(self) -> nn.LayerNorm:
        return nn.LayerNorm(self.cfg.embed_dim)

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


@dataclass
class DecoderLayerState:
    """What a decoder layer keeps between steps: projected keys and values.

    Attributes:
        self_attn: (N*K, H, T, D), None before the first step.
        aggregated_attn: (B*K, H, T, D), None before the first step.
        encoder_attn: (N, H, U, D) for each cross-attention, shared by the K hypotheses.
    """

    encoder_attn: List[KeysValues]
    self_attn: Optional[KeysValues] = None
    aggregated_attn: Optional[KeysValues] = None

    def select(self, hypotheses: Tensor, rows: Tensor, streams: Optional[Tensor]):
        """The state after hypotheses were reordered; ``streams`` None keeps them all."""
        return replace(
            self,
            self_attn=self.self_attn and self.self_attn.select(rows),
            aggregated_attn=self.aggregated_attn and self.aggregated_attn.select(hypotheses),
            encoder_attn=(
                self.encoder_attn
                if streams is None
                else [memory.select(streams) for memory in self.encoder_attn]
            ),
        )


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

    def project_encoder(
        self, per_stream: Tensor, aggregated: Optional[Tensor], streams: Streams
    ) -> List[KeysValues]:
        """Keys and values of each cross-attention, once per sentence.

        Args:
            per_stream: (N, U, C) encoder output.
            aggregated: (B, U, C) its aggregated view, if the pattern has CA.
            streams: the encoder's layout (K = 1).
        """
        return [
            (
                attention.project(per_stream)
                if letters == "CP"
                else _expand(attention.project(aggregated), streams)
            )
            for letters, attention in zip(self.pattern.cross, self.encoder_attn)
        ]

    def forward(
        self,
        x: Tensor,
        positions: SymbolPositions,
        state: DecoderLayerState,
        encoder_mask: Optional[Tensor],
        step: Optional[int],
    ) -> Tensor:
        """Maps (N*K, T, C) to (N*K, T, C).

        Args:
            positions: where the target prefix holds symbols.
            state: keys and values of the encoder, and of earlier steps; updated in place.
            encoder_mask: (N, 1, 1, U) True at real source tokens.
            step: position of the only token in ``x`` when decoding step by step, or None
                when the whole target is given (teacher forcing).
        """
        streams = positions.streams
        offset = step or 0
        if self.pattern.decoder_per_stream:

            def attend_to_self(h: Tensor) -> Tensor:
                if step is None:
                    return self.self_attn(h, causal=True)
                out, state.self_attn = self.self_attn.step(h, state.self_attn, step)
                return out

            x = self._residual(x, self.self_attn_layer_norm, attend_to_self)
        if self.pattern.decoder_aggregated:

            def attend_to_aggregate(h: Tensor) -> Tensor:
                view = self.aggregated_attn.project(positions.aggregate(h), offset)
                if step is not None:
                    view = state.aggregated_attn.append(view) if state.aggregated_attn else view
                    state.aggregated_attn = view
                return self.aggregated_attn(
                    h, _expand(view, streams), causal=step is None, offset=offset
                )

            norm = self.aggregated_attn_layer_norm
            x = self._residual(x, norm, attend_to_aggregate, aggregated=True)
        for attention, norm, memory in zip(
            self.encoder_attn, self.encoder_attn_layer_norm, state.encoder_attn
        ):

            def attend_to_encoder(h: Tensor) -> Tensor:
                return attention(
                    h, memory, mask=encoder_mask, offset=offset, hypotheses=streams.hypotheses
                )

            x = self._residual(x, norm, attend_to_encoder)
        return self._residual(x, self.final_layer_norm, self._feed_forward)
