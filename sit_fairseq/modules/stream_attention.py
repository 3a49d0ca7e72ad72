"""Multi-head attention over packed streams.

Shapes: R rows (streams or hypotheses), T query positions, U key positions, C channels,
H heads, D = C / H channels of a head. Masks are True where attention is allowed.
"""

from typing import NamedTuple, Optional, Union

from torch import Tensor, nn

from sit_fairseq.modules.functional import attention
from sit_fairseq.modules.key_value_cache import CrossAttentionCache, SelfAttentionCache
from sit_fairseq.modules.products import Linear
from sit_fairseq.modules.rotary import Rotary


class KeysValues(NamedTuple):
    """Projected keys (rotated where positions are rotary) and values, (R, H, U, D)."""

    keys: Tensor
    values: Tensor


class _HeadedAttention(nn.Module):
    """What self-attention and view attention share: heads, dropout, output projection."""

    def __init__(self, embed_dim: int, num_heads: int, *, dropout: float, rotary: bool) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim} channels do not divide into {num_heads} heads")
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
        attended = attention(
            queries,
            memory.keys,
            memory.values,
            mask=mask,
            causal=causal,
            dropout_rate=self.dropout if self.training else 0.0,
        )
        return self.out_proj(attended.transpose(1, 2).flatten(2))  # -> R x T x C

    def _attend_once(
        self, queries: Tensor, cache: Union[SelfAttentionCache, CrossAttentionCache], layer: int
    ) -> Tensor:
        """(R, H, 1, D) queries of one decoding step -> (R, 1, C)."""
        return self.out_proj(cache.attend(layer, queries.flatten(1))).unsqueeze(1)


class StreamSelfAttention(_HeadedAttention):
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
            cache: earlier keys and values; those of ``x`` are appended.
            layer: this attention's number in the cache.
            position: of ``x``.
        """
        queries, new = self._project(x, position)
        cache.append(layer, new.keys.flatten(1), new.values.flatten(1))
        return self._attend_once(queries, cache, layer)

    def _project(self, x: Tensor, offset: int):
        queries, keys, values = (self._heads(p) for p in self.qkv_proj(x).chunk(3, dim=2))
        return self._rotate(queries, offset), KeysValues(self._rotate(keys, offset), values)


class ViewAttention(_HeadedAttention):
    """Attention of every stream to a view that is not its own sequence.

    The view is the aggregation of all streams (EA, DA, CA) or the encoder's stream of
    the same symbol (CP). Keys and values are projected once per row of the view, which
    for an aggregated view means once per sentence and not once per stream. The view may
    have another number of channels, ``view_dim``, than the streams.
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
        rows, heads, length, dim = queries.shape
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
        """One decoding step: (R, 1, C) at ``position`` against what is in the cache for the
        layer."""
        queries = self._rotate(self._heads(self.q_proj(x)), position)
        return self._attend_once(queries, cache, layer)
