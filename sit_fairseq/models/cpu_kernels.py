"""Kernels for CPUs, where PyTorch is slow on many short rows.

Savings are CPU time on one core with AVX-512, of a training step of 64 formulas of 15 to 30 tokens
with the paper's sizes for propositional logic, or of a search with five beams.

Shapes: R rows, H heads, T queries, U keys, D channels of a head; C and F channels.
"""

from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# Up to this many keys the explicit product beats PyTorch's tiled CPU kernel, forward and
# backward (measured with 16 channels per head); its memory grows with T * U.
_EXPLICIT_KEYS = 31

# A CPU's softmax along the last axis is slow where that is shorter than this: another axis saves 8 %
# of a search.
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
    """Scaled dot-product attention. It saves 2 % of a step in float32, 64 % under autocast.

    Args:
        queries: (R, H, T, D); keys and values are (R, H, U, D).
        mask: broadcasts to (R, H, T, U), True where attention is allowed, for each query somewhere.
        causal: query t sees keys 0 .. t only; not together with ``mask``.
        dropout_rate: applied to attention weights.

    Returns:
        (R, H, T, D).
    """
    if queries.is_cpu and torch.is_autocast_enabled("cpu"):
        # Products as short as these gain nothing from fewer digits, the softmax loses.
        with torch.autocast("cpu", enabled=False):
            return attention(
                queries, keys, values, mask=mask, causal=causal, dropout_rate=dropout_rate
            )
    if not queries.is_cpu or keys.size(2) > _EXPLICIT_KEYS:
        return F.scaled_dot_product_attention(
            queries, keys, values, attn_mask=mask, dropout_p=dropout_rate, is_causal=causal
        )
    keys_first = keys.size(2) < SHORT_AXIS
    if keys_first:
        scores = torch.matmul(keys * keys.size(3) ** -0.5, queries.transpose(2, 3))
    else:
        scores = torch.matmul(queries * keys.size(3) ** -0.5, keys.transpose(2, 3))
    if causal:
        mask = torch.ones(keys.size(2), keys.size(2), dtype=torch.bool, device="cpu").tril()
    if mask is not None:
        # Added, because masking by a condition is slow too.
        bias = torch.zeros(mask.shape, dtype=scores.dtype, device="cpu").masked_fill_(
            ~mask, -torch.inf
        )
        scores += bias.mT if keys_first else bias
    weights = dropout(scores.softmax(2 if keys_first else 3), dropout_rate)
    return torch.matmul(weights.mT if keys_first else weights, values)


def weighted_sums(table: Tensor, index: Tensor, weights: Tensor) -> Tensor:
    """(G, D) sums of (G, T) rows of an (E, D) table by (G, T) weights, without copying the rows together
    first: saves 41 % of a search."""
    weights = weights.to(table.dtype)  # autocast computes a softmax in float32
    return F.embedding_bag(index, table, per_sample_weights=weights, mode="sum")


def dropout(x: Tensor, rate: float) -> Tensor:
    """Zeroes a share ``rate`` of the entries and scales up the rest (in training only:
    callers pass 0 otherwise): saves 12 % of a step at a rate of 0.1."""
    if rate == 0.0:
        return x
    if not x.is_cpu or rate > 0.99:  # too close to 1 for the bits below
        return F.dropout(x, rate)
    return _Dropout.apply(x, rate)


class _Dropout(torch.autograd.Function):
    """Decides by 16 random bits per entry, drawn 64 at a time: five times faster than
    PyTorch's Bernoulli draws. The rate is exact to 2^-16."""

    @staticmethod
    def forward(ctx, x: Tensor, rate: float) -> Tensor:
        words = torch.empty((x.numel() + 3) // 4, dtype=torch.int64, device="cpu").random_(
            -(2**63), None
        )
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


class Linear(nn.Linear):
    """``nn.Linear``, whose results on a CPU keep the type of ``x`` under autocast: norms and
    softmax, which follow, are slower in bfloat16 than the product gains. It saves 7 % of a step."""

    def forward(self, x: Tensor) -> Tensor:
        """Maps (..., C) to (..., F)."""
        out = super().forward(x)
        return out.to(x.dtype) if x.is_cpu else out


def relu_network(first: Linear, second: Linear, x: Tensor) -> Tensor:
    """``second(relu(first(x)))``, (..., C) to (..., C). Under autocast the widest tensor, between
    the two, stays in bfloat16: rounding before ReLU or after it is the same. It saves 12 % of a step.
    """
    out = second(F.relu(nn.Linear.forward(first, x)))
    return out.to(x.dtype) if x.is_cpu else out
