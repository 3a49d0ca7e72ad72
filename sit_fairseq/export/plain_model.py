"""A copy of a model in torch's own operators, which PyTorch's exporter knows.

Attention and rotary positions are exchanged for what computes the same; positions are looked up in
tables.
"""

from copy import deepcopy
from typing import Optional, Union

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sit_fairseq.models.attention import Rotary, StreamSelfAttention, ViewAttention
from sit_fairseq.symbols.rows import Places


class _RotaryTable(nn.Module):
    """:class:`Rotary` for ``length`` positions, whose offset may be a tensor."""

    def __init__(self, rotary: Rotary, length: int) -> None:
        super().__init__()
        # Rotated, a vector (1, 0) in each pair of channels is (cos, sin).
        unit = torch.ones(length, rotary.head_dim)
        unit[:, rotary.head_dim // 2 :] = 0
        cos, sin = rotary(unit).chunk(2, dim=1)
        self.register_buffer("cos", torch.cat((cos, cos), dim=1))
        self.register_buffer("sin", torch.cat((-sin, sin), dim=1))

    def forward(self, x: Tensor, offset: Union[int, Tensor, Places] = 0) -> Tensor:
        """Rotates (..., T, D), of which the vector at index t has position ``offset + t``, or its
        place."""
        if isinstance(offset, Places):
            positions = offset.position.unsqueeze(1)
        else:
            positions = torch.arange(x.size(-2)) + offset
        swapped = torch.cat(x.chunk(2, dim=-1)[::-1], dim=-1)
        return x * self.cos[positions] + swapped * self.sin[positions]


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
        table = None
        for module in list(side.modules()):
            if isinstance(module, (StreamSelfAttention, ViewAttention)):
                module._kernel = _kernel
            if isinstance(getattr(module, "rotary", None), Rotary):
                table = table or _RotaryTable(module.rotary, length)
                module.rotary = table
    return model
