"""Prefix notation: what is a formula, what is not, and what the message says."""

import time

import pytest

from sit_fairseq.domains.formulas.syntax import balanced, exchanged, parse
from sit_fairseq.errors import MalformedFormula, UserError


@pytest.mark.parametrize(
    "text, tree",
    [
        ("-> a b", ("->", "a", "b")),
        ("& | a b ! 1", ("&", ("|", "a", "b"), ("!", "1"))),
        ("U X a <-> b xor 0 c", ("U", ("X", "a"), ("<->", "b", ("xor", "0", "c")))),
    ],
)
def test_parse(text, tree):
    assert parse(text.split()) == tree


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "empty"),
        ("& ! &", "3 operand.* missing after token 3"),
        ("a b c", "complete after token 1, but 2 more"),
        ("& a b ! c", "complete after token 3, but 2 more"),
    ],
)
def test_malformed(text, message):
    with pytest.raises(MalformedFormula, match=message):
        parse(text.split())


def test_chains_are_balanced_and_nothing_else():
    assert " ".join(balanced("& & & a b c d".split())) == "& & a b & c d"
    assert " ".join(balanced("| a | b | c | d e".split())) == "| | a b | c | d e"
    assert " ".join(balanced("& | a X & b & c & d e ! 1".split())) == "& | a X & & b c & d e ! 1"
    assert " ".join(balanced("U a U b c".split())) == "U a U b c"
    assert balanced(["a"]) == ["a"]


def test_operands_are_exchanged_where_their_order_means_nothing():
    assert " ".join(exchanged("& -> a b | ! c xor d 1".split())) == "& | xor 1 d ! c -> a b"
    assert " ".join(exchanged("U & a b <-> c W d e".split())) == "U & b a <-> W d e c"
    assert exchanged(["a"]) == ["a"]


def test_long_formulas_are_written_anew_in_linear_time():
    deep = ["!"] * 60000 + ["a"]
    begin = time.process_time()
    assert balanced(deep) == deep
    assert exchanged(deep) == deep
    assert len(balanced(["&"] * 40000 + ["a"] * 40001)) == 80001
    assert time.process_time() - begin < 5


def test_messages_quote_the_beginning_of_long_texts():
    for error in (MalformedFormula, UserError):
        said = str(error(f"{'a' * 10**7} is no name"))
        assert len(said) < 3000 and said.startswith("aaa") and said.endswith("is no name")
