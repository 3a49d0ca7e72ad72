"""Formulas and traces as people and data sets write them, read as Spot reads them."""

import random

import pytest
from conftest import needs_spot

from sit_fairseq.domains.formulas.infix import infix
from sit_fairseq.domains.formulas.reading import (
    compact_tokens,
    read_dimacs,
    read_formula,
    read_infix_trace,
)
from sit_fairseq.domains.formulas.syntax import ARITY
from sit_fairseq.domains.ltl.traces import parse_trace
from sit_fairseq.domains.prop.propositional import random_formula
from sit_fairseq.errors import MalformedAnswer, MalformedFormula


def read(text, temporal=True):
    """The formula in prefix notation with its names."""
    tokens, names = read_formula(text, temporal)
    by_token = {f"p{number}": name for number, name in enumerate(names)}
    return " ".join(by_token.get(token, token) for token in tokens)


@pytest.mark.parametrize(
    "text, prefix",
    [
        ("G (req -> F grant)", "G -> req F grant"),
        ("[] (req => <> grant)", "G -> req F grant"),
        ("!close U open", "U ! close open"),
        ("GFa & XXp0", "& G F a X X p0"),
        ("G(a&&b||!c)", "G | & a b ! c"),
        ("a /\\ ~b \\/ c", "| & a ! b c"),
        ("not a and b or true", "| & ! a b 1"),
        ("□(a → ◇b) ∧ ¬c", "& G -> a F b ! c"),
        ("a U b U c", "U a U b c"),
        ("a -> b -> c", "-> a -> b c"),
        ("a & b & c", "& & a b c"),
        ("a | b ^ c & d", "| a xor b & c d"),
        ("a <-> b V c", "<-> a R b c"),
        ("() a", "X a"),
        ('"two words" W "G"', "W two words G"),
        ("U a b", "U a b"),
        ("& | a b ! c", "& | a b ! c"),
        ("a", "a"),
        ("GFa", "G F a"),
        ("G Fa", "G F a"),
        ("G TRUE", "G 1"),
        ("U False a", "U 0 a"),
        ("& X1 G0", "& X1 G0"),
        ("a * b + c ∩ d ∪ e", "| | & a b & c d e"),
        ("⬜a ⟶ ◻◯b ⟹ ⋄c ∨ ♢d", "-> G a -> G X b | F c F d"),
        ("⊤ U ⊥ ⟺ a ⋀ b ≡ c ⋁ d ⊻ e", "<-> U 1 0 <-> & a b | c xor d e"),
    ],
)
def test_temporal_formulas(text, prefix):
    assert read(text) == prefix


@pytest.mark.parametrize(
    "text, prefix",
    [
        ("F & !G", "& F ! G"),
        ("U | Xa", "| U Xa"),
        ("& F G", "& F G"),
        ("TRUE -> x.1", "-> 1 x.1"),
        ("! False", "! 0"),
        ("GFa", "GFa"),
        (" ( a ) ", "a"),
        ("!a&b", "& ! a b"),
        ("!(a & b)", "! & a b"),
        ("a & b & c", "& & a b c"),
        ("a & (b & c)", "& a & b c"),
        ("a | b & c", "| a & b c"),
        ("a | b xor c & !d", "| a xor b & c ! d"),
        ("a <-> b -> c | d", "<-> a -> b | c d"),
        ("a -> b <-> c", "-> a <-> b c"),
        ("((a -> b)) -> 0", "-> -> a b 0"),
        ('"X1"|p0', "| X1 p0"),
    ],
)
def test_letters_of_operators_are_names_in_propositional_formulas(text, prefix):
    assert read(text, temporal=False) == prefix


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "the formula is empty"),
        ("a &", "'&' at character 3: an operand is missing after it"),
        ("a b", "'a' at character 1: an operator is missing after it"),
        ("(a & b) c", r"'\)' at character 7: an operator is missing after it"),
        ("| a", "'|' at character 1: an operand is missing before it"),
        ("!(a", r"'\(' at character 2 is never closed"),
        ("a) | b", r"'\)' at character 2 closes nothing"),
        ("a == b", "'== b' at character 3 cannot be read"),
        ("a & 3b", "'3b' at character 5 is neither a constant nor a name"),
        ("Grant -> a", "'Grant' at character 1 may be G rant or a name"),
        ("Grant", "'Grant' at character 1 may be G rant or a name"),
        ("a U FB", "'FB' at character 5 may be F B or a name"),
        ("GF1", "'GF1' at character 1 may be G F1 or a name"),
        ("Found.x", "'Found.x' at character 1 may be F ound.x or a name"),
        ("not", "'not' at character 1: an operand is missing after it"),
        ("OR", "'OR' at character 1: an operand is missing after it"),
        ("V", "'V' at character 1: an operand is missing after it"),
        ("01", "'01' at character 1 is neither a constant nor a name"),
        ("a S b", "'S' at character 3: an operator is missing after it, as it is read as a name"),
        ("X[3] a", r"'\[3\] a' at character 2 cannot be read; bounds such as X\[3\]"),
        ("a=1", "'=1' at character 2 cannot be read; for a = 1 and a = 0 write a and !a"),
        ("()", r"'\(\)' at character 1: an operand is missing after it"),
        ("a (b)", "'a' at character 1: an operator is missing after it"),
        ('"a', "'\"a' at character 1 cannot be read"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_place(text, message):
    with pytest.raises(MalformedFormula, match=message.replace("'|'", r"'\|'")):
        read(text)


def test_temporal_operators_in_propositional_formulas_are_named():
    with pytest.raises(MalformedFormula, match="'F' at character 9.*X F G U W R M, in ltl alone"):
        read("G (a -> F b)", temporal=False)


def test_what_is_written_for_people_is_read_back():
    rng = random.Random(3)
    for length in range(1, 60):
        formula = random_formula(rng, length, ["a", "b", "X1", "p0"], tuple(ARITY))
        assert read(infix(formula)) == " ".join(formula)


@needs_spot
def test_binding_is_that_of_spot():
    import spot

    rng = random.Random(4)
    operators = ["&", "|", "->", "<->", "xor", "U", "W", "R", "M"]
    for _ in range(300):
        text = "".join(
            f"{rng.choice(['', '!', 'X ', 'F '])}{name} {rng.choice(operators)} " for name in "abcd"
        )
        text += "e"
        assert spot.are_equivalent(infix(read(text).split()), text), text


def test_dimacs():
    text = "c comment\np cnf 12 3\n1 -12 0\n3\n0 -1 2 3 0\n"
    assert read_dimacs(text).names == ["x1", "x12", "x3", "x2"]
    assert " ".join(read_dimacs(text).tokens) == "& | p0 ! p1 & p2 | | ! p0 p3 p2"
    assert read_dimacs("p cnf 2 1\n2\n0\n%\n0\n") == (["p0"], ["x2"])
    assert read_dimacs("p cnf 1 2\n1 0\n0\n") == (["&", "p0", "0"], ["x1"])  # an empty clause
    assert read_dimacs("p cnf 3 0\n") == (["1"], [])


@pytest.mark.parametrize(
    "text, message",
    [
        ("p cnf 1 1\nx 0\n", "line 2 of DIMACS: 'x' is no number"),
        ("c nothing\n", "without a line 'p cnf VARIABLES CLAUSES'"),
        ("c 1\np wcnf 1 1 2\n2 1 0\n", "line 2 of DIMACS is not 'p cnf VARIABLES CLAUSES'"),
        ("p cnf 2 2\n1 0\n", "announces 2 clauses, and 1 end with 0$"),
        ("p cnf 2 2\n1 0\n-2 1", "and 1 end with 0, but the last one does not"),
    ],
)
def test_faults_of_dimacs_are_named(text, message):
    with pytest.raises(MalformedFormula, match=message):
        read_dimacs(text)


@pytest.mark.slow
def test_deep_and_long_texts():
    assert read("(" * 5000 + "a" + ")" * 5000) == "a"
    assert read("!" * 50000 + "a").split() == ["!"] * 50000 + ["a"]
    assert read("a & " * 50000 + "b").split() == ["&"] * 50000 + ["a"] * 50000 + ["b"]


@pytest.mark.parametrize(
    "text, tokens",
    [
        ("a & b & !c | d ;cycle {1}\n", "| & & a b ! c d ; { 1 }"),
        ("cycle{a;\n  b}", "{ a ; b }"),
        ('cycle; cycle{"X1" and ~cycle}', "cycle ; { & X1 ! cycle }"),
    ],
)
def test_traces_for_people_may_be_written_freely(text, tokens):
    assert read_infix_trace(text).tokens == tokens.split()


def test_deep_traces_are_read_back():
    trace = parse_trace(["a", ";"] * 20000 + ["{", *["!"] * 20000, "a", "}"])
    assert read_infix_trace(trace.infix()) == trace


@pytest.mark.parametrize(
    "text, message",
    [
        ("a; {b}", "does not follow the word 'cycle'"),
        ("a cycle{b}", "does not follow the word 'cycle'"),
        ("cycle{{b}}", "does not follow the word 'cycle'"),
        ("cycle{b} and so on", "ends with its cycle"),
        ("cycle{}", "step 1: the formula is empty"),
        ("a; X b; cycle{b}", "'X' at character 4: an operator is missing after it"),
        ("a U b; cycle{b}", "'U' at character 3: an operator is missing after it"),
        ("a &; cycle{b}", "'&' at character 3: an operand is missing after it"),
        ("The trace: cycle{b}", "': cycle{b}' at character 10 cannot be read"),
        ("X; cycle{b}", "'X' cannot be the name of a symbol"),
        ('cycle{"a b"}', "'a b' cannot be the name"),
        ('cycle{"{"}', "'{' cannot be the name"),
        ('cycle{""}', "'' cannot be the name"),
    ],
)
def test_malformed_traces(text, message):
    with pytest.raises(MalformedAnswer, match=message):
        read_infix_trace(text)


@pytest.mark.parametrize(
    "text, tokens",
    [
        ("&!ab", "& ! a b"),
        ("UaXb", "U a X b"),
        ("xor<->ab->c1", "xor <-> a b -> c 1"),
        ("<->xor!x0|or", "<-> xor ! x 0 | o r"),
        ("GFWRMaabc", "G F W R M a a b c"),
        ("a;&ab;{b}", "a ; & a b ; { b }"),
        ("{1;!a}", "{ 1 ; ! a }"),
        ("a1b0", "a 1 b 0"),
        (" & a\tb ", "& a b"),
        ("x o r", "x o r"),
        ("", ""),
    ],
)
def test_compact_notation(text, tokens):
    assert compact_tokens(text) == tokens.split()


@pytest.mark.parametrize(
    "text, character",
    [
        ("&aQ", "Q"),
        ("a-b", "-"),
        ("&a&b<>c", "<"),
        ("a2", "2"),
        ("&a\u00e9", "\u00e9"),
        ("=ab", "="),
    ],
)
def test_unknown_characters_are_named(text, character):
    with pytest.raises(MalformedFormula, match=f"^'{character}' is neither"):
        compact_tokens(text)
