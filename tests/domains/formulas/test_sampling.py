"""Random strings and formulas of given length and number of symbols."""

from itertools import product
from random import Random

import pytest

from sit_fairseq.datasets.sampling import SymbolSequences
from sit_fairseq.domains.formulas.sampling import FormulaSampler
from sit_fairseq.domains.formulas.syntax import check_formula, formula_symbols
from sit_fairseq.domains.prop.propositional import RANDOM_OPERATORS


@pytest.mark.parametrize(
    "k, length", [(0, 0), (0, 2), (1, 1), (1, 4), (2, 4), (3, 3), (3, 6), (4, 3)]
)
def test_sequences_are_counted(k, length):
    names = "abcd"[:k]
    expected = sum(set(x) == set(names) for x in product(names, repeat=length))
    assert SymbolSequences(k).count(length) == expected


@pytest.mark.parametrize(
    "length, k", [(1, 0), (1, 1), (2, 1), (19, 10), (50, 0), (50, 1), (50, 10)]
)
def test_rare_formulas_come_at_once(length, k):
    rng = Random(4)
    sampler = FormulaSampler(RANDOM_OPERATORS, "abcdefghij")
    names = list("abcdefghij"[:k])
    for _ in range(20):
        formula = sampler.draw(rng, length, names)
        check_formula(formula)
        assert len(formula) == length and sorted(formula_symbols(formula)) == names


def test_long_sequences():
    rng = Random(2)
    for k, length in ((160, 160), (160, 161), (1, 500), (100, 400)):
        names = [f"p{i}" for i in range(k)]
        tokens = SymbolSequences(k).draw(rng, length, names)
        assert len(tokens) == length and set(tokens) == set(names)
