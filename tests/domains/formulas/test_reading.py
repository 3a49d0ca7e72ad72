"""Formulas and traces as people and data sets write them, read as Spot reads them."""

import random
import re
import time

import pytest
from conftest import needs_spot

from sit_fairseq.domains.formulas.infix import infix, quoted
from sit_fairseq.domains.formulas.reading import read_formula
from sit_fairseq.domains.formulas.syntax import ARITY
from sit_fairseq.domains.prop.propositional import random_formula
from sit_fairseq.errors import MalformedFormula


def read(text, temporal=True):
    """The formula in prefix notation with its names."""
    tokens, by_token = read_formula(text, temporal)
    return " ".join(by_token.get(token, token) for token in tokens)


@pytest.mark.parametrize(
    "text, prefix",
    [
        ("G (req -> F grant)", "G -> req F grant"),
        ("!close U open", "U ! close open"),
        ("a /\\ ~b \\/ c", "| & a ! b c"),
        ("□(a → ◇b) ∧ ¬c", "& G -> a F b ! c"),
        ('"two words" W "G"', "W two words G"),
        ("G TRUE", "G 1"),
        ("a * b + c ∩ d ∪ e", "| | & a b & c d e"),
        ("⬜a ⟶ ◻◯b ⟹ ⋄c ∨ ♢d", "-> G a -> G X b | F c F d"),
        ("always (call -> eventually reply)", "G -> call F reply"),
        ("a until b weak until c", "U a W b c"),
        ("a releases b strong release c", "R a M b c"),
        ("ALWAYS a WEAK UNTIL NEXT b", "W G a X b"),
        ("⊤ U ⊥ ⟺ a ⋀ b ≡ c ⋁ d ⊻ e", "<-> U 1 0 <-> & a b | c xor d e"),
        ("Globally !fault & next closed", "& G ! fault X closed"),
        ("□(p → ◊q) ==> ⬦r <==> p ⟷ q ⊃ s", "-> G -> p F q <-> F r <-> p -> q s"),
        ("G (r[0] -> F pid[0].state[next])", "G -> r[0] F pid[0].state[next]"),
        ("G i p0 V p1 ^ t p0", "G -> p0 R p1 xor 1 p0"),
        ("e p0 f", "<-> p0 0"),
        ('& i "a b" p0 "U"', "& -> a b p0 U"),
        ('"x <= 3" & "a != b"', "& x <= 3 a != b"),
        ("（a ∨ b）∧ ！c", "& | a b ! c"),
        ("￢a ↮ b ⇎ c ≢ d ⨁ e", "xor xor xor xor ! a b c d e"),
        ("a ⋂ b ∙ c ＆ d ⋃ e ｜ f", "| | & & & a b c d e f"),
    ],
)
def test_temporal_formulas(text, prefix):
    assert read(text) == prefix


@pytest.mark.parametrize(
    "text, prefix",
    [
        ("F & !G", "& F ! G"),
        ("! False", "! 0"),
        ("always | until & next", "| always & until next"),
        ("in.door & !out.door", "& in.door ! out.door"),
        ("e p0 ^ p1 f", "<-> p0 xor p1 0"),
        ("GFa", "GFa"),
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
        ("!(a", r"'\(' at character 2 is never closed"),
        ("a & 3b", "'3b' at character 5 is neither a constant nor a name"),
        ("Grant -> a", "'Grant' at character 1 may be G rant or a name"),
        ("a S b", "'S' at character 3: an operator is missing after it, as it is read as a name"),
        ("X[3] a", r"'X\[3\]' at character 1 is an operator with brackets"),
        ("[a & b] | c", r"'\[' at character 1 cannot be read; brackets are \( \)"),
        ('a & "a', "'\"' at character 5 cannot be read; its double quotes are never closed"),
        ("<>R -> p", "'R' at character 3: .*it is an operator: write \"R\""),
        ("a until! b", "'until!' at character 3 is an operator of PSL or a negation"),
        *((text, "t and f are lbt's 1 and 0, or names") for text in ("W p0 f", "t", '& f "a"')),
        ("(T)", "'T' at character 2 may be 1 or a name: write 1, or the name in double quotes"),
        ("b. & !b", "'b.' at character 1 ends in a dot"),
        ("(a & b).", "'.' at character 8 cannot be read; leave the full stop out"),
        ("lift:up", "':' at character 5 cannot be read"),
        ("a <- b", "'<-' at character 3 cannot be read; turn a <- b into b -> a"),
        ('"G (r -> F g)"', "the double quotes hold a formula, not a name: leave them out"),
        ('"a\nverified" & b', "a name holds no line ends and no control characters"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_place(text, message):
    with pytest.raises(MalformedFormula, match=message.replace("'|'", r"'\|'")):
        read(text)


@pytest.mark.parametrize("temporal", [False, True])
@pytest.mark.parametrize(
    "text, advice",
    [
        *(
            (f"a {sign} b", r"operators are ! & \| xor -> <->")
            for sign in "⊼ × % ? ~> |-> !->".split()
        ),
        *((f"a {sign} b", "comments stand in files alone") for sign in ("//", "/*", "#", "--")),
        ("a##1", "'##' is SVA; operators are !"),
        *(
            (text, f"{word!r} is {what}.*; operators are !.* X F G U W R M")
            for text, word, what in (
                ("req until_with ack", "until_with", "SVA"),
                ("a & Since b", "Since", "past LTL"),
                ("AG(a -> b)", "AG", "CTL"),
                ("next_event(a)(b)", "next_event", "PSL"),
                ("a nand b", "nand", r"!\(a & b\)"),
                ("never p", "never", "PSL"),
                ("historically p", "historically", "past LTL"),
                ("a >> b", ">>", "a shift"),
            )
        ),
        *((word, f"'{word}' at character 1 may be [01] or a name") for word in ("T", "tt", "ff")),
        ('"a", "b"', "give each formula by itself"),
        ('"F a",', "give each formula by itself"),
        ("'a'", "leave out quotes around a formula"),
        ('"F ""a b"""', "doubled quotes"),
        ("\ufeffa", "leave out what is invisible"),
        ("a\u200b & b", "leave out what is invisible"),
        ("a <> b", "put a comparison in double quotes"),
        ('"F a"', "the double quotes hold a formula"),
        ('"a & b"', "the double quotes hold a formula"),
        ("x' + y", "write a negation as !x"),
        ("G (req() -> ack)", "leave it out behind a name, as it is X"),
        ("And(Or(a, b), Not(c))", "functions are written a & b"),
        ("=AND(A1, B1)", "leave out what is defined"),
        *(
            (text, "leave out what is defined, or write <->")
            for text in (
                "EGFR = EGF and not Cbl",
                "x *= a | b",
                "p0 := G a",
                "v = (a)->b",
                "a|=b",
                "assign y = a & b",
            )
        ),
        *((text, "put a comparison in double quotes") for text in ("a = 1 & b", "a = b & c = d")),
    ],
)
def test_advice_does_not_change_the_meaning(text, advice, temporal):
    with pytest.raises(MalformedFormula, match=advice) as refused:
        read(text, temporal)
    if "comparison" not in advice:
        assert "put a comparison" not in str(refused.value) or "<>" in text


@pytest.mark.parametrize("text", ["X^3 a", "F<=5 a", "a U >= 2 b", "G[0,5] a", "next[2] a"])
def test_bounds_are_written_out(text):
    with pytest.raises(MalformedFormula, match=r"write bounds such as X\[3\] a out"):
        read(text)


def test_temporal_operators_in_propositional_formulas_are_named():
    with pytest.raises(MalformedFormula, match="'F' at character 9.*X F G U W R M, in ltl alone"):
        read("G (a -> F b)", temporal=False)


@pytest.mark.parametrize("comparison", "= === != < =< >= ≠ ≤ ≈ ∈ ~= /= ＝ <- <==".split())
@pytest.mark.parametrize("temporal", [False, True])
def test_comparisons_stand_in_quotes(comparison, temporal):
    for text in (f"a & b {comparison} c", f"a{comparison}b", f"a {comparison} 1"):
        with pytest.raises(MalformedFormula, match="put a comparison in double quotes"):
            read(text, temporal)
    assert read(f'a & "b {comparison} c"', temporal) == f"& a b {comparison} c"


@pytest.mark.parametrize(
    "text, message",
    [
        ("A.B + !A.C", "'A.B' at character 1 is one name or a product"),
        ("[] a", r"'\[\]' at character 1 cannot be read; .* X F G U W R M, in ltl alone"),
        ('"a & b"', "the double quotes hold a formula"),
    ],
)
def test_what_is_refused_in_propositional_formulas(text, message):
    with pytest.raises(MalformedFormula, match=message):
        read(text, temporal=False)


def test_messages_do_not_grow_with_the_text():
    long = "a" * 10**5
    for text in (f"{long}. & b", f"X{long[1:]}[0]", f"G{long.upper()}", f'"{long}', f"{long} b"):
        with pytest.raises(MalformedFormula) as refused:
            read(text)
        assert len(str(refused.value)) < 300, text[:10]


_PIECES = """a door-open r[0] p0 p1 Grant GFa X F R i e t 1 00 always RELEASE not and " "x=1" \\ ( ) [ ] []
<> ! & | ^ -> <-> ==> = < - -- . A.B ; { } # // * + ◊ ⊃ é 名 🦊 '""".split()
_PIECES += ["weak until", '"F a"', "\n", "\0", "\u202e", "\ud800", " "]


@pytest.mark.parametrize("temporal", [False, True])
def test_any_text_is_read_or_refused_in_one_line_and_written_back(temporal):
    rng, accepted = random.Random(5), 0
    for _ in range(6000):
        spaces = rng.random() < 0.5
        text = (" " * spaces).join(rng.choices(_PIECES, k=rng.randint(0, 8)))
        try:
            reading = read_formula(text, temporal)
        except MalformedFormula as refused:
            assert len(str(refused).splitlines()) == 1
            continue
        accepted += 1
        written = re.sub(
            r"p\d+", lambda token: quoted(reading.names[token[0]]), infix(reading.tokens)
        )
        assert read_formula(written, temporal) == reading, text
        assert written.isprintable()
    assert accepted > 150


@pytest.mark.parametrize(
    "prefix, text",
    [
        ("! a", "!a"),
        ("X X a", "X X a"),
        ("& U a b ! X c", "(a U b) & !X c"),
        ("U a & b c", "a U (b & c)"),
        ("G F -> a <-> b xor 0 c", "G F (a -> (b <-> (0 xor c)))"),
        ("R W a b M c | d e", "(a W b) R (c M (d | e))"),
        ("& speed_limit X1", 'speed_limit & "X1"'),
        ("U true Ga", '"true" U "Ga"'),
    ],
)
def test_formulas_are_written_for_people(prefix, text):
    assert infix(prefix.split()) == text


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


@pytest.mark.slow
def test_reading_takes_linear_time():
    def seconds(text):
        begin = time.process_time()
        try:
            read(text)
        except MalformedFormula:
            pass
        return time.process_time() - begin

    pieces = ["!", "a & ", "(a) | ", '"x" & ', "X[", '"\\"', "( ", "a-a", "r[0] -> ", "  ", "G"]
    for piece in pieces:
        small, large = (seconds(piece * (count // len(piece))) for count in (4000, 64000))
        assert large < 60 * small + 3, piece  # quadratic time would be a minute


@pytest.mark.slow
def test_deep_and_long_texts():
    assert read("(" * 5000 + "a" + ")" * 5000) == "a"
    assert read("!" * 50000 + "a").split() == ["!"] * 50000 + ["a"]
    assert read("a & " * 50000 + "b").split() == ["&"] * 50000 + ["a"] * 50000 + ["b"]
