"""Smallest assignments against plain enumeration; test_judges.py compares truth tables with py-aiger."""

import time
from itertools import product
from random import Random

import pytest

from sit_fairseq.domains.formulas.syntax import OPERATORS
from sit_fairseq.domains.prop.propositional import (
    all_ones,
    parse_assignment,
    random_formula,
    same_literals,
    smallest_answer,
    smallest_assignment,
    truth_table,
    without_constants,
)
from sit_fairseq.errors import MalformedAnswer


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


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_smallest_assignment_of_all_functions(k):
    for table in range(all_ones(k) + 1):
        assert smallest_assignment(table, k) == enumerated_assignment(table, k), table


def test_many_variables_are_fast():
    symbols = [f"p{i}" for i in range(18)]
    started = time.perf_counter()
    table = truth_table(["xor"] * 17 + symbols, symbols)
    literals = smallest_assignment(table, 18)
    assert time.perf_counter() - started < 2
    assert [variable for variable, _ in literals] == list(range(18))
    assert [value for _, value in literals] == [1] * 17 + [0]


@pytest.mark.parametrize(
    "text, message",
    [
        ("a 1 b", "'b' has no value"),
        ("a 1 1 0", "'1' stands where a symbol"),
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
