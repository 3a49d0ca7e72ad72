"""The judge of LTL: by hand, against brute force, and when things go wrong."""

import sys
from collections import Counter
from random import Random
from types import ModuleType

import pytest
from conftest import needs_spot

from sit_fairseq.domains.by_name import make_judge
from sit_fairseq.domains.formulas.infix import infix
from sit_fairseq.domains.formulas.syntax import ARITY
from sit_fairseq.domains.ltl import spot_judge
from sit_fairseq.domains.ltl.spot_judge import SpotJudge, spot_installed, spot_trace
from sit_fairseq.domains.ltl.tableau import depth_first_trace
from sit_fairseq.domains.ltl.traces import parse_trace
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict

# Spot takes for ever: to violate it is to repeat letters thirty steps old, in 2^30 states.
HARD = " ".join(["F", "xor", "a", *["X"] * 30, "b"])

TABLE = [
    # The examples of the paper; every operator is in the test of labels.
    ("X X b", "1 ; 1 ; { 1 }", Verdict.violated),
    ("& X b U a c", "a ; & a b ; { c }", Verdict.satisfied),
    # A trace without words is not right, not even for a formula that is always true.
    ("a", "& a ! a ; { 1 }", Verdict.vacuous),
    ("| a X a", "{ 1 }", Verdict.violated),
    ("a", "{ a ; xor 1 1 }", Verdict.vacuous),
    # No trace, of which test_traces.py has more.
    ("a", "", Verdict.invalid),
    ("a", "{ & a }", Verdict.invalid),
    # Symbols that the formula does not have: the paper's example, and more.
    ("U 1 c", "a ; & a ! b ; { c }", Verdict.satisfied),
    ("a", "{ b }", Verdict.violated),
    # Symbols that vanish when the formula is simplified are symbols of it.
    ("| a & b 0", "{ & a b }", Verdict.satisfied),
    # Names are tokens, and may mean something to Spot.
    ("U X1 Ga", "X1 ; { Ga }", Verdict.satisfied),
    ("U p1 p0", "p0 ; { p1 }", Verdict.satisfied),
    ('F "é', '{ "é }', Verdict.satisfied),
    # Formulas that are none.
    ("", "{ 1 }", Verdict.error),
    ("& a ;", "{ a }", Verdict.error),
]


@needs_spot
@pytest.mark.parametrize("formula, trace, verdict", TABLE)
def test_by_hand(formula, trace, verdict):
    assert SpotJudge().verify(formula, trace) is verdict


def random_ltl(rng, length, leaves, operators):
    """A random formula of so many tokens, the present operator first."""
    if length == 1:
        return [rng.choice(leaves)]
    arity = 1 if length == 2 else rng.choice([1, 2, 2])
    operator = rng.choice([o for o in operators if ARITY[o] == arity])
    if arity == 1:
        return [operator, *random_ltl(rng, length - 1, leaves, operators)]
    left = rng.randint(1, length - 2)
    first = random_ltl(rng, left, leaves, operators)
    return [operator, *first, *random_ltl(rng, length - 1 - left, leaves, operators)]


@needs_spot
@pytest.mark.parametrize("find", [spot_trace, depth_first_trace])
def test_labels_satisfy_and_are_renamed_with_their_formula(find):
    rng, judge, seen = Random(5), SpotJudge(), Counter()
    names = {"a": "p2", "b": "X1", "c": "p0", "speed_limit": "a"}
    for _ in range(250):
        leaves = ["a", "b", "c", "speed_limit", "0", "1"]
        formula = random_ltl(rng, rng.randint(1, 20), leaves, list(ARITY))
        trace, text = find(formula), " ".join(formula)
        other = find([names.get(token, token) for token in formula])
        seen[trace is not None, judge.solvable(text)] += 1
        if trace is None:
            assert other is None
            continue
        assert other.tokens == [names.get(token, token) for token in trace.tokens]
        assert parse_trace(trace.tokens) == trace
        assert judge.verify(text, " ".join(trace.tokens)) is Verdict.satisfied, infix(formula)
        assert judge.verify(f"! {text}", " ".join(trace.tokens)) is Verdict.violated
    assert seen[True, True] > 180 and seen[False, False] > 10 and not seen[True, False]
    assert seen[False, True] <= (find is depth_first_trace) * 4, seen  # 1 % of all operators


@pytest.mark.slow
@needs_spot
def test_pool_stops_spot_and_goes_on():
    easy = ("G F a", "{ a }")
    deep = " ".join(["X"] * 50000 + ["a"])  # more recursion than a stack can take
    with JudgePool(make_judge("ltl"), workers=1, timeout=1.0) as pool:
        verdicts = pool.verify_all([easy, (HARD, "{ 1 }"), easy, ("a", "{ 0 }")])
        assert pool.solvable([f"! {HARD}"]) == [None]
    with JudgePool(make_judge("ltl"), workers=1) as pool:
        verdicts += pool.verify_all([easy, (deep, "{ a }"), easy])
    words = "satisfied timeout satisfied vacuous satisfied error satisfied"
    assert [verdict.value for verdict in verdicts] == words.split()


@needs_spot
@pytest.mark.parametrize(
    "formula, solvable",
    [
        ("& G a F ! a", False),
        ("& a X ! a", True),
        ("1", True),
        ("U a", None),  # no formula
        ("{ 1 }", None),
    ],
)
def test_a_formula_has_a_trace_just_if_it_is_satisfiable(formula, solvable):
    assert SpotJudge().solvable(formula) is solvable


@needs_spot
def test_what_spot_raises_is_an_error(monkeypatch, caplog):
    def give_up(formula):
        raise RuntimeError("Too many acceptance sets used.")

    monkeypatch.setattr(spot_judge, "_counterexamples", give_up)
    assert SpotJudge().verify("F a", "{ a }") is Verdict.error
    assert SpotJudge().solvable("F a") is None
    assert caplog.text.count("Too many acceptance sets used., on: F a") == 2


def test_missing_spot_is_unavailable(monkeypatch, caplog):
    monkeypatch.setattr(spot_judge, "spot_installed", lambda: False)
    judge = make_judge("ltl")
    assert judge.verify("a", "{ a }") is Verdict.unavailable
    assert judge.verify("a", "{ 0 }") is Verdict.unavailable
    assert judge.solvable("a") is None
    assert caplog.text.count("pip install spottl") == 1
    assert judge.verify("a", "a") is Verdict.invalid  # needs no Spot
    assert judge.verify("U a", "{ a }") is Verdict.error


@pytest.mark.parametrize("module", [None, ModuleType("spot")])
def test_other_projects_are_not_spot(monkeypatch, module):
    monkeypatch.setitem(sys.modules, "spot", module)
    spot_installed.cache_clear()
    try:
        assert not spot_installed()
    finally:
        spot_installed.cache_clear()
