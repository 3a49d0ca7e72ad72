"""Times, operations and memory of things whose cost is known."""

import pytest
import torch
import torch.nn.functional as F

from sit_fairseq.benchmark.measuring import (
    interleaved,
    matrix_product,
    medians,
    operations,
    peak_memory,
)

CPU = torch.device("cpu")
MIB = 2**20


def test_cases_take_turns_and_the_first_round_does_not_count():
    order = []
    cases = {name: lambda name=name: order.append(name) for name in ("one", "two")}
    seconds = interleaved(cases, 3, CPU)
    assert order == ["one", "two"] * 4
    assert {name: len(values) for name, values in seconds.items()} == {"one": 3, "two": 3}


def test_medians():
    assert medians({"a": [3.0, 1.0, 2.0], "b": [5.0]}) == {"a": 2.0, "b": 5.0}


def test_operations_of_products():
    product = matrix_product(3, 5, 7, 11, CPU, torch.float32)
    assert operations(product) == 11 * 2 * 3 * 5 * 7


def test_operations_of_fused_attention_are_those_of_two_products():
    queries, keys = torch.randn(2, 3, 40, 8), torch.randn(2, 3, 50, 8)
    found = operations(lambda: F.scaled_dot_product_attention(queries, keys, keys))
    assert found == 2 * (2 * 2 * 3 * 40 * 50 * 8)


def allocating(mebibytes: int):
    """Needs that much, after it has had twice as much and given it back."""
    torch.ones(2 * mebibytes * MIB, dtype=torch.uint8)
    return lambda: torch.ones(mebibytes * MIB, dtype=torch.uint8), CPU


def test_peak_memory():
    assert peak_memory(allocating, 64) == pytest.approx(64 * MIB, rel=0.1)
