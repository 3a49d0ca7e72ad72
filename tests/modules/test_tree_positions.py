"""Tree positions, against the recursive definition."""

import random

import literal
import pytest
import torch
from conftest import random_formula

from sit_fairseq.logic.syntax import ARITY
from sit_fairseq.models.positions import TreePositions, tree_paths


def arities(formula):
    return [ARITY.get(token, 0) for token in formula.split()]


def batch(formulas):
    """Padded arities, the padding being operators, and lengths."""
    rows = [arities(formula) for formula in formulas]
    width = max(map(len, rows)) + 2
    padded = torch.tensor([row + [2] * (width - len(row)) for row in rows])
    return padded, torch.tensor([len(row) for row in rows])


def test_worked_example():
    paths = tree_paths(*batch(["& ! a | b c"]))[0]
    expected = [[-1, -1], [0, -1], [0, 0], [1, -1], [0, 1], [1, 1], [-1, -1], [-1, -1]]
    assert paths.tolist() == expected


def test_random_formulas_agree_with_the_recursion():
    rng = random.Random(5)
    formulas = [random_formula(rng, "abc", 6) for _ in range(60)] + ["a", "! ! ! ! ! ! b"]
    arity, length = batch(formulas)
    found = TreePositions(16)(tree_paths(arity, length))
    assert max(len(formula.split()) for formula in formulas) > 30
    for row, formula in zip(found, formulas):
        expected = literal.tree_positions(arities(formula), 16, arity.size(1))
        assert torch.equal(row.double(), expected), formula


@pytest.mark.parametrize(
    "wrong",
    [[2, 0], [0, 0], [1, 1], [0, 2, 0], [0, 1], [1, 0, 0], []],
    ids=lambda wrong: str(wrong),
)
def test_malformed(wrong):
    arity = torch.tensor([[0, 0, 0, 0], wrong + [0] * (4 - len(wrong))])
    with pytest.raises(ValueError, match="well-formed"):
        tree_paths(arity, torch.tensor([1, len(wrong)]))


def test_deepest_formula_that_fits():
    positions = TreePositions(8)
    assert positions.depth == 4 and positions.projection is None
    encoding = positions(tree_paths(*batch(["! ! ! ! a"])))
    assert encoding[0, 4].tolist() == [1, 0] * 4
    with pytest.raises(ValueError, match="5 deep, positions allow 4"):
        positions(tree_paths(*batch(["a", "! ! ! ! ! a"])))


def test_odd_width_leaves_the_last_channel_empty():
    encoding = TreePositions(7)(tree_paths(*batch(["! ! ! a"])))
    assert encoding.shape[2] == 7 and encoding[0, 3].tolist() == [1, 0, 1, 0, 1, 0, 0]


def test_smaller_depth_is_enforced_without_a_projection():
    positions = TreePositions(8, depth=2)
    assert positions.projection is None
    with pytest.raises(ValueError, match="3 deep, positions allow 2"):
        positions(tree_paths(*batch(["! ! ! a"])))


def test_larger_depth_is_projected():
    positions = TreePositions(8, depth=10)
    formula = " ".join(["&"] * 9 + ["a"] * 10)
    arity, length = batch([formula, "| a b"])
    found = positions(tree_paths(arity, length))
    wide = literal.tree_positions(arities(formula), 20, arity.size(1)).float()
    expected = wide @ positions.projection.weight.t()
    assert found.shape == (2, arity.size(1), 8)
    torch.testing.assert_close(found[0], expected)
    # The root of every formula, and what follows the formula, stay zero.
    assert not found[:, 0].any() and not found[1, 3:].any() and found[1, 1].any()
