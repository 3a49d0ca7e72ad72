"""The layer of encoder and decoder over packed streams (Algorithms 3 and 4).

Shapes as in :mod:`sit_fairseq.symbols.streams`: N*K rows over streams, T positions.
"""

from functools import partial
from typing import Any, Callable, Dict, List, Sequence, Union

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sit_fairseq.errors import UserError
from sit_fairseq.models.attention import KeysValues, Projected, StreamSelfAttention, ViewAttention
from sit_fairseq.models.config import StackConfig
from sit_fairseq.models.cpu_kernels import Linear, dropout, relu_network
from sit_fairseq.symbols.rows import Places
from sit_fairseq.symbols.streams import SymbolPositions

# By their names in fairseq.
ACTIVATIONS: Dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    **dict.fromkeys(("gelu_accurate", "gelu_fast"), partial(F.gelu, approximate="tanh")),
    "tanh": torch.tanh,
    "linear": torch.Tensor.contiguous,
}


class StreamLayer(nn.Module):
    """A layer over packed streams (Algorithms 3 and 4); equivariant under renaming.

    An encoder's layer is a decoder's without cross-attentions whose memory is not causal.

    Args:
        cfg: sizes, norms and attention pattern.
        side: ``"E"`` or ``"D"``, the letter of its self-attentions in the pattern.
        cross: its cross-attentions in their order, ``"CP"`` or ``"CA"``.
    """

    def __init__(self, cfg: StackConfig, side: str, cross: Sequence[str] = ()) -> None:
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
        self.self_attn = self.aggregated_attn = None
        if f"{side}P" in cfg.pattern:
            self.self_attn = self._attention(StreamSelfAttention)
            self.self_attn_layer_norm = cfg.norm()
        if f"{side}A" in cfg.pattern:
            self.aggregated_attn = self._attention(ViewAttention, view_dim=cfg.embed_dim)
            self.aggregated_attn_layer_norm = cfg.norm()
        self.encoder_attn = nn.ModuleList(
            self._attention(ViewAttention, view_dim=cfg.view_dim) for _ in cross
        )
        self.encoder_attn_layer_norm = nn.ModuleList(cfg.norm() for _ in cross)

    def project_encoder(
        self, views: List[Tensor], places: Sequence[Union[int, Places]]
    ) -> List[KeysValues]:
        """Keys and values of each cross-attention, once per stream (CP) or sentence (CA), from
        their views and the positions of these."""
        return [
            attention.project(view, place)
            for attention, view, place in zip(self.encoder_attn, views, places)
        ]

    def forward(self, x: Tensor, positions: SymbolPositions, memory: Any) -> Tensor:
        """Maps (N*K, T, C) to (N*K, T, C).

        Args:
            x: hidden states of all streams.
            positions: where the T tokens are symbols.
            memory: the keys and values that each row attends to, see
                :class:`~sit_fairseq.models.attention.Sequences`.
        """

        def to_aggregate(h: Tensor) -> Tensor:
            return self.aggregated_attn.to_aggregate(h, positions.aggregate(h), memory)

        def to_source(h: Tensor, number: int) -> Tensor:
            return self.encoder_attn[number].to_source(h, number, memory)

        cfg = self.cfg
        if self.self_attn is not None:
            x = self.attend_to_self(x, memory)
        if self.aggregated_attn is not None:
            norm, before = self.aggregated_attn_layer_norm, cfg.aggregated_normalize_before
            x = self._residual(x, norm, to_aggregate, before)
        for number, norm in enumerate(self.encoder_attn_layer_norm):
            x = self._residual(x, norm, partial(to_source, number=number), cfg.normalize_before)
        return self._residual(x, self.final_layer_norm, self._feed_forward, cfg.normalize_before)

    def attend_to_self(self, x: Tensor, memory: Any) -> Tensor:
        """The per-stream self-attention alone."""
        attend = partial(self.self_attn, memory=memory)
        return self._residual(x, self.self_attn_layer_norm, attend, self.cfg.normalize_before)

    def project_to_self(self, x: Tensor, memory: Any) -> Projected:
        """Queries, keys and values of :meth:`attend_to_self`."""
        x = self.self_attn_layer_norm(x) if self.cfg.normalize_before else x
        return self.self_attn.project(x, memory.places)

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
