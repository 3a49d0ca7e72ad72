"""Products with weight matrices, dropout and attention, against those of PyTorch."""

import pytest
import torch
import torch.nn.functional as F

from sit_fairseq.models.cpu_kernels import Linear, attention, dropout, weighted_sums


def heads(length, rows=3, dtype=torch.float64):
    return torch.randn(rows, 2, length, 4, dtype=dtype, requires_grad=True)


# Both sides of the length at which the implementation changes.
LENGTHS = [(1, 7), (7, 7), (5, 31), (3, 32), (1, 40), (40, 40)]
KINDS = ("plain", "mask", "causal")


@pytest.mark.parametrize(
    "queries, keys, kind",
    [(q, k, kind) for q, k in LENGTHS for kind in KINDS if kind != "causal" or q == k],
)
def test_attention_values_and_gradients(queries, keys, kind):
    q, k, v = heads(queries), heads(keys), heads(keys)
    mask = torch.rand(3, 1, 1, keys) > 0.4 if kind == "mask" else None
    if mask is not None:
        mask[..., 0] = True
    found = attention(q, k, v, mask=mask, causal=kind == "causal")
    expected = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=kind == "causal")
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    weight = torch.randn_like(found)
    for one, other in zip(
        torch.autograd.grad((weight * found).sum(), (q, k, v)),
        torch.autograd.grad((weight * expected).sum(), (q, k, v)),
    ):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


def test_weighted_sums():
    table, weights = torch.randn(5, 3), torch.randn(2, 4)
    index = torch.tensor([[0, 4, 4, 1], [2, 2, 2, 3]])
    expected = (table[index] * weights.unsqueeze(2)).sum(1)
    torch.testing.assert_close(weighted_sums(table, index, weights), expected)


def test_attention_drops_weights():
    """With values of one, each output is the sum of the weights that were kept."""
    q, k = heads(50, rows=40), heads(6, rows=40)
    sums = attention(q, k, torch.ones(40, 2, 6, 4).double(), dropout_rate=0.3)
    assert sums.std() > 0.1 and sums.mean().item() == pytest.approx(1.0, abs=0.02)


@pytest.mark.parametrize("rate, size", [(0.1, 200_001), (0.5, 200_002), (0.9, 200_003)])
def test_dropout_keeps_the_right_share(rate, size):
    found = dropout(torch.ones(size), rate)
    kept = found != 0
    assert kept.double().mean().item() == pytest.approx(1 - rate, abs=0.006)
    torch.testing.assert_close(found[kept], torch.full_like(found[kept], 1 / (1 - rate)))
    # Neighbours are independent: they come from the same random word.
    assert (kept[1:] & kept[:-1]).double().mean().item() == pytest.approx((1 - rate) ** 2, abs=0.01)


def test_dropout_drops_the_same_gradients():
    x = torch.randn(5, 7, dtype=torch.float64, requires_grad=True)
    found = dropout(x, 0.4)
    (gradient,) = torch.autograd.grad(found.sum(), x)
    torch.testing.assert_close(gradient * x, found)
    assert bool((gradient == 0).any()) and bool((gradient != 0).any())


def test_no_dropout_is_the_identity():
    x = torch.randn(3)
    assert dropout(x, 0.0) is x


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_dtype_is_kept(dtype):
    assert dropout(torch.ones(9, dtype=dtype), 0.3).dtype == dtype
    q = heads(4, dtype=dtype)
    assert attention(q, q, q, causal=True, dropout_rate=0.1).dtype == dtype


def test_attention_keeps_its_digits_under_autocast():
    q, k, v = (heads(7, dtype=torch.float32) for _ in range(3))
    expected = attention(q, k, v, causal=True)
    with torch.autocast("cpu", torch.bfloat16):
        found = attention(q, k, v, causal=True)
    assert torch.equal(found, expected)


# What rounding explains, of the norm; it may turn a unit of relu off.
ROUNDING = {None: 1e-5, torch.bfloat16: 0.1}


def error(found, expected):
    assert found.dtype == expected.dtype == torch.float32
    return ((found - expected).norm() / expected.norm()).item()


def compare(function, reference, inputs, autocast):
    """Values and gradients of two functions, the first under autocast if asked for."""
    with torch.autocast("cpu", autocast, enabled=autocast is not None):
        found = function()
    expected = reference()
    assert error(found, expected) < ROUNDING[autocast]
    assert not autocast or error(found, expected) > 1e-4
    weight = torch.randn_like(expected)
    for one, other in zip(
        torch.autograd.grad((weight * found).sum(), inputs),
        torch.autograd.grad((weight * expected).sum(), inputs),
    ):
        assert error(one, other) < ROUNDING[autocast]


@pytest.mark.parametrize("autocast", [None, torch.bfloat16])
def test_linear_values_and_gradients(autocast):
    x, layer = torch.randn(391, 24, requires_grad=True), Linear(24, 40)
    inputs = (x, *layer.parameters())
    compare(lambda: layer(x), lambda: F.linear(x, *layer.parameters()), inputs, autocast)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_models_are_left_to_pytorch(dtype):
    x, layer = torch.randn(300, 24, dtype=dtype), Linear(24, 40).to(dtype)
    with torch.autocast("cpu", torch.bfloat16, enabled=dtype == torch.float64):
        found = layer(x)
        expected = F.linear(x, layer.weight, layer.bias)
    assert torch.equal(found, expected) and found.dtype == dtype
