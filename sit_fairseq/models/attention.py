"""Multi-head attention over packed streams, with rotary positions.

Shapes: R rows (streams or hypotheses), T query positions, U key positions, C channels,
H heads, D = C / H channels of a head. Masks are True where attention is allowed.
"""

from typing import NamedTuple, Optional, Tuple, Union

import torch
from torch import Tensor, nn

from sit_fairseq.models.cache import CrossAttentionCache, SelfAttentionCache
from sit_fairseq.models.cpu_kernels import Linear, attention


class KeysValues(NamedTuple):
    """Projected keys (rotated where positions are rotary) and values, (R, H, U, D)."""

    keys: Tensor
    values: Tensor


class _Attention(nn.Module):
    """Heads, rotary positions and output projection."""

    def __init__(self, embed_dim: int, num_heads: int, *, dropout: float, rotary: bool) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.dropout = dropout
        self.rotary = Rotary(embed_dim // num_heads) if rotary else None
        self.out_proj = Linear(embed_dim, embed_dim)

    def _heads(self, x: Tensor) -> Tensor:
        return x.unflatten(2, (self.num_heads, -1)).transpose(1, 2)  # -> R x H x T x D

    def _rotate(self, x: Tensor, offset: int) -> Tensor:
        return x if self.rotary is None else self.rotary(x, offset)

    def _attend(
        self, queries: Tensor, memory: KeysValues, mask: Optional[Tensor], causal: bool
    ) -> Tensor:
        """(R, H, T, D) queries against (R, H, U, D) keys and values -> (R, T, C)."""
        rate = self.dropout if self.training else 0.0
        attended = attention(queries, *memory, mask=mask, causal=causal, dropout_rate=rate)
        return self.out_proj(attended.transpose(1, 2).flatten(2))  # -> R x T x C

    def _attend_once(
        self, queries: Tensor, cache: Union[SelfAttentionCache, CrossAttentionCache], layer: int
    ) -> Tensor:
        """(R, H, 1, D) queries of one decoding step -> (R, 1, C)."""
        return self.out_proj(cache.attend(layer, queries.flatten(1))).unsqueeze(1)


class StreamSelfAttention(_Attention):
    """Per-stream self-attention: each stream attends to itself alone (EP, DP)."""

    def __init__(self, embed_dim: int, num_heads: int, *, dropout: float, rotary: bool) -> None:
        super().__init__(embed_dim, num_heads, dropout=dropout, rotary=rotary)
        self.qkv_proj = Linear(embed_dim, 3 * embed_dim)

    def forward(self, x: Tensor, *, mask: Optional[Tensor] = None, causal: bool = False) -> Tensor:
        """Attends within each row of ``x`` (R, T, C); mask (R, 1, 1, T)."""
        queries, memory = self._project(x, 0)
        return self._attend(queries, memory, mask, causal)

    def step(self, x: Tensor, cache: SelfAttentionCache, layer: int, position: int) -> Tensor:
        """One decoding step: (R, 1, C) at ``position`` against all positions so far.

        Args:
            x: (R, 1, C).
            cache: earlier keys and values; the step appends those of ``x``.
            layer: this attention's number in the cache.
            position: of ``x``.
        """
        queries, new = self._project(x, position)
        cache.append(layer, new.keys.flatten(1), new.values.flatten(1))
        return self._attend_once(queries, cache, layer)

    def _project(self, x: Tensor, offset: int) -> Tuple[Tensor, KeysValues]:
        queries, keys, values = (self._heads(p) for p in self.qkv_proj(x).chunk(3, dim=2))
        return self._rotate(queries, offset), KeysValues(self._rotate(keys, offset), values)


class ViewAttention(_Attention):
    """Attention of every stream to a view beside its own sequence.

    The view is the aggregation of all streams (EA, DA, CA) or the encoder's stream of the same
    symbol (CP). Keys and values are projected once per row of the view, which for an aggregated
    view means once per sentence and not once per stream. The view has ``view_dim`` channels.
    """

    def __init__(
        self, embed_dim: int, num_heads: int, *, view_dim: int, dropout: float, rotary: bool
    ) -> None:
        super().__init__(embed_dim, num_heads, dropout=dropout, rotary=rotary)
        self.q_proj = Linear(embed_dim, embed_dim)
        self.kv_proj = Linear(view_dim, 2 * embed_dim)

    def project(self, view: Tensor, offset: int = 0) -> KeysValues:
        """Projects a view (R, U, ``view_dim``) whose first position is ``offset``."""
        keys, values = (self._heads(p) for p in self.kv_proj(view).chunk(2, dim=2))
        return KeysValues(self._rotate(keys, offset), values)

    def forward(
        self,
        x: Tensor,
        memory: KeysValues,
        *,
        mask: Optional[Tensor] = None,
        causal: bool = False,
        hypotheses: int = 1,
    ) -> Tensor:
        """Attends from streams to a projected view.

        Args:
            x: (N*K, T, C) streams.
            memory: the view, (N, H, U, D) if shared by the K hypotheses, else N*K rows.
            mask: (N, 1, 1, U) or (N*K, 1, 1, U) to match ``memory``.
            causal: forbid later positions; needs T = U and K = 1.
            hypotheses: K if ``memory`` is shared by them.
        """
        queries = self._rotate(self._heads(self.q_proj(x)), 0)
        if hypotheses == 1:
            return self._attend(queries, memory, mask, causal)
        # The hypotheses of a stream become query positions: no copy of keys and values.
        length = queries.size(2)
        queries = queries.unflatten(0, (-1, hypotheses)).transpose(1, 2).flatten(2, 3)
        attended = self._attend(queries, memory, mask, causal)  # N x K*T x C
        return attended.unflatten(1, (hypotheses, length)).flatten(0, 1)

    def step(
        self,
        x: Tensor,
        cache: Union[SelfAttentionCache, CrossAttentionCache],
        layer: int,
        position: int,
    ) -> Tensor:
        """One decoding step: (R, 1, C) at ``position`` against the layer's entries in the cache."""
        queries = self._rotate(self._heads(self.q_proj(x)), position)
        return self._attend_once(queries, cache, layer)


class Rotary(nn.Module):
    """Rotates queries and keys by their position (RoPE, Su et al. 2021), half against half of the
    channels.

    Args:
        head_dim: D, channels of one head; even.
    """

    BASE = 10000.0

    def __init__(self, head_dim: int) -> None:
        super().__init__()
        self.head_dim = head_dim
        self._cos = self._sin = torch.empty(0, head_dim)

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Rotates the vector at index t of (..., T, D) by position ``offset + t``."""
        end, size = offset + x.size(-2), self._cos.size(0)
        if size < end or self._cos.dtype != x.dtype or self._cos.device != x.device:
            with torch.inference_mode(False):  # what is kept may be trained with later
                self._build(size if end <= size else max(end, 2 * size), x)
        return _Rotate.apply(x, self._cos[offset:end], self._sin[offset:end])

    def _build(self, length: int, like: Tensor) -> None:
        exponent = torch.arange(0, self.head_dim, 2, dtype=torch.float64) / self.head_dim
        angle = torch.outer(torch.arange(length, dtype=torch.float64), self.BASE**-exponent)
        cos, sin = angle.cos().to(like.dtype), angle.sin().to(like.dtype)
        self._cos = torch.cat((cos, cos), dim=1).to(like.device, non_blocking=True)
        self._sin = torch.cat((-sin, sin), dim=1).to(like.device, non_blocking=True)


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
    x = x.contiguous()  # heads are a transposed view, which each operation would copy
    return (x * cos).addcmul_(x.roll(x.size(-1) // 2, -1), sin)
