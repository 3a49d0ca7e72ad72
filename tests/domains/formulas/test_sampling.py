"""Random strings and formulas of given length and number of symbols."""

from collections import Counter
from itertools import product
from random import Random

import pytest
from generated import homogeneous

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


def test_all_sequences_are_as_likely():
    rng = Random(1)
    sequences = SymbolSequences(3)
    drawn = Counter("".join(sequences.draw(rng, 5, "abc")) for _ in range(15000))
    possible = ["".join(x) for x in product("abc", repeat=5) if len(set(x)) == 3]
    assert set(drawn) == set(possible) and len(possible) == 150
    statistic = sum((drawn[x] - 100) ** 2 / 100 for x in possible)
    assert statistic < 149 + 4 * (2 * 149) ** 0.5


def test_the_comparison_notices_other_distributions():
    rng = Random(3)
    samplers = [FormulaSampler(RANDOM_OPERATORS, "abcdefghij"[:n_symbols]) for n_symbols in (1, 10)]
    first, second = (
        Counter(" ".join(sampler.draw(rng, 4, ["a"])) for _ in range(10000)) for sampler in samplers
    )
    assert not homogeneous(first, second)


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
