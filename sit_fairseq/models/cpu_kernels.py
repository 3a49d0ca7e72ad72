"""Kernels for CPUs: what PyTorch computes slowly where rows are many and short.

Under ``torch.autocast("cpu", torch.bfloat16)`` the factors of products are rounded and nothing
else: what comes in and goes out is float32, so that sums, norms and softmax keep their digits.

Shapes: R rows, H heads, T queries, U keys, D channels of a head; C channels, F channels of a
product or hidden ones.
"""

from typing import Callable, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# Up to this many keys the explicit product beats PyTorch's tiled CPU kernel, forward and
# backward (measured with 16 channels per head); its memory grows with T * U.
_EXPLICIT_KEYS = 31

# A CPU's softmax along the last axis is slow where that is shorter than this.
SHORT_AXIS = 16


def attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    mask: Optional[Tensor] = None,
    causal: bool = False,
    dropout_rate: float = 0.0,
) -> Tensor:
    """Scaled dot-product attention.

    Args:
        queries: (R, H, T, D).
        keys: (R, H, U, D).
        values: (R, H, U, D).
        mask: broadcasts to (R, H, T, U), True where attention is allowed; every query
            must be allowed some key.
        causal: query t sees keys 0 .. t only; not together with ``mask``.
        dropout_rate: applied to attention weights.

    Returns:
        (R, H, T, D).
    """
    if not queries.is_cuda and torch.is_autocast_enabled("cpu"):
        # Products as short as these gain nothing from fewer digits, the softmax loses.
        with torch.autocast("cpu", enabled=False):
            return _attention(queries, keys, values, mask, causal, dropout_rate)
    return _attention(queries, keys, values, mask, causal, dropout_rate)


def _attention(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    mask: Optional[Tensor],
    causal: bool,
    dropout_rate: float,
) -> Tensor:
    if queries.is_cuda or keys.size(2) > _EXPLICIT_KEYS:
        return F.scaled_dot_product_attention(
            queries, keys, values, attn_mask=mask, dropout_p=dropout_rate, is_causal=causal
        )
    keys_first = keys.size(2) < SHORT_AXIS
    if keys_first:
        scores = torch.matmul(keys * keys.size(3) ** -0.5, queries.transpose(2, 3))
    else:
        scores = torch.matmul(queries * keys.size(3) ** -0.5, keys.transpose(2, 3))
    if causal:
        mask = torch.ones(keys.size(2), keys.size(2), dtype=torch.bool).tril()
    if mask is not None:
        # Added, because masking by a condition is slow too.
        bias = torch.zeros(mask.shape, dtype=scores.dtype).masked_fill_(~mask, -torch.inf)
        scores += bias.mT if keys_first else bias
    weights = dropout(scores.softmax(2 if keys_first else 3), dropout_rate)
    return torch.matmul(weights.mT if keys_first else weights, values)


def weighted_sums(table: Tensor, index: Tensor, weights: Tensor) -> Tensor:
    """Sums of rows of a table, which are not copied together first.

    Args:
        table: (E, D).
        index: (G, T) rows of the table.
        weights: (G, T) of the rows.

    Returns:
        (G, D).
    """
    weights = weights.to(table.dtype)  # autocast computes a softmax in float32
    return F.embedding_bag(index, table, per_sample_weights=weights, mode="sum")


def dropout(x: Tensor, rate: float) -> Tensor:
    """Zeroes a share ``rate`` of the entries and scales up the rest (in training only:
    callers pass 0 otherwise)."""
    if rate == 0.0:
        return x
    if x.is_cuda or rate > 0.99:  # too close to 1 for the bits below
        return F.dropout(x, rate)
    return _Dropout.apply(x, rate)


class _Dropout(torch.autograd.Function):
    """Decides by 16 random bits per entry, drawn 64 at a time: five times faster than
    PyTorch's Bernoulli draws. The rate is exact to 2^-16."""

    @staticmethod
    def forward(ctx, x: Tensor, rate: float) -> Tensor:
        words = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
        bits = words.view(torch.int16)[: x.numel()].view(x.shape)
        ctx.rate = rate
        ctx.save_for_backward(bits)
        return _kept(x, bits, rate)

    @staticmethod
    def backward(ctx, grad: Tensor):
        return _kept(grad, *ctx.saved_tensors, ctx.rate), None


def _kept(x: Tensor, bits: Tensor, rate: float) -> Tensor:
    """Dropout by given bits. They are compared as float32, which a CPU does faster than as
    integers, and multiplies by faster than by booleans."""
    keep = bits.float().ge_(round(rate * 2**16) - 2**15)
    return keep.to(x.dtype).mul_(x).mul_(1.0 / (1.0 - rate))


# With fewer rows oneDNN costs more than it saves.
_LEAST_ROWS = 128

# So many rows of hidden channels stay in a core's cache.
_BLOCK = 512


def _onednn() -> Optional[Callable]:
    """oneDNN's product with a weight, as ``torch.compile`` calls it; None where MKL is as good."""
    if torch.backends.mkldnn.is_available() and torch.backends.cpu.get_cpu_capability() == "AVX512":
        operator = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
        return operator and operator.default
    return None


ONEDNN = _onednn()


class Linear(nn.Linear):
    """``nn.Linear``, whose products of many rows on a CPU are oneDNN's."""

    def forward(self, x: Tensor) -> Tensor:
        """Maps (..., C) to (..., F); float32 stays float32 under autocast on a CPU."""
        rows = x.numel() // x.size(-1)
        dtype = _inner_dtype(x)
        if x.is_cuda or x.dtype != torch.float32:
            return super().forward(x)
        if rows < _LEAST_ROWS or (ONEDNN is None and dtype == torch.float32):
            with torch.autocast("cpu", enabled=False):
                return super().forward(x)
        out = _Linear.apply(x.reshape(rows, -1), self.weight, self.bias, dtype)
        return out.view(*x.shape[:-1], -1)


def feed_forward(
    x: Tensor,
    fc1: nn.Linear,
    fc2: nn.Linear,
    activation: Callable[[Tensor], Tensor],
    dropout_rate: float = 0.0,
) -> Tensor:
    """``fc2(dropout(activation(fc1(x))))``.

    Args:
        x: (..., C).
        fc1: C to F channels; one of torch's own is left to torch, and so is ``fc2`` then.
        fc2: F to C channels.
        activation: elementwise.
        dropout_rate: applied to hidden channels.

    Returns:
        (..., C).
    """
    if x.is_cuda or dropout_rate or not isinstance(fc1, Linear):
        return fc2(dropout(activation(fc1(x)), dropout_rate))
    weights = (fc1.weight, fc1.bias, fc2.weight, fc2.bias)
    out = _FeedForward.apply(x.reshape(-1, x.size(-1)), *weights, activation, _inner_dtype(x))
    return out.view(x.shape)


def _inner_dtype(x: Tensor) -> torch.dtype:
    """What the factors of a product with ``x`` are rounded to."""
    rounded = torch.is_autocast_enabled("cpu") and x.dtype == torch.float32
    return torch.get_autocast_dtype("cpu") if rounded else x.dtype


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, dtype) -> Tensor:
        rows, x = x.size(0), _padded(x, dtype)
        ctx.save_for_backward(x, weight)
        out = _product(x, weight.to(dtype), bias.to(dtype))
        return out[:rows].to(weight.dtype)

    @staticmethod
    def backward(ctx, grad: Tensor):
        x, weight = ctx.saved_tensors
        grad_bias, rows = grad.sum(0), grad.size(0)
        grad = _padded(grad, x.dtype)
        grad_x = _product(grad, weight.to(x.dtype).t())[:rows]
        grad_weight = _gradient(grad, x)
        return grad_x.to(weight.dtype), grad_weight.to(weight.dtype), grad_bias, None


class _FeedForward(torch.autograd.Function):
    """A block of rows at a time, whose hidden channels are computed again for the
    gradients: fresh memory for all of them costs a CPU as much time as the product."""

    @staticmethod
    def forward(ctx, x, weight1, bias1, weight2, bias2, activation, dtype) -> Tensor:
        ctx.save_for_backward(x, weight1, bias1, weight2)
        ctx.activation, ctx.dtype = activation, dtype
        weight1, bias1, weight2, bias2 = (t.to(dtype) for t in (weight1, bias1, weight2, bias2))
        out = torch.empty_like(x)
        for rows, result in zip(x.split(_BLOCK), out.split(_BLOCK)):
            hidden, _ = _hidden(_padded(rows, dtype), weight1, bias1, activation)
            result.copy_(_product(hidden, weight2, bias2)[: rows.size(0)])
        return out

    @staticmethod
    def backward(ctx, grad: Tensor):
        x, *weights = ctx.saved_tensors
        weight1, bias1, weight2 = (t.to(ctx.dtype) for t in weights)
        grad_x = torch.empty_like(x)
        grad_weight1, grad_bias1, grad_weight2 = map(torch.zeros_like, weights)
        for rows, result, grad_out in zip(*(t.split(_BLOCK) for t in (x, grad_x, grad))):
            rows, grad_out = _padded(rows, ctx.dtype), _padded(grad_out, ctx.dtype)
            hidden, derivative = _hidden(rows, weight1, bias1, ctx.activation)
            grad_weight2 += _gradient(grad_out, hidden)
            inner = derivative(_product(grad_out, weight2.t()))
            grad_weight1 += _gradient(inner, rows)
            grad_bias1 += inner.sum(0)
            result.copy_(_product(inner, weight1.t())[: result.size(0)])
        return grad_x, grad_weight1, grad_bias1, grad_weight2, grad.sum(0), None, None


def _hidden(
    x: Tensor, weight: Tensor, bias: Tensor, activation: Callable[[Tensor], Tensor]
) -> Tuple[Tensor, Callable[[Tensor], Tensor]]:
    """(R, F) activated channels, and what takes their gradient to that of the product."""
    if activation is F.relu:
        hidden = _product(x, weight, bias, "relu")
        return hidden, lambda grad: torch.ops.aten.threshold_backward(grad, hidden, 0)
    before = _product(x, weight, bias).requires_grad_()
    with torch.enable_grad():
        hidden = activation(before)
    return hidden.detach(), lambda grad: torch.autograd.grad(hidden, before, grad)[0]


def _padded(x: Tensor, dtype: torch.dtype) -> Tensor:
    """``x`` with rows of zeros up to one of few numbers, since oneDNN compiles a program for
    every new shape, which takes as long as the product itself."""
    rows = x.size(0)
    missing = -rows % max(64, 2 ** (rows.bit_length() - 4))
    if not missing or not _by_onednn(dtype):
        return x.to(dtype)
    padded = torch.empty(rows + missing, x.size(1), dtype=dtype)
    padded[:rows] = x
    padded[rows:] = 0
    return padded


def _by_onednn(dtype: torch.dtype) -> bool:
    return dtype == torch.bfloat16 or (dtype == torch.float32 and ONEDNN is not None)


def _product(
    x: Tensor, weight: Tensor, bias: Optional[Tensor] = None, activation: str = "none"
) -> Tensor:
    """(R, C) x and (F, C) weight to (R, F); ``activation`` may be ``relu``."""
    if ONEDNN is not None and _by_onednn(x.dtype):
        return ONEDNN(x, weight, bias, activation, [], "")
    out = F.linear(x, weight, bias)
    return out.relu_() if activation == "relu" else out


def _gradient(grad: Tensor, x: Tensor) -> Tensor:
    """(F, C) gradient of a weight, from (R, F) and (R, C)."""
    if grad.size(1) > x.size(1):  # faster with the longer side as columns
        return _gradient(x, grad).t()
    if x.dtype == torch.bfloat16:
        return torch.mm(grad.t(), x)
    return _product(grad.t(), x.t())
