"""Rotary position embedding (RoPE, Su et al. 2021)."""

import torch
from torch import Tensor, nn


class Rotary(nn.Module):
    """Rotates queries and keys by their position, half against half of the channels.

    Args:
        head_dim: D, channels of one head; even.

    Raises:
        ValueError: if ``head_dim`` is odd.
    """

    BASE = 10000.0

    def __init__(self, head_dim: int) -> None:
        super().__init__()
        if head_dim % 2:
            raise ValueError(f"rotary positions need an even head dimension, got {head_dim}")
        self.head_dim = head_dim
        self._cos = self._sin = torch.empty(0, head_dim)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Rotates the vector at index t by position ``offset + t``.

        Args:
            x: (..., T, D) queries or keys.
            offset: the position of the first vector.
        """
        end = offset + x.size(-2)
        if self._cos.size(0) < end or self._cos.dtype != x.dtype or self._cos.device != x.device:
            self._build(max(end, 2 * self._cos.size(0)), x)
        cos, sin = self._cos[offset:end], self._sin[offset:end]
        left, right = x.chunk(2, dim=-1)
        return x * cos + torch.cat((-right, left), dim=-1) * sin

    def _build(self, length: int, like: Tensor) -> None:
        exponent = torch.arange(0, self.head_dim, 2, dtype=torch.float64) / self.head_dim
        angle = torch.outer(torch.arange(length, dtype=torch.float64), self.BASE**-exponent)
        angle = torch.cat((angle, angle), dim=1)
        self._cos = angle.cos().to(like)
        self._sin = angle.sin().to(like)
