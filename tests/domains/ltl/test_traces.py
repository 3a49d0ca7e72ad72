"""LTL notation: formulas and traces to tokens, from tokens, and for people."""

import pytest

from sit_fairseq.domains.ltl.traces import Trace, check_ltl, parse_trace, same_trace
from sit_fairseq.errors import MalformedAnswer, MalformedFormula


def test_malformed_formulas():
    for text in ("", "& a ;", "{"):
        with pytest.raises(MalformedFormula):
            check_ltl(text.split())


@pytest.mark.parametrize(
    "text, prefix, cycle, people",
    [
        ("a ; & a b ; { b }", ["a", "& a b"], ["b"], "a; a & b; cycle{b}"),
        ("{ a ; ! b ; 0 }", [], ["a", "! b", "0"], "cycle{a; !b; 0}"),
        ("| ! a & b c ; { X1 }", ["| ! a & b c"], ["X1"], '!a | (b & c); cycle{"X1"}'),
        ("cycle ; { cycle }", ["cycle"], ["cycle"], "cycle; cycle{cycle}"),
    ],
)
def test_traces(text, prefix, cycle, people):
    trace = parse_trace(text.split())
    assert trace == Trace(
        tuple(tuple(step.split()) for step in prefix), tuple(tuple(step.split()) for step in cycle)
    )
    assert trace.tokens == text.split()
    assert trace.infix() == people


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "empty"),
        ("a", "one '{'.* not 0"),
        ("{ a ; { b } }", "one '{'.* not 2"),
        ("{ a } ; b", "ends with its cycle"),
        ("a { b }", "';' is missing before '{'"),
        ("{ }", "step 1: the formula is empty"),
        ("a ; & b ; { b }", "step 2: .*ends too early"),
        ("X a ; { b }", "step 1: unknown operator 'X'"),
    ],
)
def test_malformed_traces(text, message):
    with pytest.raises(MalformedAnswer, match=message):
        parse_trace(text.split())


def test_long_and_deep_traces():
    tokens = ["a", ";"] * 20000 + ["{"] + ["!"] * 20000 + ["a", "}"]
    trace = parse_trace(tokens)
    assert len(trace.steps) == 20001
    assert trace.tokens == tokens
    assert trace.infix().endswith("; cycle{" + "!" * 20000 + "a}")
    deep = "& a " * 3000
    assert not same_trace("{ " + deep + "b }", "{ " + deep + "c }")


@pytest.mark.parametrize(
    "answer, target, equal",
    [
        ("& a b ; { c }", "& b a ; { c }", True),
        ("{ | & a ! b c }", "{ | c & ! b a }", True),
        ("{ & a & b c }", "{ & b & a c }", False),  # regrouped
        ("{ -> a b }", "{ -> b a }", False),
        ("{ xor a b }", "{ xor b a }", False),  # equivalent, but no swap of & or |
        ("a ; b ; { c }", "a ; { b ; c }", False),  # the same steps, another cycle
        ("{ a }", "{ a ; a }", False),  # the same words
        ("{ a", "{ a", True),  # no trace
    ],
)
def test_traces_modulo_swaps(answer, target, equal):
    assert same_trace(answer, target) is equal
