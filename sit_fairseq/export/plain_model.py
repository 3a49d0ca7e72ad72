"""A copy of a model in torch's own operators, which PyTorch's exporter knows.

Attention and rotary positions are exchanged for what computes the same; positions are looked up in
tables.
"""

from copy import deepcopy
from typing import Callable, Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sit_fairseq.models.attention import Rotary, StreamSelfAttention, ViewAttention


class _RotaryTable(nn.Module):
    """:class:`Rotary` that looks rotations by ``length`` positions up."""

    def __init__(self, rotary: Rotary, length: int) -> None:
        super().__init__()
        cos, sin = rotary(torch.arange(length).unsqueeze(0), torch.float32)
        self.register_buffer("cos", cos[0, 0])
        self.register_buffer("sin", sin[0, 0])

    def forward(self, position: Tensor, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
        """The rotation by (R, T) positions."""
        cos, sin = self.cos[position].unsqueeze(1), self.sin[position].unsqueeze(1)

        def rotate(x: Tensor) -> Tensor:
            return x * cos + torch.cat(x.chunk(2, dim=-1)[::-1], dim=-1) * sin

        return rotate


def _kernel(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    mask: Optional[Tensor] = None,
    causal: bool = False,
) -> Tensor:
    """Attends by torch's operator, whatever the lengths."""
    return F.scaled_dot_product_attention(queries, keys, values, mask, is_causal=causal)


def plain_copy(model: nn.Module) -> nn.Module:
    """Copies a model on the CPU for PyTorch's exporter, in float32 and evaluation mode.

    The encoder of the copy takes canonical ids of one sentence, its decoder computes steps.
    """
    model = deepcopy(model).float()
    model.eval()  # fairseq's returns nothing where generation was made fast
    for side in (model.encoder, model.decoder):
        # Cross-attentions rotate keys by the positions of the source.
        length = max(model.encoder.cfg.max_positions, model.decoder.cfg.max_positions)
        for module in side.modules():
            if isinstance(module, (StreamSelfAttention, ViewAttention)):
                module._kernel = _kernel
        side.rotary = side.rotary and _RotaryTable(side.rotary, length)
    return model
