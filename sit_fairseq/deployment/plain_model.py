"""A copy of a model in torch's own operators, which PyTorch's exporter knows.

What is exchanged computes the same: products with weights, attention, and the positions, which are
looked up in tables.
"""

from copy import deepcopy
from typing import Any, Dict, Optional, Union

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sit_fairseq.models.attention import KeysValues, Rotary, StreamSelfAttention, ViewAttention
from sit_fairseq.models.cpu_kernels import Linear
from sit_fairseq.models.decoder import CACHE


class _RotaryTable(nn.Module):
    """:class:`Rotary`, whose offset may be a tensor.

    Args:
        rotary: to compute the table with.
        length: one more than the last position.
    """

    def __init__(self, rotary: Rotary, length: int) -> None:
        super().__init__()
        # Rotated, a vector (1, 0) in each pair of channels is (cos, sin).
        unit = torch.ones(length, rotary.head_dim)
        unit[:, rotary.head_dim // 2 :] = 0
        cos, sin = rotary(unit).chunk(2, dim=1)
        self.register_buffer("cos", torch.cat((cos, cos), dim=1))
        self.register_buffer("sin", torch.cat((-sin, sin), dim=1))

    def forward(self, x: Tensor, offset: Union[int, Tensor] = 0) -> Tensor:
        """Rotates (..., T, D), of which the vector at index t has position ``offset + t``."""
        positions = torch.arange(x.size(-2)) + offset
        swapped = torch.cat(x.chunk(2, dim=-1)[::-1], dim=-1)
        return x * self.cos[positions] + swapped * self.sin[positions]


class _PositionTable(nn.Module):
    """fairseq's sinusoidal or learnt positions, which may be those of one step.

    Args:
        positions: fairseq's module.
        length: the number of positions.
    """

    def __init__(self, positions: nn.Module, length: int) -> None:
        super().__init__()
        tokens = torch.full((1, length), positions.padding_idx + 1)
        with torch.no_grad():
            self.register_buffer("table", positions(tokens)[0].clone())

    def forward(self, tokens: Tensor, incremental_state: Optional[Dict[str, Any]] = None) -> Tensor:
        """(1, T, C) of a sequence (1, T), or (1, 1, C) of a step."""
        if incremental_state is None:
            return self.table[torch.arange(tokens.size(1))].unsqueeze(0)
        return self.table[incremental_state[CACHE].position].view(1, 1, -1)


class _PlainAttention:
    """Attends by torch's operator, whatever the lengths."""

    def _attend(
        self, queries: Tensor, memory: KeysValues, mask: Optional[Tensor], causal: bool
    ) -> Tensor:
        attended = F.scaled_dot_product_attention(queries, memory.keys, memory.values, mask)
        return self.out_proj(attended.transpose(1, 2).flatten(2))


class _PlainSelfAttention(_PlainAttention, StreamSelfAttention):
    pass


class _PlainViewAttention(_PlainAttention, ViewAttention):
    pass


_PLAIN = {
    Linear: nn.Linear,
    StreamSelfAttention: _PlainSelfAttention,
    ViewAttention: _PlainViewAttention,
}


def plain_copy(model: nn.Module) -> nn.Module:
    """Copies a model for PyTorch's exporter.

    Args:
        model: with streams or of one stream, on the CPU.

    Returns:
        The copy, in float32 and evaluation mode. Its encoder takes canonical ids of one sentence
        (:meth:`StreamEncoder.encode`), its decoder computes steps.
    """
    model = deepcopy(model).float()
    model.eval()  # fairseq's returns nothing where generation was made fast
    for side in (model.encoder, model.decoder):
        # Cross-attentions rotate keys by the positions of the source.
        length = max(model.encoder.max_positions(), model.decoder.max_positions())
        if hasattr(side.embed_positions, "padding_idx"):
            side.embed_positions = _PositionTable(side.embed_positions, side.max_positions())
        table = None
        for module in list(side.modules()):
            module.__class__ = _PLAIN.get(type(module), type(module))
            if isinstance(getattr(module, "rotary", None), Rotary):
                table = table or _RotaryTable(module.rotary, length)
                module.rotary = table
    return model
