"""Satisfiability of formulas of any size, against truth tables."""

import logging
import random
import sys

import pytest

from sit_fairseq.domains import find
from sit_fairseq.domains.formulas.syntax import formula_symbols
from sit_fairseq.domains.prop import satisfiability
from sit_fairseq.domains.prop.propositional import truth_table
from sit_fairseq.domains.prop.satisfiability import satisfiable


def clauses(rng, symbols, number):
    """A conjunction of random clauses of three literals."""
    tokens = ["&"] * (number - 1)
    for _ in range(number):
        literals = [["!"] * rng.randrange(2) + [f"p{v}"] for v in rng.sample(range(symbols), 3)]
        tokens += ["|", "|", *sum(literals, [])]
    return tokens


@pytest.mark.parametrize("symbols, number", [(10, 43), (12, 60)])
def test_random_clauses(symbols, number):
    rng, seen = random.Random(2), set()
    for _ in range(40):
        formula = clauses(rng, symbols, number)
        expected = truth_table(formula, formula_symbols(formula)) != 0
        assert satisfiable(formula) is expected
        seen.add(expected)
    assert False in seen


def test_a_hundred_symbols_and_a_deep_formula():
    assert satisfiable(clauses(random.Random(3), 100, 380)) is True
    deep = ["&", "a"] * 20000 + ["!", "a"]
    assert satisfiable(deep) is False and satisfiable(["!", *deep]) is True


def test_what_takes_too_long_is_not_known():
    pigeons = range(13)  # in twelve holes, no two in one
    parts = [["|"] * 11 + [f"p{pigeon}_{hole}" for hole in range(12)] for pigeon in pigeons]
    for hole in range(12):
        parts += [
            ["!", "&", f"p{first}_{hole}", f"p{second}_{hole}"]
            for second in pigeons
            for first in range(second)
        ]
    formula = ["&"] * (len(parts) - 1) + sum(parts, [])
    assert satisfiable(formula) is None


def test_a_missing_solver_is_said_once(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "pysat.solvers", None)
    find("prop")  # which names its extra
    satisfiability._solver.cache_clear()
    with caplog.at_level(logging.WARNING):
        assert satisfiable(["a"]) is None and satisfiable(["b"]) is None
    satisfiability._solver.cache_clear()
    (record,) = caplog.records
    assert "pysat" in record.message and "[prop]" in record.message
