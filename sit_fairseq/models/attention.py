"""Multi-head attention over packed streams, with rotary positions.

Shapes: R rows (streams or hypotheses), T query positions, U key positions, C channels,
H heads, D = C / H channels of a head. Masks are True where attention is allowed.
"""

from dataclasses import dataclass
from typing import Any, Callable, NamedTuple, Optional, Sequence, Tuple, Union

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sit_fairseq.models.cpu_kernels import Linear, attention
from sit_fairseq.symbols.rows import Places
from sit_fairseq.symbols.streams import Streams

# (R, H, T, D) queries, (R, H, U, D) keys and values, and a mask -> (R, H, T, D).
Kernel = Callable[..., Tensor]


class KeysValues(NamedTuple):
    """Projected keys (rotated where positions are rotary) and values, (R, H, U, D)."""

    keys: Tensor
    values: Tensor


# Queries, and keys and values with them.
Projected = Tuple[Tensor, Optional[KeysValues]]


@dataclass(frozen=True)
class Sequences:
    """The keys and values of a layer's attentions if all positions are there at once.

    A memory says which keys and values each row attends to. It has the ``position`` of the tokens,
    the ``places`` of the queries, see :class:`Rotary`, and three methods, which attend from
    (N*K, H, T, D) queries by a ``kernel``. Its ``ready`` queries, keys and values are not computed
    again by the layer's per-stream self-attention.
    :class:`~sit_fairseq.models.cache.LayerMemory` is that of a step of a search.

    Attributes:
        streams: the layout of the rows.
        mask: (N, 1, 1, T) True at real tokens; None if all are real.
        causal: whether later positions are hidden; not together with ``mask``.
        cross: the cross-attentions in their order, ``"CP"`` or ``"CA"``.
        views: keys and values of each, over streams (CP) or sentences (CA).
        view_mask: (N, 1, 1, U) True at real tokens of the source; None if all are real.
        position: of the first token, or of all (B*K).
        places: the same for the queries (N*K).
    """

    streams: Streams
    mask: Optional[Tensor] = None
    causal: bool = False
    cross: Sequence[str] = ()
    views: Sequence[KeysValues] = ()
    view_mask: Optional[Tensor] = None
    position: Union[int, Places] = 0
    places: Union[int, Places] = 0
    ready: Optional[Projected] = None

    def own(self, queries: Tensor, new: KeysValues, kernel: Kernel) -> Tensor:
        """Attends within each row."""
        return kernel(queries, *new, mask=self.mask, causal=self.causal)

    def aggregated(self, queries: Tensor, new: KeysValues, kernel: Kernel) -> Tensor:
        """Attends to the aggregated view of each hypothesis."""
        return kernel(queries, *self._expand(new), mask=self.mask, causal=self.causal)

    def source(self, number: int, queries: Tensor, kernel: Kernel) -> Tensor:
        """Attends to the view of the cross-attention of this number."""
        view, hypotheses = self.views[number], self.streams.hypotheses
        if self.cross[number] == "CA":
            view = self._expand(view)
        return attend_folded(queries, view, kernel, hypotheses, self.view_mask)

    def _expand(self, view: KeysValues) -> KeysValues:
        return KeysValues(*map(self.streams.expand, view))


def attend_folded(
    queries: Tensor, view: KeysValues, kernel: Kernel, hypotheses: int, mask: Optional[Tensor]
) -> Tensor:
    """Attends from (N*K, H, T, D) queries to N keys and values, which K hypotheses share."""
    if hypotheses == 1:
        return kernel(queries, *view, mask=mask)
    # The hypotheses become query positions: no copy of keys and values.
    length = queries.size(2)
    queries = queries.unflatten(0, (-1, hypotheses)).transpose(1, 2).flatten(2, 3)
    attended = kernel(queries, *view, mask=mask)  # N x H x K*T x D
    return attended.unflatten(2, (hypotheses, length)).transpose(1, 2).flatten(0, 1)


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

    def _rotate(self, x: Tensor, offset: Union[int, Places]) -> Tensor:
        return x if self.rotary is None else self.rotary(x, offset)

    def _kernel(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        *,
        mask: Optional[Tensor] = None,
        causal: bool = False,
    ) -> Tensor:
        rate = self.dropout if self.training else 0.0
        return attention(queries, keys, values, mask=mask, causal=causal, dropout_rate=rate)

    def _output(self, attended: Tensor) -> Tensor:
        return self.out_proj(attended.transpose(1, 2).flatten(2))  # -> R x T x C


class StreamSelfAttention(_Attention):
    """Per-stream self-attention: each stream attends to itself alone (EP, DP)."""

    def __init__(self, embed_dim: int, num_heads: int, *, dropout: float, rotary: bool) -> None:
        super().__init__(embed_dim, num_heads, dropout=dropout, rotary=rotary)
        self.qkv_proj = Linear(embed_dim, 3 * embed_dim)

    def forward(self, x: Tensor, memory: Any) -> Tensor:
        """Attends within each row of ``x`` (R, T, C), see :class:`Sequences`."""
        queries, new = memory.ready or self.project(x, memory.places)
        return self._output(memory.own(queries, new, self._kernel))

    def project(self, x: Tensor, places: Union[int, Places]) -> Projected:
        """(R, H, T, D) queries, keys and values of (R, T, C), whose positions :class:`Rotary` reads."""
        queries, keys, values = (self._heads(part) for part in self.qkv_proj(x).chunk(3, dim=2))
        return self._rotate(queries, places), KeysValues(self._rotate(keys, places), values)


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

    def project(self, view: Tensor, offset: Union[int, Places] = 0) -> KeysValues:
        """Projects a view (R, U, ``view_dim``), whose positions :class:`Rotary` reads."""
        keys, values = (self._heads(p) for p in self.kv_proj(view).chunk(2, dim=2))
        return KeysValues(self._rotate(keys, offset), values)

    def to_aggregate(self, x: Tensor, view: Tensor, memory: Any) -> Tensor:
        """Attends from (N*K, T, C) streams to their aggregated view (B*K, T, C)."""
        new = self.project(view, memory.position)
        return self._output(memory.aggregated(self._queries(x, memory), new, self._kernel))

    def to_source(self, x: Tensor, number: int, memory: Any) -> Tensor:
        """Attends from (N*K, T, C) streams to the source, by the cross-attention of this number."""
        return self._output(memory.source(number, self._queries(x, memory), self._kernel))

    def _queries(self, x: Tensor, memory: Any) -> Tensor:
        return self._rotate(self._heads(self.q_proj(x)), memory.places)


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

    def forward(self, x: Tensor, offset: Union[int, Places] = 0) -> Tensor:
        """Rotates the vector at index t of (..., T, D) by position ``offset + t``, or by its place."""
        placed, size = isinstance(offset, Places), self._cos.size(0)
        end = offset.end if placed else offset + x.size(-2)
        if size < end or self._cos.dtype != x.dtype or self._cos.device != x.device:
            with torch.inference_mode(False):  # what is kept may be trained with later
                self._build(size if end <= size else max(end, 2 * size), x)
        if not placed:
            cos, sin = self._cos[offset:end], self._sin[offset:end]
        elif (self.head_dim, x.dtype) in offset.found:
            cos, sin = offset.found[self.head_dim, x.dtype]
        else:
            cos, sin = (
                F.embedding(offset.position, t).unsqueeze(1) for t in (self._cos, self._sin)
            )
            offset.found[self.head_dim, x.dtype] = cos, sin
        return _Rotate.apply(x, cos, sin) if x.requires_grad else _rotate(x, cos, sin)

    def _build(self, length: int, like: Tensor) -> None:
        exponent = (
            torch.arange(0, self.head_dim, 2, dtype=torch.float64, device="cpu") / self.head_dim
        )
        angle = torch.outer(
            torch.arange(length, dtype=torch.float64, device="cpu"), self.BASE**-exponent
        )
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
