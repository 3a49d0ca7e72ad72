"""Rotary position embedding (RoPE, Su et al. 2021)."""

import torch
from torch import Tensor, nn

from sit_fairseq.transfers import upload


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
        return _Rotate.apply(x, cos, sin)

    def _build(self, length: int, like: Tensor) -> None:
        exponent = torch.arange(0, self.head_dim, 2, dtype=torch.float64) / self.head_dim
        angle = torch.outer(torch.arange(length, dtype=torch.float64), self.BASE**-exponent)
        cos, sin = angle.cos(), angle.sin()
        self._cos = upload(torch.cat((cos, cos), dim=1).to(like.dtype), like.device)
        self._sin = upload(torch.cat((-sin, sin), dim=1).to(like.dtype), like.device)


class _Rotate(torch.autograd.Function):
    """(l, r) -> (l cos - r sin, r cos + l sin); the gradient rotates back."""

    @staticmethod
    def forward(ctx, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        return _rotate(x, cos, sin)

    @staticmethod
    def backward(ctx, grad: Tensor):
        cos, sin = ctx.saved_tensors
        return _rotate(grad, cos, -sin), None, None


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    # Over whole vectors: halves are shorter than what a CPU computes at once.
    return (x * cos).addcmul_(x.roll(x.size(-1) // 2, -1), sin)
