"""What encoder and decoder are built from, beside their embeddings."""

from dataclasses import dataclass
from typing import Optional

import torch
from fairseq.modules import PositionalEmbedding
from torch import nn

from sit_fairseq.modules.attention_pattern import AttentionPattern
from sit_fairseq.modules.stream_layers import LayerConfig


@dataclass(frozen=True)
class StackConfig:
    """A stack of layers with its input positions and norms.

    Attributes:
        layer: sizes of a layer.
        num_layers: how many layers.
        pattern: which attentions they have.
        positions: ``tree`` (encoder only), ``rope``, ``sinusoidal``, ``learned`` or
            ``none``. All but ``rope`` are in the input, and then no attention rotates.
        max_positions: the longest sequence in tokens.
        layernorm_embedding: layer norm of the embeddings with their positions.
        final_norm: layer norm of the last layer's output.
        tree_depth: see :class:`TreePositions`.
    """

    layer: LayerConfig
    num_layers: int
    pattern: AttentionPattern
    positions: str
    max_positions: int
    layernorm_embedding: bool = False
    final_norm: bool = False
    tree_depth: int = 0

    def absolute_positions(self, padding_idx: int) -> Optional[nn.Module]:
        """fairseq's table of positions: the first token of a sequence has position
        ``padding_idx + 1``, wherever its padding is. None for the other kinds."""
        if self.positions not in ("sinusoidal", "learned"):
            return None
        learned = self.positions == "learned"
        table = PositionalEmbedding(self.max_positions, self.layer.embed_dim, padding_idx, learned)
        if "_float_tensor" in dict(table.named_buffers()):
            # fairseq 0.12.2 saves this, which only tells a device; later versions lack it.
            del table._float_tensor
            table.register_buffer("_float_tensor", torch.zeros(1), persistent=False)
        return table

    def optional_norm(self, present: bool) -> Optional[nn.LayerNorm]:
        """A layer norm over the channels, or None."""
        return self.layer.norm() if present else None
