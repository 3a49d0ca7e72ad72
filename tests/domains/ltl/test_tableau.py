"""Depth-first labels of temporal formulas, choice by choice; test_spot_judge asks Spot."""

import pytest

from sit_fairseq.domains.ltl.tableau import depth_first_trace
from sit_fairseq.errors import MalformedFormula


@pytest.mark.parametrize(
    "formula, trace",
    [
        ("1", "{ 1 }"),
        ("a", "a ; { 1 }"),
        # Literals in the order found, each once.
        ("& ! b & a ! b", "& ! b a ; { 1 }"),
        # Boolean choices, the first and the second.
        ("| & a ! a b", "b ; { 1 }"),
        ("xor a b", "& a ! b ; { 1 }"),
        ("& ! b <-> a b", "& ! b ! a ; { 1 }"),
        # What must come comes at once, or else later.
        ("X X a", "1 ; 1 ; a ; { 1 }"),
        ("& ! b U a b", "& ! b a ; b ; { 1 }"),
        ("& ! a M a b", "& ! a b ; & a b ; { 1 }"),
        # What need not come does not, or else as late as possible.
        ("W a b", "{ a }"),
        ("& W a b X G ! a", "a ; & b ! a ; { ! a }"),
        ("& X ! b R a b", "& a b ; ! b ; { 1 }"),
        ("& X b ! U a b", "& ! a ! b ; b ; { 1 }"),
        # A choice of an earlier step is taken back when a later one shows that it was wrong.
        ("& | X a b X ! a", "b ; ! a ; { 1 }"),
        ("& F a X G ! a", "a ; { ! a }"),
        # What is to hold next keeps the order in which it was found.
        ("& X b X a", "1 ; & b a ; { 1 }"),
        # Loops in which nothing is put off for ever.
        ("G F a", "{ a }"),
        ("& G F a G F ! a", "{ a ; ! a }"),
        ("& G F a G -> a X ! a", "{ a ; ! a }"),
        # No step of the prefix that the cycle has already, no cycle of cycles.
        ("& a X G a", "{ a }"),
        ("& a X X G a", "a ; 1 ; { a }"),
    ],
)
def test_by_hand(formula, trace):
    assert " ".join(depth_first_trace(formula.split()).tokens) == trace


@pytest.mark.parametrize(
    "formula", ["0", "& a ! a", "X X 0", "& G a F ! a", "U a 0", "& U a b G ! b", "M 0 a", "G F 0"]
)
def test_unsatisfiable(formula):
    assert depth_first_trace(formula.split(), budget=10**5) is None


def test_the_same_duties_may_have_to_be_met_in_several_ways():
    # At every other moment, p, both a and b are awaited, and there is room for one of them.
    formula = "& & G F a G F b & G xor p X p & G -> a p & G -> b p G -> a ! b".split()
    trace = depth_first_trace(formula)
    assert not trace.prefix
    true = [set(" ".join(step).replace("! ", "!").split()) & set("abp") for step in trace.cycle]
    assert true == [{"a", "p"}, set(), {"b", "p"}, set()]


def test_budget():
    formula = "& ! b U a b".split()
    found = [depth_first_trace(formula, budget) for budget in range(30)]
    needed = found.index(depth_first_trace(formula))
    assert needed > 5 and found[:needed] == [None] * needed and None not in found[needed:]


def test_malformed():
    with pytest.raises(MalformedFormula):
        depth_first_trace("U a".split())
    with pytest.raises(MalformedFormula, match="belongs to traces"):
        depth_first_trace("{".split())
