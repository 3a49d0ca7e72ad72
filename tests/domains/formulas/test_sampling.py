"""Random strings and formulas of given length and number of symbols."""

from collections import Counter
from itertools import product
from random import Random

import pytest
from generated import homogeneous

from sit_fairseq.datasets.sampling import SymbolSequences
from sit_fairseq.domains.formulas.sampling import FormulaSampler
from sit_fairseq.domains.formulas.syntax import check_formula, formula_symbols, parse
from sit_fairseq.domains.prop.propositional import RANDOM_OPERATORS, random_formula


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


def test_long_sequences():
    rng = Random(2)
    for k, length in ((160, 160), (160, 161), (1, 500), (100, 400)):
        names = [f"p{i}" for i in range(k)]
        tokens = SymbolSequences(k).draw(rng, length, names)
        assert len(tokens) == length and set(tokens) == set(names)


@pytest.mark.parametrize("n_symbols, length, k", [(2, 4, 1), (3, 5, 2), (4, 4, 2), (1, 3, 0)])
def test_formulas_are_those_of_the_generator_that_have_the_symbols(n_symbols, length, k):
    rng = Random(3)
    names = list("abcd"[:n_symbols])
    expected: Counter = Counter()
    while sum(expected.values()) < 10000:
        formula = random_formula(rng, length, names)
        if set(formula_symbols(formula)) == set(names[:k]):
            expected[" ".join(formula)] += 1
    sampler = FormulaSampler(RANDOM_OPERATORS, names)
    drawn = Counter(" ".join(sampler.draw(rng, length, names[:k])) for _ in range(10000))
    assert homogeneous(drawn, expected)


def test_the_comparison_notices_other_distributions():
    rng = Random(3)
    samplers = [FormulaSampler(RANDOM_OPERATORS, "abcdefghij"[:n_symbols]) for n_symbols in (1, 10)]
    first, second = (
        Counter(" ".join(sampler.draw(rng, 4, ["a"])) for _ in range(10000)) for sampler in samplers
    )
    assert not homogeneous(first, second)


def test_what_is_feasible():
    sampler = FormulaSampler(RANDOM_OPERATORS, "abcdefghij")
    for length in range(1, 12):
        for k in range(11):
            assert (sampler.share(length, k) > 0) == (length >= 2 * k - 1)


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


def test_forbidden_operands_do_not_come_and_all_others_do():
    def operands(tree):
        for index, operand in enumerate(tree[1:] if isinstance(tree, tuple) else ()):
            yield tree[0], index, operand[0] if isinstance(operand, tuple) else operand
            yield from operands(operand)

    rng = Random(5)
    forbidden = {("!", 0): ("!", "1"), ("&", 1): ("0", "!")}
    sampler = FormulaSampler(("!", "&"), "a", forbidden=forbidden)
    seen = set()
    for length in range(1, 9):
        for _ in range(300):
            seen.update(operands(parse(sampler.draw(rng, length, ["a"]))))
    roots = {"!", "&", "a", "0", "1"}
    everything = {(op, i, root) for op, i in (("!", 0), ("&", 0), ("&", 1)) for root in roots}
    excluded = {(op, i, root) for (op, i), tokens in forbidden.items() for root in tokens}
    assert seen == everything - excluded
    assert FormulaSampler(("!",), "a", forbidden={("!", 0): ("0", "1")}).share(2, 0) == 0
