"""The paper's prompts: what is asked, and how answers are read and measured."""

import json
import sys

import pytest
from command_line import sit

from examples.language_models import prompts as PROMPTS
from sit_fairseq.datasets.pair_files import write_pairs
from sit_fairseq.errors import UserError

# Formula: label, formula for people, what the model writes.
PROBLEMS = {
    "| a b": ("a 1", "a | b", '{"a": true, "b": null}'),
    "& a b": ("a 1 b 1", "a & b", '{"b": true, "a": true}'),
    "& a ! b": ("a 1 b 0", "a & !b", '{"a": true, "b": null}'),
    "xor a b": ("a 1 b 0", "a xor b", '{"a": false, "b": true}'),
    "! a": ("a 0", "!a", "a is false"),
    "a": ("a 1", "a", '{"a": 1}'),
}


@pytest.mark.parametrize(
    "semantics, content, answer",
    [
        ("ltl", "a; b & !c; cycle{1}", "a ; & b ! c ; { 1 }"),
        ("ltl", "```text\na;\ncycle{a}\n```\n", "a ; { a }"),
        ("ltl", "a & b & !c | d ;cycle {X1 and\n ~cycle}", "| & & a b ! c d ; { & X1 ! cycle }"),
        *(("ltl", text, None) for text in ("", "Trace: cycle{a}", "a; X b; cycle{1}", "cycle{}")),
        *(("ltl", f"{text}{{b}}", None) for text in ("a; ", "a cycle", "cycle{", "X; cycle")),
        *(("ltl", f"{text}; cycle{{b}}", None) for text in ("& a b", "a) & (b", '"a b"', "a &")),
        ("prop", '{"b": null, "a": true}', "a 1"),
        ("prop", '```json\n{"a": true}\n```', "a 1"),
        ("prop", '{"a": true, "a": false}', "a 1 a 0"),  # a contradiction, as the judge will say
        ("prop", '[["a", true]]', None),
        ("prop", "[" * 100000, None),
    ],
)
def test_answers_are_read_or_refused(semantics, content, answer):
    if answer is None:
        with pytest.raises(ValueError):
            PROMPTS.read_answer(content, semantics)
    else:
        assert PROMPTS.read_answer(content, semantics) == answer


@pytest.fixture
def script(monkeypatch, capsys):
    """Runs the script, and returns the lines that it prints."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["prompts.py", *map(str, words)])
        PROMPTS.main()
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run


def test_answers_are_measured_by_sit_evaluate(script, tmp_path):
    pairs = [(formula, label) for formula, (label, *_) in PROBLEMS.items()]
    write_pairs(str(tmp_path / "test"), pairs + pairs[:1])
    asked = script("prop", tmp_path / "test")
    assert [request["source"] for request in asked] == list(PROBLEMS), "each formula once"
    lines = []
    for request in asked:
        [message] = request["messages"]
        _, people, content = PROBLEMS[request["source"]]
        assert f"Your Turn\nFormula: {people}\n" in message["content"]
        lines.append(json.dumps({"source": request["source"], "content": content}) + "\n")
    schema = asked[1]["response_format"]["json_schema"]["schema"]
    assert schema["properties"] == {name: {"type": "boolean"} for name in "ab"}
    assert "response_format" not in PROMPTS.answer_format("a", "ltl")
    contents, given = tmp_path / "contents.jsonl", tmp_path / "given.jsonl"
    contents.write_text("".join(lines))
    read = script("prop", "--answers", contents)
    given.write_text("".join(f"{json.dumps(line)}\n" for line in read))
    result = tmp_path / "result.json"
    sit("evaluate", "prop", tmp_path / "test", "--generated", given, "--result", result)
    found = json.loads(result.read_text())["result"]
    verdicts = {verdict: count for verdict, count in found["verdicts"].items() if count}
    assert verdicts == {"satisfied": 4, "violated": 1, "invalid": 2}


@pytest.mark.parametrize("line", ["x", "[]", '{"source": "a"}', '{"source": "a", "content": null}'])
def test_a_line_without_an_answer_is_named(script, tmp_path, line):
    path = tmp_path / "contents.jsonl"
    path.write_text(f'{{"source": "a", "content": ""}}\n{line}\n')
    with pytest.raises(UserError, match="line 2 of .*contents.jsonl"):
        script("ltl", "--answers", path)
