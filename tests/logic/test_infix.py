"""Infix notation: written for people, and read as Spot reads it."""

import random

import pytest
from conftest import needs_spot

from sit_fairseq.logic.infix import infix, infix_tokens, quoted, to_prefix
from sit_fairseq.logic.propositional import OPERATORS, random_formula
from sit_fairseq.logic.syntax import MalformedFormula


def read(text):
    return " ".join(to_prefix(infix_tokens(text)))


@pytest.mark.parametrize(
    "prefix, text",
    [
        ("a", "a"),
        ("1", "1"),
        ("! a", "!a"),
        ("! ! a", "!!a"),
        ("X X a", "X X a"),
        ("& U a b ! X c", "(a U b) & !X c"),
        ("U a & b c", "a U (b & c)"),
        ("! U 1 b", "!(1 U b)"),
        ("G F -> a <-> b xor 0 c", "G F (a -> (b <-> (0 xor c)))"),
        ("R W a b M c | d e", "(a W b) R (c M (d | e))"),
        ("& speed_limit X1", 'speed_limit & "X1"'),
        ("U true Ga", '"true" U "Ga"'),
    ],
)
def test_writing(prefix, text):
    assert infix(prefix.split()) == text


@pytest.mark.parametrize("operator", ["!", "X", "U a", "& a"])
def test_depth_is_not_limited(operator):
    depth = 3000
    formula = operator.split() * depth + ["b"]
    text = infix(formula)
    assert text.replace("(", "").replace(")", "").replace(" ", "") == (
        "".join(reversed(operator.split())) * depth + "b"
    )
    assert text.count("(") == text.count(")") == (depth - 1 if " " in operator else 0)


@pytest.mark.parametrize(
    "name, text",
    [
        ("a", "a"),
        ("speedLimit_2", "speedLimit_2"),
        ("X1", '"X1"'),
        ("false", '"false"'),
        ("2nd", '"2nd"'),
        ("a-b", '"a-b"'),
        ("é", '"é"'),
        ('say"no"', '"say\\"no\\""'),
        ("back\\slash", '"back\\\\slash"'),
    ],
)
def test_names(name, text):
    assert quoted(name) == text
    assert read(text) == name


@pytest.mark.parametrize(
    "text, prefix",
    [
        (" ( a ) ", "a"),
        ("!a&b", "& ! a b"),
        ("!(a & b)", "! & a b"),
        ("a & b & c", "& & a b c"),
        ("a & (b & c)", "& a & b c"),
        ("a | b & c", "| a & b c"),
        ("a | b xor c & !d", "| a xor b & c ! d"),
        ("a xor b | c", "| xor a b c"),
        ("a -> b -> c", "-> a -> b c"),
        ("a <-> b -> c | d", "<-> a -> b | c d"),
        ("a -> b <-> c", "-> a <-> b c"),
        ("((a -> b)) -> 0", "-> -> a b 0"),
        ('"X1"|p0', "| X1 p0"),
    ],
)
def test_reading(text, prefix):
    assert read(text) == prefix


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "empty"),
        ("a &", "'&' is out of place"),
        ("& a b", "'a' is out of place"),
        ("a b", "'a' is out of place"),
        ("!", "'!' is out of place"),
        ("a ! b", "'a' is out of place"),
        ("()", r"'\(' is out of place"),
        ("a (b)", "'a' is out of place"),
        ("(a) b", r"'\)' is out of place"),
        ("& a", "an operand is missing"),
        ("(a", r"a '\)' is missing"),
        ("a)", r"a '\(' is missing"),
        ("X a", "'X' is neither"),
        ("true", "'true' is neither"),
        ("2", "'2' is neither"),
        ("a = b", "cannot read '= b'"),
        ("a && b", "'&' is out of place"),
        ('"a', "cannot read '\"a'"),
        ('"a b"', "cannot be the name"),
        ('"&"', "cannot be the name"),
        ('"{"', "cannot be the name"),
        ('""', "cannot be the name"),
    ],
)
def test_what_cannot_be_read(text, message):
    with pytest.raises(MalformedFormula, match=message):
        read(text)


def test_what_is_written_is_read_back():
    rng = random.Random(3)
    for length in range(1, 60):
        formula = random_formula(rng, length, ["a", "b", "X1", "p0"])
        assert to_prefix(infix_tokens(infix(formula))) == formula


def test_deep_and_long_texts():
    assert read("!" * 50000 + "a").split() == ["!"] * 50000 + ["a"]
    assert read("(" * 50000 + "a" + ")" * 50000) == "a"
    assert read("a & " * 50000 + "b").split() == ["&"] * 50000 + ["a"] * 50000 + ["b"]


@needs_spot
def test_operators_bind_as_in_spot():
    import spot

    rng = random.Random(5)
    for _ in range(300):
        words = []
        for _ in range(rng.randint(1, 6)):
            words += [*["!"] * rng.randint(0, 2), rng.choice("abc01"), rng.choice(OPERATORS[1:])]
        text = " ".join(words[:-1])
        ours = infix(to_prefix(infix_tokens(text)))
        assert spot.are_equivalent(spot.formula(ours), spot.formula(text)), (text, ours)
