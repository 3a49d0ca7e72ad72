"""Truth tables and smallest assignments against plain enumeration."""

import time
from collections import Counter
from itertools import product
from random import Random

import pytest

from sit_fairseq.domains.formulas.syntax import OPERATORS, check_formula, formula_symbols, parse
from sit_fairseq.domains.prop.propositional import (
    RANDOM_OPERATORS,
    all_ones,
    parse_assignment,
    random_formula,
    same_literals,
    smallest_answer,
    smallest_assignment,
    truth_table,
    without_constants,
)
from sit_fairseq.errors import MalformedAnswer, MalformedFormula

MEANING = {
    "!": lambda a: not a,
    "&": lambda a, b: a and b,
    "|": lambda a, b: a or b,
    "->": lambda a, b: b if a else True,
    "<->": lambda a, b: a == b,
    "xor": lambda a, b: a != b,
}


def evaluate(tree, values):
    """The value of a syntax tree, by its definition."""
    if isinstance(tree, str):
        return tree == "1" if tree in "01" else values[tree]
    return bool(MEANING[tree[0]](*(evaluate(operand, values) for operand in tree[1:])))


def enumerated_table(tokens, symbols):
    tree = parse(tokens)
    rows = product([False, True], repeat=len(symbols))  # the first symbol varies slowest
    return sum(evaluate(tree, dict(zip(symbols, row))) << i for i, row in enumerate(rows))


def enumerated_assignment(table, k):
    """The first partial assignment in the documented order of preference, or None."""
    rows = list(product([0, 1], repeat=k))
    best = None
    for candidate in product([1, 0, None], repeat=k):  # in order of preference
        size = sum(value is not None for value in candidate)
        if best is not None and size >= best[0]:
            continue
        if all(
            table >> i & 1
            for i, row in enumerate(rows)
            if all(value in (None, bit) for value, bit in zip(candidate, row))
        ):
            best = size, [(j, value) for j, value in enumerate(candidate) if value is not None]
    return None if best is None else best[1]


def test_truth_table_against_enumeration():
    rng = Random(0)
    for _ in range(300):
        tokens = random_formula(rng, rng.randint(1, 25), "abcd")
        if len(tokens) > 2 and rng.random() < 0.5:  # the one operator that is never drawn
            tokens = ["->" if token == "&" else token for token in tokens]
        symbols = formula_symbols(tokens)
        assert truth_table(tokens, symbols) == enumerated_table(tokens, symbols)


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_smallest_assignment_of_all_functions(k):
    for table in range(all_ones(k) + 1):
        assert smallest_assignment(table, k) == enumerated_assignment(table, k), table


def test_renamed_formula_gets_the_renamed_assignment():
    rng = Random(1)
    names = ["a", "b", "c", "d", "e"]
    changed = 0
    for _ in range(100):
        tokens = random_formula(rng, 20, names)
        renaming = dict(zip(names, rng.sample(["z", "y", "a", "b", "m", "c"], 5)))
        renamed = [renaming.get(token, token) for token in tokens]
        results = []
        for formula in (tokens, renamed):
            symbols = formula_symbols(formula)
            literals = smallest_assignment(truth_table(formula, symbols), len(symbols))
            results.append(literals and [(symbols[j], value) for j, value in literals])
        assert results[1] == (results[0] and [(renaming[s], v) for s, v in results[0]])
        changed += results[0] != results[1]
    assert changed > 30  # the renamings were not for nothing


def test_many_variables_are_fast():
    symbols = [f"p{i}" for i in range(18)]
    started = time.perf_counter()
    table = truth_table(["xor"] * 17 + symbols, symbols)
    literals = smallest_assignment(table, 18)
    assert time.perf_counter() - started < 2
    assert [variable for variable, _ in literals] == list(range(18))
    assert [value for _, value in literals] == [1] * 17 + [0]


def test_random_formulas_are_drawn_uniformly():
    rng = Random(3)
    draws = 6000
    leaves = Counter(random_formula(rng, 1, ["a", "b", "c"])[0] for _ in range(draws))
    assert set(leaves) == {"a", "b", "c", "0", "1"}
    assert all(abs(n / draws - 1 / 5) < 0.03 for n in leaves.values())
    assert {random_formula(rng, 2, ["a"])[0] for _ in range(50)} == {"!"}
    drawn = [random_formula(rng, 7, ["a"]) for _ in range(draws)]
    operators = Counter(tokens[0] for tokens in drawn)
    assert set(operators) == set(RANDOM_OPERATORS)
    assert all(abs(n / draws - 1 / 5) < 0.03 for n in operators.values())
    left_sizes = Counter(left_size(tokens) for tokens in drawn if tokens[0] != "!")
    binary = draws - operators["!"]
    assert set(left_sizes) == {1, 2, 3, 4, 5}
    assert all(abs(n / binary - 1 / 5) < 0.03 for n in left_sizes.values())


def left_size(tokens):
    """Number of tokens of the left operand of a binary formula."""
    for size in range(1, len(tokens) - 1):
        try:
            check_formula(tokens[1 : 1 + size])
        except MalformedFormula:
            continue
        return size
    raise AssertionError(f"no left operand in {tokens}")


@pytest.mark.parametrize(
    "text, message",
    [
        ("a 1 b", "'b' has no value"),
        ("a 1 1 0", "'1' stands where a symbol"),
        ("! a", "'!' stands where a symbol"),
        ("a 2", "value of 'a' is '2'"),
        ("a b 1", "'1' stands"),
    ],
)
def test_malformed_assignments(text, message):
    with pytest.raises(MalformedAnswer, match=message):
        parse_assignment(text.split())


def test_formulas_without_constants_are_equivalent():
    rng, symbols, constant = Random(4), ["a", "b"], 0
    for _ in range(2000):
        formula = random_formula(rng, rng.randint(1, 15), symbols, OPERATORS)
        found = without_constants(formula)
        assert truth_table(found, symbols) == truth_table(formula, symbols), formula
        assert len(found) == 1 or not {"0", "1"} & set(found), formula
        constant += found in (["0"], ["1"])
    assert constant > 100


@pytest.mark.parametrize(
    "formula, answer",
    [
        ("a", "a 1"),
        ("& y ! x", "y 1 x 0"),
        ("| & y x z", "z 1"),
        ("| y ! y", ""),
        ("& y ! y", None),
    ],
)
def test_answers_as_in_a_data_set(formula, answer):
    assert smallest_answer(formula.split()) == answer


@pytest.mark.parametrize(
    "answer, target, equal",
    [
        ("b 0 a 1", "a 1 b 0", True),
        ("a 0 b 1", "a 1 b 0", False),  # the same tokens, other literals
        ("", "", True),
        ("1 a 0", "a 1 0", False),  # no literals
        ("a 1 0", "a 1 0", True),
    ],
)
def test_assignments_modulo_order(answer, target, equal):
    assert same_literals(answer, target) is equal
