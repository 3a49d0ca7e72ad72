"""Positions: those in trees against the recursive definition, and those of fairseq's transformer,
counted as fairseq counts them."""

import math
import random

import literal
import pytest
import torch
from conftest import encode, make_dictionary, make_model, random_formula

from sit_fairseq.domains.formulas.syntax import ARITY
from sit_fairseq.models.positions import TreePositions
from sit_fairseq.symbols.vocabulary import Vocabulary


def arities(formula):
    return [ARITY.get(token, 0) for token in formula.split()]


def tree_positions(embed_dim, depth=0):
    return TreePositions(Vocabulary(make_dictionary(), arity=ARITY), embed_dim, depth)


def added(positions, formulas):
    """(B, T, C) what is added to the embeddings of formulas with their ``</s>``, of which each
    has one stream."""
    (vocabulary,) = positions._vocabulary
    canonical, _ = vocabulary.read(encode(vocabulary.dictionary, formulas))
    length = torch.tensor([len(formula.split()) for formula in formulas])
    place = torch.arange(canonical.size(1)).unsqueeze(0)
    return positions(place, positions.prepare(canonical, length))


def test_random_formulas_agree_with_the_recursion():
    rng = random.Random(5)
    formulas = [random_formula(rng, "abc", 6) for _ in range(60)] + ["a", "! ! ! ! ! ! b"]
    found = added(tree_positions(16), formulas)
    assert max(len(formula.split()) for formula in formulas) > 30
    for row, formula in zip(found, formulas):
        expected = literal.tree_positions(arities(formula), 16, found.size(1))
        assert torch.equal(row.double(), expected), formula


def test_deepest_formula_that_fits(caplog):
    positions = tree_positions(8)
    assert positions.depth == 4 and positions.projection is None
    assert added(positions, ["! ! ! ! a"])[0, 4].tolist() == [1, 0] * 4
    added(tree_positions(6), ["& & & a b & c d & & e f & g h"])  # operators beside are no depth
    assert not caplog.records


@pytest.mark.parametrize("embed_dim, depth", [(8, 0), (20, 4)])
def test_a_deeper_formula_is_read_by_its_nearest_steps(caplog, embed_dim, depth):
    """It is the fifth step that tells the paths to 'a' and 'b' apart."""
    positions = tree_positions(embed_dim, depth)
    formula = "& ! ! ! ! a ! ! ! ! b"
    found = added(positions, ["a", formula])
    wide = literal.tree_positions(arities(formula), 10, found.size(1))
    cut = torch.zeros(found.size(1), embed_dim, dtype=torch.float64)
    cut[:, :8] = wide[:, :8]
    assert torch.equal(found[1].double(), cut)
    assert torch.equal(found[1, 5], found[1, 10]) and not torch.equal(found[1, 4], found[1, 9])
    (warning,) = caplog.records
    assert "5 operators deep, but tree positions end at 4" in warning.getMessage()
    added(positions, [formula, "! " + formula])
    assert len(caplog.records) == 1


@pytest.mark.parametrize("tokens", [["&"] * 9 + ["a"] * 10, ["!"] * 12 + ["a"]])
def test_larger_depth_is_projected(caplog, tokens):
    """A deeper formula is read as its nearest steps alone would be."""
    positions, formula = tree_positions(8, depth=10), " ".join(tokens)
    found = added(positions, [formula, "| a b"])
    wide = literal.tree_positions(arities(formula), 24, found.size(1)).float()
    torch.testing.assert_close(found[0], wide[:, :20] @ positions.projection.weight.t())
    assert len(caplog.records) == ("!" in tokens)
    # The root of every formula, and what follows the formula, stay zero.
    assert not found[:, 0].any() and not found[1, 3:].any() and found[1, 1].any()


def test_arities_follow_the_rows_of_a_checkpoint():
    other = make_dictionary(list("zyx"), ["xor", "1", "|", "&", "!"], pattern=None)
    vocabulary = Vocabulary(other, arity=ARITY)
    assert vocabulary.arities(torch.arange(4, 11)).tolist() == [0] * 7
    vocabulary.load_state_dict(Vocabulary(make_dictionary()).state_dict())
    tokens = torch.tensor([other.index(token) for token in ["!", "&", "0", "<->", "z"]])
    assert vocabulary.arities(vocabulary.rows(tokens)).tolist() == [1, 2, 0, 2, 0]


def test_sinusoidal_positions_start_after_the_index_of_padding():
    dictionary = make_dictionary()
    model = make_model(dictionary, encoder_positions="sinusoidal")
    place = torch.arange(4).expand(2, 4)
    found = model.encoder.embed_positions(place)
    # Half of the 24 channels are sines, half cosines; the slowest turns 1e-4 as fast.
    for token in range(4):
        for pair in range(12):
            angle = (2 + token) * 10000 ** (-pair / 11)
            expected = [math.sin(angle), math.cos(angle)]
            assert found[0, token, [pair, pair + 12]].tolist() == pytest.approx(expected, abs=1e-6)
    assert torch.equal(found[1], found[0])
