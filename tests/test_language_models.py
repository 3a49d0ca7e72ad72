"""The paper's prompts, and asking them: answers are kept, measured, and bounded."""

import json
import re
import resource
import sys
import time
from pathlib import Path

import pytest
from chat_server import KEY, ChatServer, completion, formula_of
from command_line import load_script, sit

from sit_fairseq.datasets.pair_files import write_pairs
from sit_fairseq.errors import UserError

ASK = load_script("examples/language_models/ask.py")
PROMPTS = sys.modules["prompts"]

EXAMPLES = {
    "ltl": {
        "X U & a X a X X b": "1 ; 1 ; 1 ; b ; { 1 }",
        "U ! c X U 1 b": "1 ; b ; { 1 }",
        "X ! X ! & b X b": "1 ; 1 ; b ; b ; { 1 }",
        "! U 1 ! c": "{ c }",
    },
    "prop": {
        "| ! a & c <-> b c": "a 0",
        "! <-> a xor ! a ! e": "a 1 e 1",
        "& a <-> ! a | ! c d": "a 1 c 1 d 0",
        "! | a ! | ! d & b d": "a 0 d 0",
    },
}
# Formula: label, formula for people, what the model writes.
PROBLEMS = {
    "| a b": ("a 1", "a | b", '{"a": true, "b": null}'),
    "& a b": ("a 1 b 1", "a & b", '{"b": true, "a": true}'),
    "& a ! b": ("a 1 b 0", "a & !b", '{"a": true, "b": null}'),
    "xor a b": ("a 1 b 0", "a xor b", '{"a": false, "b": true}'),
    "! a": ("a 0", "!a", "a is false"),
    "a": ("a 1", "a", '{"a": 1}'),
}


def model(request):
    contents = {people: content for _, people, content in PROBLEMS.values()}
    return completion(contents[formula_of(request)])


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", f" {KEY}\n")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ChatServer(model) as server:
        yield server


@pytest.fixture
def ask(tmp_path, monkeypatch, server):
    """Runs the script on the problems, and returns the file of the answers."""
    pairs = [(formula, label) for formula, (label, *_) in PROBLEMS.items()]
    write_pairs(str(tmp_path / "test"), pairs)

    def run(*words):
        out = tmp_path / "answers.jsonl"
        options = ["--semantics", "prop", "--model", "m", "--base-url", server.url]
        options += ["--max-retries", "0", "--out", str(out), *words]
        monkeypatch.setattr(sys, "argv", ["ask.py", str(tmp_path / "test"), *options])
        ASK.main()
        return out

    return run


@pytest.mark.parametrize("semantics, label", [("ltl", "Trace"), ("prop", "Assignment")])
def test_listings_are_quoted_with_examples_that_can_be_read(semantics, label):
    prompt = PROMPTS.prompt("& a ! b", semantics)
    assert "{{" not in prompt and "{formula}" not in prompt
    formulas = re.findall("^Formula: (.*)$", prompt, re.MULTILINE)
    assert formulas[-1] == "a & !b"
    for source, shown in zip(EXAMPLES[semantics], formulas[:-1], strict=True):
        assert PROMPTS.prompt(source, semantics).endswith(
            f"Formula: {shown}\n" + prompt.rsplit("a & !b\n")[-1]
        )
    answers = re.findall(f"^{label}: (.*)$", prompt, re.MULTILINE)
    targets = list(EXAMPLES[semantics].values())
    assert [PROMPTS.read_answer(answer, semantics) for answer in answers] == targets


@pytest.mark.parametrize(
    "semantics, content, answer",
    [
        ("ltl", "a; b & !c; cycle{1}", "a ; & b ! c ; { 1 }"),
        ("ltl", "```text\na;\ncycle{a}\n```\n", "a ; { a }"),
        ("ltl", "Trace: cycle{a}", None),
        ("ltl", "a; X b; cycle{1}", None),
        ("ltl", "", None),
        ("ltl", "a & b & !c | d ;cycle {X1 and\n ~cycle}", "| & & a b ! c d ; { & X1 ! cycle }"),
        *(("ltl", f"{text}{{b}}", None) for text in ("a; ", "a cycle", "cycle{", "X; cycle")),
        *(("ltl", f"{text}; cycle{{b}}", None) for text in ("& a b", "a) & (b", '"a b"', "a &")),
        ("ltl", "cycle{b} and so on", None),
        ("ltl", "cycle{}", None),
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


def test_questions_are_not_sent_to_another_server(server, ask):
    with ChatServer(model) as other:
        server.status, server.headers = 307, {"Location": f"{other.url}/chat/completions"}
        with pytest.raises(UserError, match="does not answer"):
            ask()
        assert server.requests and not other.requests


def test_answers_are_measured_by_sit_evaluate(server, ask, tmp_path, capfd):
    out = ask("--request", '{"temperature": 0, "seed": 7}')
    prefix, result = tmp_path / "test", tmp_path / "result.json"
    options = ("--generated", out, "--result", result)
    sit("evaluate", "prop", prefix, *options)
    found = json.loads(result.read_text())["result"]
    verdicts = {verdict: count for verdict, count in found["verdicts"].items() if count}
    assert verdicts == {"satisfied": 3, "violated": 1, "invalid": 2}
    request = next(r for r in server.requests if formula_of(r) == "a & b")
    assert (request["model"], request["temperature"], request["seed"]) == ("m", 0, 7)
    schema = request["response_format"]["json_schema"]["schema"]
    assert schema["properties"] == {name: {"type": "boolean"} for name in "ab"}
    assert "response_format" not in PROMPTS.answer_format("a", "ltl")
    assert set(server.keys) == {f"Bearer {KEY}"}
    assert KEY not in "".join([out.read_text(), result.read_text(), *capfd.readouterr()])


def test_a_server_that_dies_costs_no_answer(server, ask):
    def dying(request):
        server.status = 503 if len(server.requests) >= 3 else 200
        return model(request)

    server.answer = dying
    with pytest.raises(UserError, match="does not answer: InternalServerError.*goes on from there"):
        ask("--concurrency", "1")
    server.status, server.answer = 200, model
    ask()
    asked = list(map(formula_of, server.requests))
    assert len(set(asked)) == len(PROBLEMS) and len(asked) == len(PROBLEMS) + 1
    ask()
    assert len(server.requests) == len(asked), "what was answered is not asked again"
    with pytest.raises(UserError, match="of another run .*request.*--out"):
        ask("--request", '{"temperature": 1}')


def endless(write, body):
    while True:
        write(b" " * 65536)


def dripping(write, body):
    while True:
        write(b" ")
        time.sleep(0.02)


@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize(
    "send, reason", [(endless, "more than 1048576 bytes"), (dripping, "within 0.5 seconds")]
)
def test_a_server_that_keeps_sending_is_left(server, ask, status, send, reason):
    server.send, server.status = send, status
    began = time.monotonic()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UserError, match=reason):
        ask("--timeout", "0.5" if send is dripping else "60")
    assert time.monotonic() - began < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 * 1024


def test_what_is_compressed_is_not_unpacked(server, ask):
    server.headers = {"Content-Encoding": "gzip"}
    with pytest.raises(UserError, match="compressed response"):
        ask()


@pytest.mark.parametrize(
    "status, body, reason",
    [
        (401, json.dumps({"error": {"message": f"Bearer {KEY} is wrong"}}), r"\*\*\* is wrong"),
        (200, "<html>welcome</html>", "does not answer"),
        (200, "[" * 100000, "does not answer"),
    ],
)
def test_other_failures_are_one_sentence_without_the_key(server, ask, status, body, reason):
    server.status, server.answer = status, lambda request: body.encode()
    with pytest.raises(UserError, match=reason) as error:
        ask()
    assert KEY not in str(error.value) and "\n" not in str(error.value)


def test_a_refusal_and_half_a_character_are_answers(server, ask):
    server.answer = lambda request: completion(None, refusal=f"No {KEY} \ud800")
    contents = [json.loads(line).get("content") for line in ask().read_text().splitlines()]
    assert contents[1:] == ["No *** ?"] * len(PROBLEMS)


def test_a_key_is_needed(ask, server, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(UserError, match="OPENAI_API_KEY is not set"):
        ask()


def test_a_dry_run_asks_nobody(server, ask, capsys):
    out = ask("--dry-run")
    printed = capsys.readouterr().out
    assert printed.count("Your Turn") == len(PROBLEMS) and '"model": "m"' in printed
    assert not server.requests and not Path(out).exists()
