"""The page's reader, judges and grammars, run by node, against those of the package."""

import json
import random
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from sit_fairseq.domains import find
from sit_fairseq.domains.formulas.infix import infix
from sit_fairseq.domains.formulas.reading import read_formula
from sit_fairseq.domains.formulas.shapes import Shapes
from sit_fairseq.domains.formulas.syntax import ARITY, CONSTANTS, TRACE_MARKS
from sit_fairseq.domains.ltl.spot_judge import SpotJudge
from sit_fairseq.domains.ltl.tableau import depth_first_trace
from sit_fairseq.domains.prop.depth_first import depth_first_answer
from sit_fairseq.domains.prop.judges import BitsJudge
from sit_fairseq.domains.prop.propositional import OPERATORS, random_formula
from sit_fairseq.errors import MalformedFormula
from sit_fairseq.evaluation.formula_answers import answer_formulas
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.model import Answer

PAGE = Path(__file__).parents[2] / "examples" / "playground"

_SCRIPT = """
import {{ readFileSync }} from "node:fs";
import * as reader from "{page}/reader.js";
import * as judge from "{page}/judge.js";
import * as grammars from "{page}/grammars.js";
const ask = {function};
const attempt = (given) => {{ try {{ return ask(...given); }} catch (error) {{ return error.message; }} }};
console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(attempt)));
"""


def node(function, asked):
    """What a function of JavaScript says to each list of arguments, or the message of its error."""
    script = _SCRIPT.format(page=PAGE.as_uri(), function=function)
    command = ["node", "--input-type=module", "--eval", script]
    given = json.dumps(asked)
    result = subprocess.run(command, input=given, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def slots(text):
    """Tokens over p0, p1, ... as the page has them."""
    return [int(token[1:]) if token[0] == "p" else token for token in text.split()]


def formulas(seed, number, temporal):
    """Formulas as people write them and random ones in turn, over p0, p1, ... in order."""
    rng, symbols = random.Random(seed), [f"p{index}" for index in range(6)]
    written = Shapes(rng, symbols, 35, temporal=temporal)
    operators = tuple(ARITY) if temporal else OPERATORS
    for number in range(number):
        tokens = random_formula(rng, rng.randint(1, 25), symbols[:3], operators)
        tokens = written.draw() if number % 2 else tokens
        yield " ".join(read_formula(" ".join(tokens), temporal).tokens)


def changed(rng, tokens, wild):
    """An answer in which a token has become another one: a wild one, or one of as many operands."""
    place = rng.randrange(len(tokens))
    arity = ARITY.get(tokens[place], 0)
    like = (["p0", "p1", "p2", "0", "1"], ["!"], ["&", "|", "xor", "->"])[arity]
    others = wild if tokens[place] in TRACE_MARKS or rng.random() < 0.1 else like
    return [*tokens[:place], rng.choice(others), *tokens[place + 1 :]]


def differences(asked, found, expected):
    """The pairs of which the page says something else."""
    return [triple for triple in zip(asked, found, expected) if triple[1] != triple[2]]


def test_traces_are_judged_as_by_spot():
    """Right answers and changed ones."""
    rng, spot = random.Random(1), SpotJudge()
    asked, impossible = [], ["{ 1 }", "p0 ; { ! p0 }", "{ & p0 ! p0 }"]
    for source in formulas(2, 1000, temporal=True):
        trace = depth_first_trace(source.split())
        right = rng.choice(impossible).split() if trace is None else trace.tokens
        wrong = changed(rng, right, ["p0", "1", "&", ";", "{", "}", "G"])
        asked += [(source, " ".join(answer)) for answer in (right, wrong)]
    pairs = [(slots(source), slots(answer)) for source, answer in asked]
    found = node("(...pair) => judge.judgeTrace(...pair)", pairs)
    expected = [spot.verify(*pair).name for pair in asked]
    assert differences(asked, [judged["verdict"] for judged in found], expected) == []
    assert min(map(expected.count, ("satisfied", "violated", "invalid", "vacuous"))) >= 20
    for (source, _), judged, verdict in zip(asked, found, expected):
        if verdict == "violated":
            impossible = "no answer exists" in judged["reason"][0]
            assert impossible == (not spot.satisfiable(source.split())), source


def test_a_formula_that_is_too_large_is_not_checked():
    clauses = " & ".join(f"(F a{n} | G b{n} | X c{n} U d{n})" for n in range(12))
    readings = [read_formula(f"{not_}G ({clauses})", temporal=True) for not_ in ("!", "")]
    pairs = [(slots(" ".join(reading.tokens)), ["{", 0, "}"]) for reading in readings]
    found = node("(...pair) => judge.judgeTrace(...pair).verdict", pairs)
    assert found == ["not checked", "violated"]  # what is known does not need the other question


def test_assignments_are_judged_by_the_truth_table():
    rng, bits, asked = random.Random(3), BitsJudge(), []
    for source in formulas(4, 500, temporal=False):
        right = (depth_first_answer(source.split()) or "p0 1").split() or ["p0", "1"]
        asked += [(source, " ".join(answer)) for answer in (right, changed(rng, right, ["1", "&"]))]
    pairs = [(slots(source), slots(answer)) for source, answer in asked]
    found = node("(...pair) => judge.judgeAssignment(...pair).verdict", pairs)
    expected = [bits.verify(*pair).name for pair in asked]
    assert differences(asked, found, expected) == []
    assert min(map(expected.count, ("satisfied", "violated", "invalid"))) >= 20


ODD = [
    *("GFa & XXp0", "[] (req => <> grant)", "() a", "□(a → ◇b) ∧ ¬c", "a /\\ ~b \\/ c ⊕ d"),
    *("not a AND b Or TRUE", "a V b M c", "a <--> b --> c", '"two words" W "G"', '"\\"\\\\" & "x"'),
    *("", "  ", "a &", "a b", "(a & b) c", "| a", "!(a", "a) | b", "a == b", "a & 3b"),
    *("()", "a (b)", '"a', "Ga U Fb12", "GX", "x.1 & café", "Ω | 名 ^ λ", "🦊 & a", 'a & "🦊" = b'),
    *("U a b", "& | a b ! c", "& a", "X", "XF a", "p1 & p0", "constructor & __proto__", "1 & 0"),
    *("a\t&\nb", "a U b W c R d", "((((a))))", "& a & b", "xor a b", "iff a", "& a true", "false"),
    *("| True a", "🦊🦊 & (b", "Xa", "Grant -> a", "GFa", "G Fa", "G TRUE", "! False", "Grant"),
    *("or", "5", "²", "01", "V", "V a b", "U a GFb", "FB", "GF1", "Found.x", "X1 & G0", "a S b"),
    *("G (a -> F b)", "X[3] a", "a=1", "a*b+c∩d∪e⟶f⟹g", "◯⬜◻⋄♢a", "⊤ ⊻ ⊥ ⟺ a ≡ b ⋀ c ⋁ d"),
    *(
        "a ↮ b ≢ ￢c",
        "a ⋂ b ｜ c",
        "a ⊼ b",
        "a ~> b",
        "a |-> b",
        "a ∈ b",
        "a // b",
        "a # b",
        "X^3 a",
    ),
    *(
        "F<=5 a",
        '"a", "b"',
        "'a'",
        '"F ""a b"""',
        "a\u200b",
        "\u2060a",
        "a <- 1",
        '"always | b"',
        "a ## b",
    ),
    *(
        "& Not a",
        "U True a",
        "always (a -> Eventually b)",
        "a until b weak\tUNTIL c",
        "a strong release b",
    ),
    *(
        "F Release",
        "next & a",
        "always",
        "a next b",
        "heat until done",
        "r[0] & pid[0].state[next]",
    ),
    *(
        "X[3]",
        "GF[a]",
        "Gr[0]",
        "F[0:3] a",
        "not[a]",
        "a[1]-b",
        "[a & b]",
        "a[]",
        "r[ 0 ]",
        "{a}",
        "1[0]",
    ),
    *(
        "door-open & IL-2",
        "X-ray",
        "a--b",
        "-a",
        "a -b",
        "a->b-c",
        "a<-b",
        "a <== b",
        "a ==> b <==> c",
    ),
    *(
        "a = b",
        "a=1",
        "a != b",
        "a<=b",
        "a < b",
        "a ≥ b",
        "a := b",
        "a <> b",
        "3 < x",
        '"x <= 3" & y',
    ),
    *(
        "light' & a",
        "lift:up",
        "$x",
        "a & b.",
        "A.B + !A.C",
        "A.B",
        "& a.b c",
        "in.a + b",
        "in.a & b",
    ),
    *(
        '"A.B" + c',
        "(a).",
        "a . b",
        "X.1",
        "a; b",
        "“a”",
        '"F a"',
        '"a"',
        '("F a & b")',
        '"true"',
        '"\\"F\\" a"',
    ),
    *(
        '"a\nb" & c',
        '"\x1b" & c',
        '"\u202e" & c',
        '"a\u2028" & c',
        "<>R",
        "a -> R b",
        "M -> a",
        "(P U R)",
    ),
    *(
        "G i p0",
        "G i p0 p1",
        "e p0 V t X p1",
        "^ p0 f",
        "& t f",
        "i p0 a",
        "W p0 p1",
        "p⊃◊q ⟷ ⬦r",
        "a ⋅ ∼b ∘ c",
    ),
    *(
        "And(a, b)",
        "a, b",
        "x' + y",
        "'a",
        "a = b & c",
        "v := a",
        "=AND(A,B)",
        "a = 1 & b",
        "a*=b&c",
    ),
    *(
        "req() & b",
        "a () b",
        "once (a since b)",
        "AG EF p",
        "a S b",
        "A [a U b]",
        "a nand b",
        "x >> y",
    ),
    *("T & a", "tt", "ff", "t", "& t f", 'G i "a b" F "c"', '& "x" t', "- a", "1. a", "c1: a"),
    *(
        "a" * 30 + " b",
        "X" + "a" * 30 + "[0]",
        "G" + "B" * 30,
        "a U",
        "(a",
        "[] [] a",
        "<> <> b",
        "□a",
        "○",
    ),
]


@pytest.mark.parametrize("temporal", [False, True])
def test_formulas_are_read_as_in_python(temporal):
    texts = list(ODD)
    for source in formulas(5, 1000, temporal):
        texts += [source, infix(source.split())]
    rng = random.Random(6)
    for text in texts[-400:]:  # with fewer brackets, and with faults
        places = [place for place, letter in enumerate(text) if letter in "()"] or [len(text)]
        texts += [text.replace("(", "").replace(")", "")]
        texts += [text[: (place := rng.choice(places))] + text[place + 1 :]]

    pieces = sorted({piece for text in ODD for piece in re.findall(r"\w+|\W", text)})
    texts += ["".join(rng.choices(pieces, k=rng.randint(1, 8))) for _ in range(3000)]
    texts += [" ".join(rng.choices(pieces, k=rng.randint(1, 5))) for _ in range(3000)]

    def python(text):
        try:
            reading = read_formula(text, temporal)
            return {"tokens": slots(" ".join(reading.tokens)), "names": reading.names}
        except MalformedFormula as error:
            return str(error).split(" at character ")[-1].lower().rstrip(".")

    def page(found):
        if isinstance(found, str):
            return found.split(" at character ")[-1].lower().rstrip(".")
        return found

    read = node("(...given) => reader.readFormula(...given)", [(text, temporal) for text in texts])
    expected = list(map(python, texts))
    assert differences(texts, list(map(page, read)), expected) == []
    assert sum(isinstance(one, str) for one in expected) > 50


def test_long_texts_are_read_in_linear_time():
    names = " & ".join(f"a{number}" for number in range(50000))
    asked = [(text, True) for text in (names, "!" * 100000 + "a", '"x" | ' * 50000, "X[" * 50000)]
    function = """(...given) => {
        const begin = performance.now();
        try { reader.readFormula(...given); } catch {}
        return performance.now() - begin;
    }"""
    assert max(node(function, asked)) < 5000


@pytest.mark.parametrize("logic, label", [("prop", depth_first_answer), ("ltl", depth_first_trace)])
def test_answers_are_written_as_by_sit_answer(logic, label):
    asked = []
    for source in formulas(7, 300, temporal=logic == "ltl"):
        answer = label(source.split())
        if answer is not None:
            # A name that needs no quotes, and two that do.
            text = infix(source.split()).replace("p0", "req").replace("p1", '"Go 1"')
            text = text.replace("p2", '"and"')
            asked.append((text, answer if logic == "prop" else " ".join(answer.tokens)))
    answers = iter([answer for _, answer in asked])
    accepted = dict(verdict=Verdict.satisfied)
    model = SimpleNamespace(
        answer=lambda sources, **_: [Answer(next(answers), **accepted) for _ in sources]
    )
    judges = SimpleNamespace(solvable=lambda sources: [], verify_all=lambda pairs: [])
    texts = [text for text, _ in asked]
    expected = [one.text for one in answer_formulas(texts, find(logic), model, judges, [3], 60)]
    script = """(source, answer, temporal) => {
        const {names} = reader.readFormula(source, temporal);
        return reader.text(reader.answerForPeople(answer, temporal), names);
    }"""
    given = [(text, slots(answer), logic == "ltl") for text, answer in asked]
    assert differences(asked, node(script, given), expected) == []


@pytest.mark.parametrize("semantics, name", [("prop", "assignments"), ("ltl", "traces")])
def test_grammars_are_those_of_the_package(semantics, name):
    rng, grammar = random.Random(8), find(semantics).grammar()
    alphabet = [*ARITY, *CONSTANTS, *TRACE_MARKS, "<unk>", 0, 1, 2]
    asked = []
    for _ in range(500):
        tokens, state = [], grammar.start()
        while state is not None and len(tokens) < 12:
            following = [token for token in alphabet if grammar.next(state, token) is not None]
            tokens.append(rng.choice(following or alphabet))
            state = grammar.next(state, tokens[-1])
        asked.append([[*tokens[:-1], rng.choice(alphabet)] if rng.random() < 0.5 else tokens])

    def needed(tokens):
        state, found = grammar.start(), []
        for token in tokens:
            state = grammar.next(state, token)
            if state is None:
                return [*found, None]
            found.append(grammar.shortest(state))
        return found

    script = f"""(tokens) => {{
        const [found, grammar] = [[], grammars.{name}];
        let state = grammar.start;
        for (const token of tokens) {{
            state = grammar.next(state, token);
            if (!state) return [...found, null];
            found.push(grammar.shortest(state));
        }}
        return found;
    }}"""
    assert differences(asked, node(script, asked), [needed(*tokens) for tokens in asked]) == []
