"""Formulas without idle symbols, by Spot."""

from random import Random

import pytest
from conftest import needs_spot

from sit_fairseq.domains.formulas.reading import read_formula
from sit_fairseq.domains.formulas.shapes import Shapes
from sit_fairseq.domains.formulas.syntax import ARITY, formula_symbols
from sit_fairseq.domains.ltl.elimination import without_idle_symbols
from sit_fairseq.domains.ltl.spot_judge import SpotJudge, spot_trace
from sit_fairseq.domains.prop.propositional import random_formula
from sit_fairseq.judging.verdict import Verdict

NAMES = [f"p{number}" for number in range(6)]


@needs_spot
def test_a_formula_has_the_answers_of_its_rest():
    rng, judge, fewer = Random(1), SpotJudge(), 0
    shapes = Shapes(rng, NAMES, 30, temporal=True)
    for number in range(600):
        drawn = random_formula(rng, rng.randint(1, 20), NAMES, tuple(ARITY))
        tokens = shapes.draw() if number % 2 else ["&", *drawn, "F", "p0"]
        rest, whole = without_idle_symbols(tokens)
        fewer += len(formula_symbols(rest)) < len(formula_symbols(tokens))
        trace = spot_trace(rest)
        assert judge.satisfiable(list(tokens)) is (trace is not None), tokens
        if trace is not None:
            assert judge.decide(list(tokens), whole(trace.tokens)) is Verdict.satisfied, tokens
    assert fewer > 30


@pytest.mark.parametrize(
    "formula, rest, answer",
    [
        ("G (a -> F b) & F c & G F !d", "F p2", "{ & ! p0 & ! p1 & ! p3 p2 }"),
        ("G (a -> b) & F a & F !b", "& F p0 & F ! p1 G -> p0 p1", "{ p2 }"),  # rules come last
        ("(a W b) & F c & X !c", "& F p2 X ! p2", "{ & p0 & p1 p2 }"),
        ("G (a -> F b)", "G -> p0 F p1", "{ p2 }"),  # something is left
        ("G (a -> F b) & G !(b & c)", "G -> p0 F p1", "{ & ! p2 p2 }"),
        ("G (a -> b) & F a", "F p0", "{ & p1 p2 }"),
        ("(a <-> F b) & (c xor d)", "xor p2 p3", "{ & ! p0 & ! p1 p2 }"),
    ],
)
def test_symbols_that_may_be_false_or_true_for_ever(formula, rest, answer):
    found, whole = without_idle_symbols(read_formula(formula, temporal=True).tokens)
    assert " ".join(found) == rest
    assert " ".join(whole("{ p2 }".split())) == answer
