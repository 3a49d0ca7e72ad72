"""The paper's own prompts."""

import re

import pytest

from sit_fairseq.evaluation.llm.asking import make_question
from sit_fairseq.evaluation.llm.paper_prompts import (
    LTL_LISTING,
    PROMPTS,
    PROP_LISTING,
    paper_infix,
)

PAPER = PROMPTS["paper"]
LISTINGS = {"ltl": LTL_LISTING, "prop": PROP_LISTING}


@pytest.mark.parametrize("semantics", LISTINGS)
def test_formulas_are_written_as_those_of_the_listings(semantics):
    printed = re.findall(r"^Formula: (.*)$", LISTINGS[semantics], re.MULTILINE)
    examples = PAPER[semantics].examples
    assert [paper_infix(example.source, semantics) for example in examples] == printed[:-1]
    assert printed[-1] == "{formula}"


@pytest.mark.parametrize("semantics, label", [("ltl", "Trace"), ("prop", "Assignment")])
def test_answers_of_the_listings_can_be_read(semantics, label):
    prompt = PAPER[semantics].prompt("! a", [])
    shown = re.findall(rf"^{label}: (.*)$", prompt, re.MULTILINE)
    targets = [example.target for example in PAPER[semantics].examples]
    assert [" ".join(PAPER[semantics].read(answer)) for answer in shown] == targets


@pytest.mark.parametrize("semantics", LISTINGS)
def test_a_prompt_is_the_listing_with_a_formula(semantics):
    prompt = PAPER[semantics].prompt("& a ! b", [])
    expected = LISTINGS[semantics].replace("{{", "{").replace("}}", "}")
    assert prompt == expected.replace("{formula}", "a & !b")
    assert "{formula}" in expected


@pytest.mark.parametrize(
    "source, semantics, written",
    [
        ("& & a b | c d", "prop", "(a & b) & (c | d)"),
        ("| a | b & c d", "prop", "a | (b | c & d)"),
        ("xor | a b <-> c d", "prop", "a | b xor (c <-> d)"),
        ("! & a b", "prop", "!(a & b)"),
        ("X X U a ! X b", "ltl", "XX(a U !Xb)"),
        ("X X1", "ltl", 'X"X1"'),
    ],
)
def test_parentheses_are_left_out_where_the_listing_says_how_operators_bind(
    source, semantics, written
):
    assert paper_infix(source, semantics) == written


def test_assignments_may_leave_symbols_out():
    request = make_question(PAPER["prop"], "& xor b a 1", [], {}).request
    schema = request["response_format"]["json_schema"]
    assert schema["strict"] is False
    assert schema["schema"] == {
        "type": "object",
        "properties": {"b": {"type": "boolean"}, "a": {"type": "boolean"}},
        "additionalProperties": False,
    }
    assert "response_format" not in make_question(PAPER["ltl"], "a", [], {}).request
