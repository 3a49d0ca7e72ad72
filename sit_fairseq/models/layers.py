"""The layer of encoder and decoder (Algorithms 3 and 4).

Shapes as in :mod:`sit_fairseq.models.attention`.
"""

from functools import partial
from typing import Callable, Dict, Optional, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sit_fairseq.models.attention import Seen, StreamSelfAttention, ViewAttention
from sit_fairseq.models.config import StackConfig
from sit_fairseq.models.cpu_kernels import Linear, dropout, relu_network

# The choices of activation_fn.
_ACTIVATIONS: Dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    **dict.fromkeys(("gelu_accurate", "gelu_fast"), partial(F.gelu, approximate="tanh")),
    "tanh": torch.tanh,
    "linear": torch.Tensor.contiguous,
}


class StreamLayer(nn.Module):
    """A layer over rows of streams (Algorithms 3 and 4); equivariant under renaming.

    An encoder's layer has no cross-attention, and sees later positions. A ``light`` one only reads: it
    has per-stream self-attention and the cross-attentions. Else see :class:`Stack`.
    """

    def __init__(
        self, cfg: StackConfig, side: str, cross: Sequence[str] = (), light: bool = False
    ) -> None:
        super().__init__()
        self.cfg = cfg
        self.fc1 = None
        if not light:
            self.fc1 = Linear(cfg.embed_dim, cfg.ffn_dim)
            self.fc2 = Linear(cfg.ffn_dim, cfg.embed_dim)
            self.final_layer_norm = cfg.norm()
            self.activation = _ACTIVATIONS[cfg.options.activation_fn]
        self.self_attn = self.aggregated_attn = None
        if light or f"{side}P" in cfg.pattern:
            self.self_attn = self._attention(StreamSelfAttention)
            self.self_attn_layer_norm = cfg.norm()
        if f"{side}A" in cfg.pattern and not light:
            self.aggregated_attn = self._attention(ViewAttention, view_dim=cfg.embed_dim)
            self.aggregated_attn_layer_norm = cfg.norm()
        self.encoder_attn = nn.ModuleList(
            self._attention(ViewAttention, view_dim=cfg.view_dim) for _ in cross
        )
        self.encoder_attn_layer_norm = nn.ModuleList(cfg.norm() for _ in cross)

    def forward(self, x: Tensor, seen: Seen, number: int) -> Tensor:
        """Maps (R, T, C) hidden states of rows to (R, T, C); ``number`` is that of the layer."""
        return self.attend_to_others(self.attend_to_self(x, seen, number), seen, number)

    def attend_to_self(self, x: Tensor, seen: Seen, number: int) -> Tensor:
        """The per-stream self-attention alone, if there is one."""
        if self.self_attn is None:
            return x if seen.spread is None else seen.spread(x)
        attend, before = partial(self.self_attn, seen=seen, layer=number), self.cfg.normalize_before
        return self._residual(x, self.self_attn_layer_norm, attend, before, seen.spread)

    def attend_to_others(self, x: Tensor, seen: Seen, number: int) -> Tensor:
        """The layer after its per-stream self-attention: it attends to the aggregated view and to
        sources, and ends with the feed-forward network, as far as it has these."""

        def to_aggregate(h: Tensor) -> Tensor:
            view = self.aggregated_attn.project(seen.layout.aggregate(h), seen.tokens)
            return self.aggregated_attn(h, seen, number, seen.aggregated, view)

        cfg = self.cfg
        if self.aggregated_attn is not None:
            norm, before = self.aggregated_attn_layer_norm, cfg.aggregated_normalize_before
            x = self._residual(x, norm, to_aggregate, before)
        for cross, norm, view in zip(self.encoder_attn, self.encoder_attn_layer_norm, seen.source):
            attend = partial(cross, seen=seen, layer=number, entries=view)
            x = self._residual(x, norm, attend, cfg.normalize_before)
        if self.fc1 is None:
            return x
        return self._residual(x, self.final_layer_norm, self._feed_forward, cfg.normalize_before)

    def _attention(self, kind, **sizes: int):
        cfg = self.cfg
        rate = cfg.options.attention_dropout
        return kind(cfg.embed_dim, cfg.num_heads, dropout=rate, **sizes)

    def _residual(
        self,
        x: Tensor,
        norm: nn.Module,
        sublayer: Callable[[Tensor], Tensor],
        before: bool,
        spread: Optional[Callable[[Tensor], Tensor]] = None,
    ) -> Tensor:
        """Norm(x + Dropout(sublayer(x))), or the norm before the sub-layer."""
        rate = self.cfg.options.dropout if self.training else 0.0
        added = dropout(sublayer(norm(x) if before else x), rate)
        x = x if spread is None else spread(x)
        return x + added if before else norm(x + added)

    def _feed_forward(self, x: Tensor) -> Tensor:
        rate = self.cfg.options.activation_dropout if self.training else 0.0
        if self.activation is F.relu and rate == 0.0:
            return relu_network(self.fc1, self.fc2, x)
        return self.fc2(dropout(self.activation(self.fc1(x)), rate))
