"""Multi-head attention, and what it sees: the entries of a memory.

Shapes: R rows of hidden states (of streams, or of sequences), K hypotheses of each sentence, T query
positions, U key positions, C channels, H heads, D = C / H channels of a head. Masks are True where
attention is allowed.
"""

from dataclasses import dataclass
from typing import Any, Callable, Dict, NamedTuple, Optional, Protocol, Sequence, Tuple, Union

import torch
from torch import Tensor, nn

from sit_fairseq.models.cpu_kernels import Linear, attention
from sit_fairseq.symbols.streams import Continuation, Streams

# (R, H, T, D) queries, (R, H, U, D) keys and values, and a mask -> (R, H, T, D).
Kernel = Callable[..., Tensor]

# Of the angles of rotations.
_BASE = 10000.0


class KeysValues(NamedTuple):
    """Projected keys (rotated where positions are rotary) and values, (R, H, U, D)."""

    keys: Tensor
    values: Tensor

    def map(self, change: Callable[[Tensor], Tensor]) -> "KeysValues":
        """Both changed alike."""
        return KeysValues(change(self.keys), change(self.values))


class Rotation(NamedTuple):
    """Turns queries and keys by their positions (RoPE, Su et al. 2021), half against half of the
    channels. Cosines and sines are (R, 1, T, D), or (1, 1, T, D) where all rows share positions."""

    cos: Tensor
    sin: Tensor

    @classmethod
    def by(cls, position: Tensor, head_dim: int, dtype: torch.dtype) -> "Rotation":
        """The rotation by (R, T) positions, for an even D."""
        channels = torch.arange(0, head_dim, 2, dtype=torch.float64, device=position.device)
        angle = position.unsqueeze(2) * _BASE ** -(channels / head_dim)
        cos, sin = angle.cos().to(dtype), angle.sin().to(dtype)
        return cls(torch.cat((cos, cos), 2).unsqueeze(1), torch.cat((-sin, sin), 2).unsqueeze(1))

    def __call__(self, x: Tensor) -> Tensor:
        """(R, H, T, D) -> (R, H, T, D)."""
        cos, sin = self.cos.to(x.dtype), self.sin.to(x.dtype)  # autocast narrows x alone
        return _Rotate.apply(x, cos, sin) if x.requires_grad else _rotate(x, cos, sin)


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


# What one attention of each layer sees. Called with the number of a layer, its (R, H, T, D) queries, its
# kernel, and new keys and values (none in a cross-attention), it returns what the queries attend to.
Entries = Callable[[int, Tensor, Kernel, Optional[KeysValues]], Tensor]


@dataclass(frozen=True, eq=False)
class AtOnce:
    """Keys and values that are all there: the new ones, or those of sources that K hypotheses share.

    Attributes:
        mask: (R, 1, T or 1, U), with K > 1 for R / K rows of K T queries; None if all are seen.
        causal: whether later positions are hidden; not together with ``mask``.
        expand: repeats keys and values of sentences or sequences for their rows.
        layers: keys and values of sources, by layer; None for the new ones.
        hypotheses: K.
    """

    mask: Optional[Tensor] = None
    causal: bool = False
    expand: Optional[Callable[[Tensor], Tensor]] = None
    layers: Union[None, Sequence[KeysValues], Dict[int, KeysValues]] = None
    hypotheses: int = 1

    def __call__(
        self, layer: int, queries: Tensor, kernel: Kernel, new: Optional[KeysValues] = None
    ) -> Tensor:
        view, length = new if self.layers is None else self.layers[layer], queries.size(2)
        view = view if self.expand is None else view.map(self.expand)
        if self.hypotheses == 1:
            return kernel(queries, *view, mask=self.mask, causal=self.causal)
        # The hypotheses become query positions: no copy of keys and values.
        queries = queries.unflatten(0, (-1, self.hypotheses)).transpose(1, 2).flatten(2, 3)
        attended = kernel(queries, *view, mask=self.mask)  # R/K x H x K*T x D
        return attended.unflatten(2, (self.hypotheses, length)).transpose(1, 2).flatten(0, 1)


class Layout(Protocol):
    """Says which rows of hidden states stand for the T tokens of sequences.

    Attributes:
        canonical: (B*K, T) canonical ids.
        streams: of the sequences.
        padding: (B*K, T) True at padding; None where no sequence is padded.
    """

    canonical: Tensor
    streams: Streams
    padding: Optional[Tensor]

    def to(self, device: torch.device, non_blocking: bool = True) -> "Layout":
        """The layout, made on the CPU, for tensors of a device."""

    def select(self, to: Continuation) -> Tuple["Layout", Tensor]:
        """The layout of the sentences that go on, with one hypothesis each, and which rows are kept."""

    def vectors(self) -> Tensor:
        """(R, T') the index in the matrix of embeddings that each begins with (Algorithm 1)."""

    def spread(self, x: Tensor) -> Tensor:
        """(B*K, T, ...) of tokens to (R, T', ...) of rows; (1, T, ...) stands for all sequences."""

    def aggregate(self, hidden: Tensor) -> Tensor:
        """(R, T', C) hidden states to their (B*K, T, C) aggregated view (Algorithm 2)."""

    def at_once(self, causal: bool) -> Sequence[AtOnce]:
        """The entries of per-stream and of aggregated attention if all tokens are there."""


@dataclass(frozen=True, eq=False)
class Seen:
    """The entries that the attentions of a stack see.

    Attributes:
        layout: of the rows.
        position: (B*K, T) of the tokens, or (1, T) of all.
        own, aggregated: the entries of per-stream and of aggregated attention.
        source: those of each cross-attention.
        queries, tokens: the rotations of rows and of the aggregated view; None if none is rotary.
        spread: turns hidden states of rows into those of streams, which then attend. What follows
            needs other ``queries``, ``aggregated`` and ``source``. None if rows attend.
    """

    layout: Layout
    position: Tensor
    own: Entries
    aggregated: Entries
    source: Sequence[Entries] = ()
    queries: Optional[Rotation] = None
    tokens: Optional[Rotation] = None
    spread: Optional[Callable[[Tensor], Tensor]] = None


class _Attention(nn.Module):
    """Heads, their rotation, and the output projection."""

    def __init__(self, embed_dim: int, num_heads: int, *, dropout: float) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.dropout = dropout
        self.out_proj = Linear(embed_dim, embed_dim)

    def _heads(self, x: Tensor, rotation: Optional[Rotation] = None) -> Tensor:
        x = x.unflatten(2, (self.num_heads, -1)).transpose(1, 2)  # -> R x H x T x D
        return x if rotation is None else rotation(x)

    def _kernel(self, queries: Tensor, keys: Tensor, values: Tensor, **seen: Any) -> Tensor:
        rate = self.dropout if self.training else 0.0
        return attention(queries, keys, values, dropout_rate=rate, **seen)

    def _output(self, attended: Tensor) -> Tensor:
        return self.out_proj(attended.transpose(1, 2).flatten(2))  # -> R x T x C


class StreamSelfAttention(_Attention):
    """Per-stream self-attention: each stream attends to itself alone (EP, DP)."""

    def __init__(self, embed_dim: int, num_heads: int, *, dropout: float) -> None:
        super().__init__(embed_dim, num_heads, dropout=dropout)
        self.qkv_proj = Linear(embed_dim, 3 * embed_dim)

    def forward(self, x: Tensor, seen: Seen, layer: int) -> Tensor:
        """Attends within the stream of each row of ``x`` (R, T, C)."""
        queries, keys, values = self.qkv_proj(x).chunk(3, dim=2)
        queries, keys = (self._heads(part, seen.queries) for part in (queries, keys))
        new = KeysValues(keys, self._heads(values))
        return self._output(seen.own(layer, queries, self._kernel, new))


class ViewAttention(_Attention):
    """Attention of every stream to a view beside its own sequence: the aggregation of all streams (EA,
    DA, CA) or the encoder's stream of the same symbol (CP). Keys and values are projected once per row
    of the view, that of an aggregated one once per sentence. It has ``view_dim`` channels."""

    def __init__(self, embed_dim: int, num_heads: int, *, view_dim: int, dropout: float) -> None:
        super().__init__(embed_dim, num_heads, dropout=dropout)
        self.q_proj = Linear(embed_dim, embed_dim)
        self.kv_proj = Linear(view_dim, 2 * embed_dim)

    def project(self, view: Tensor, rotation: Optional[Rotation]) -> KeysValues:
        """Projects a view (R, U, ``view_dim``), whose positions turn the keys."""
        keys, values = self.kv_proj(view).chunk(2, dim=2)
        return KeysValues(self._heads(keys, rotation), self._heads(values))

    def forward(
        self, x: Tensor, seen: Seen, layer: int, entries: Entries, new: Optional[KeysValues] = None
    ) -> Tensor:
        """Attends from the rows of ``x`` (R, T, C) to the entries of a view, which ``new`` joins."""
        queries = self._heads(self.q_proj(x), seen.queries)
        return self._output(entries(layer, queries, self._kernel, new))
