"""Dropout, attention and feed-forward network, faster for many short rows on a CPU.

Shapes: R rows, H heads, T queries, U keys, D channels of a head.
"""

from typing import Callable, Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# Up to this many keys the explicit product beats PyTorch's tiled CPU kernel, forward and
# backward (measured with 16 channels per head); its memory grows with T * U.
_EXPLICIT_KEYS = 31

# A CPU's softmax along the last axis is slow where that is shorter than this.
SHORT_AXIS = 16

# So many rows of hidden channels stay in a core's cache.
_BLOCK = 512


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
        keep = bits >= round(rate * 2**16) - 2**15
        ctx.scale = 1.0 / (1.0 - rate)
        ctx.save_for_backward(keep)
        return (x * keep).mul_(ctx.scale)

    @staticmethod
    def backward(ctx, grad: Tensor):
        (keep,) = ctx.saved_tensors
        return (grad * keep).mul_(ctx.scale), None


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
        fc1: C to F channels.
        fc2: F to C channels.
        activation: elementwise.
        dropout_rate: applied to hidden channels.

    Returns:
        (..., C).
    """
    if x.is_cuda or dropout_rate or torch.is_autocast_enabled(x.device.type):
        return fc2(dropout(activation(fc1(x)), dropout_rate))
    out = _FeedForward.apply(
        x.reshape(-1, x.size(-1)), fc1.weight, fc1.bias, fc2.weight, fc2.bias, activation
    )
    return out.view(x.shape)


class _FeedForward(torch.autograd.Function):
    """A block of rows at a time, whose hidden channels are computed again for the
    gradients: fresh memory for all of them costs a CPU as much time as the product."""

    @staticmethod
    def forward(ctx, x, weight1, bias1, weight2, bias2, activation) -> Tensor:
        ctx.save_for_backward(x, weight1, bias1, weight2)
        ctx.activation = activation
        out = x.new_empty(x.size(0), weight2.size(0))
        for rows, result in zip(x.split(_BLOCK), out.split(_BLOCK)):
            hidden = activation(torch.addmm(bias1, rows, weight1.t()))
            torch.addmm(bias2, hidden, weight2.t(), out=result)
        return out

    @staticmethod
    def backward(ctx, grad: Tensor):
        x, weight1, bias1, weight2 = ctx.saved_tensors
        grad_x = torch.empty_like(x)
        grad_weight1, grad_bias1, grad_weight2 = map(torch.zeros_like, (weight1, bias1, weight2))
        for rows, result, grad_out in zip(*(t.split(_BLOCK) for t in (x, grad_x, grad))):
            with torch.enable_grad():
                before = torch.addmm(bias1, rows, weight1.t()).detach().requires_grad_()
                hidden = ctx.activation(before)
            grad_weight2.addmm_(grad_out.t(), hidden.detach())
            (inner,) = torch.autograd.grad(hidden, before, grad_out @ weight2)
            grad_weight1.addmm_(inner.t(), rows)
            grad_bias1 += inner.sum(0)
            torch.mm(inner, weight1, out=result)
        return grad_x, grad_weight1, grad_bias1, grad_weight2, grad.sum(0), None
