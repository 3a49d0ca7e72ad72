"""What a language model is asked, and how its answers are read."""

import json

import pytest
from conftest import needs_spot

from sit_fairseq.evaluation.llm.dialect import DIALECTS, Example, UnreadableAnswer
from sit_fairseq.judging.judge import make_judge
from sit_fairseq.judging.verdict import Verdict

LTL, PROP = DIALECTS["ltl"], DIALECTS["prop"]


@pytest.mark.parametrize("semantics", [pytest.param("ltl", marks=needs_spot), "prop"])
def test_examples_of_the_paper_are_right(semantics):
    judge = make_judge(semantics)
    examples = DIALECTS[semantics].examples
    assert len(examples) == 4
    for example in examples:
        assert judge.verify(*example) is Verdict.satisfied, example


def test_prompt_of_ltl():
    prompt = LTL.prompt("U a & b ! X1", [Example("G | a b", "a ; { & a ! b ; b }")])
    instructions, example, turn = prompt.rsplit("\n\n", 2)
    assert all(f"\n{operator}: " in instructions for operator in "!&|XUFGWRM01")
    assert example == "Example 1\nFormula: G (a | b)\nTrace: a; cycle{a & !b; b}"
    assert turn.startswith('Your turn\nFormula: a U (b & !"X1")\n')


def test_prompt_of_propositional_logic():
    prompt = PROP.prompt("xor p7 a", [Example("| b & c a", "a 0 b 1"), Example("| é ! é", "")])
    instructions, first, second, turn = prompt.rsplit("\n\n", 3)
    assert all(f"\n{op}: " in instructions for op in ["!", "&", "|", "xor", "<->", "->", "0", "1"])
    assert first == (
        "Example 1\nFormula: b | (c & a)\n" 'Assignment: {"b": true, "c": null, "a": false}'
    )
    assert second == 'Example 2\nFormula: "é" | !"é"\nAssignment: {"é": null}'
    assert turn.startswith("Your turn\nFormula: p7 xor a\n")


@pytest.mark.parametrize("semantics", ["ltl", "prop"])
def test_what_is_shown_can_be_read(semantics):
    dialect = DIALECTS[semantics]
    for example in dialect.examples:
        assert sorted(dialect.read(dialect.show(example))) == sorted(example.target.split())


@pytest.mark.parametrize("target", ["a", "a 2", "c 1", "a 1 a 0", "a 1 b"])
def test_only_assignments_are_shown(target):
    with pytest.raises(ValueError, match="not an assignment"):
        PROP.show(Example("& a b", target))


@pytest.mark.parametrize(
    "semantics, content, answer",
    [
        ("ltl", "a; b & !c; cycle{1}", "a ; & b ! c ; { 1 }"),
        ("ltl", "\n cycle{a}\n", "{ a }"),
        ("ltl", "```\ncycle{a}\n```", "{ a }"),
        ("ltl", "```text\na;\ncycle{a}\n```\n", "a ; { a }"),
        ("prop", '{"b": true, "a": false}', "b 1 a 0"),
        ("prop", '{"b": null, "a": true}', "a 1"),
        ("prop", "{}", ""),
        ("prop", '```json\n{"a": true}\n```', "a 1"),
        ("prop", '{"a": true, "a": false}', "a 1 a 0"),  # a contradiction, as the judge will say
        ("prop", '{"z": true}', "z 1"),  # maybe no symbol of the formula: the judge's to say
    ],
)
def test_answers(semantics, content, answer):
    assert " ".join(DIALECTS[semantics].read(content)) == answer


@pytest.mark.parametrize(
    "semantics, content, message",
    [
        ("ltl", "", "empty"),
        ("ltl", "I cannot find one.", "a trace has one '{'"),
        ("ltl", "Trace: cycle{a}", "cannot be read"),
        ("ltl", "a; X b; cycle{1}", "'X'"),
        ("prop", "", "not JSON"),
        ("prop", "a = true", "not JSON"),
        ("prop", '{"a": true', "not JSON"),
        ("prop", '[["a", true]]', "not a JSON object"),
        ("prop", "true", "not a JSON object"),
        ("prop", '{"a": 1}', "not an object from names"),
        ("prop", '{"a": "true"}', "not an object from names"),
        ("prop", '{"a": {"b": true}}', "not an object from names"),
        ("prop", '{"a 1 b": true}', "not an object from names"),
        ("prop", '{"": true}', "not an object from names"),
        ("prop", "[" * 100000, "not JSON"),
        ("prop", "1" * 10000, "not JSON"),
    ],
)
def test_what_is_no_answer(semantics, content, message):
    with pytest.raises(UnreadableAnswer, match=message):
        DIALECTS[semantics].read(content)


def test_schema_has_each_symbol_once_and_nothing_else():
    schema = PROP.schema("& xor b a | b 1")
    assert json.loads(json.dumps(schema)) == {
        "type": "object",
        "properties": {"b": {"type": ["boolean", "null"]}, "a": {"type": ["boolean", "null"]}},
        "required": ["b", "a"],
        "additionalProperties": False,
    }
    assert PROP.schema("| 1 0")["required"] == []
    assert LTL.schema("a") is None
