"""``sit ask-llm``, against a server on this machine."""

import json
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from chat_server import KEY, ChatServer, completion, failure, formula_of
from command_line import ROOT, sit
from conftest import needs_spot

from sit_fairseq.datasets.grid import Cell, Grid
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.llm.endpoint import Endpoint

PROP = {
    # formula: label, formula for people, what the model writes
    "| a b": ("a 1", "a | b", '{"a": true, "b": null}'),
    "& a b": ("a 1 b 1", "a & b", '{"b": true, "a": true}'),
    "& a ! b": ("a 1 b 0", "a & !b", '{"a": true, "b": null}'),
    "xor a b": ("a 1 b 0", "a xor b", '{"a": false, "b": true}'),
    "! a": ("a 0", "!a", "a is false"),
    "a": ("a 1", "a", '{"a": 1}'),
}
LTL = {
    "X a": ("1 ; a ; { 1 }", "X a", "1; a; cycle{1}"),
    "U a b": ("b ; { 1 }", "a U b", "a; a; cycle{a}"),
    "X & a b": ("1 ; & a b ; { 1 }", "X (a & b)", "1; b & a; cycle{1}"),
    "a": ("a ; { 1 }", "a", "a & !a; cycle{1}"),
    "! 1": ("{ 0 }", "!1", "There is none."),
}


@pytest.fixture
def main(monkeypatch):
    """Runs the command."""
    level = logging.getLogger().level

    def run(arguments):
        monkeypatch.setattr(sys, "argv", ["/bin/sit", "ask-llm", *arguments])
        sit("ask-llm", *arguments)

    yield run
    logging.getLogger().setLevel(level)


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with ChatServer() as server:
        yield server


def write(prefix, data):
    """Writes the formulas and labels of a table like those above."""
    Path(f"{prefix}.src").write_text("".join(f"{source}\n" for source in data))
    Path(f"{prefix}.tgt").write_text("".join(f"{label[0]}\n" for label in data.values()))
    return str(prefix)


def model_of(data):
    """A model that answers by a table."""
    contents = {people: content for _, people, content in data.values()}
    return lambda body: completion(contents[formula_of(body)])


def options(server, folder, *more, semantics="prop"):
    """A command line with the result in a folder."""
    result = str(folder / "out" / "result.json")
    base = ["--semantics", semantics, "--model", "m", "--base-url", server.url]
    return [*base, "--max-retries", "0", "--result", result, *more]


def test_propositional_logic(server, main, tmp_path, capfd):
    server.answer = model_of(PROP)
    prefix = write(tmp_path / "test", PROP)
    prices = ["--input-price", "2", "--output-price", "30"]
    main([prefix, *options(server, tmp_path, *prices, "--temperature", "0", "--model-seed", "7")])
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    found = result["result"]
    assert {word: n for word, n in found["verdicts"].items() if n} == {
        "satisfied": 3,
        "violated": 1,
        "invalid": 2,
    }
    counts = [found[name]["count"] for name in ("correct", "exact", "exact_modulo_order")]
    assert counts == [3, 1, 2]
    assert found["tokens"] == {"prompt": 600, "completion": 60, "unknown": 0}
    assert found["cost"] == pytest.approx(0.003)
    assert found["models"] == ["stub-2026"]
    assert 0 < found["latency"]["p50"] <= found["latency"]["p95"]
    assert result["samples"] == 6
    assert set(result["files"]) == {f"{prefix}.src", f"{prefix}.tgt"}
    assert result["versions"]["openai"]
    assert result["command"][:4] == ["sit", "ask-llm", prefix, "--semantics"]
    body = server.bodies[0]
    assert (body["model"], body["temperature"], body["seed"]) == ("m", 0.0, 7)
    assert body["response_format"]["json_schema"]["strict"] is True
    out, err = capfd.readouterr()
    table = re.sub(" +", " ", out)
    assert "| correct | 3 | 50.00 % " in table and "| invalid | 2 | 33.33 % " in table
    assert "| seconds per answer | " in table and "cost: 0.0030" in out
    written = [path.read_text() for path in (tmp_path / "out").iterdir()]
    assert len(written) == 2
    assert KEY not in "".join([out, err, *written])


@needs_spot
def test_ltl(server, main, tmp_path):
    server.answer = model_of(LTL)
    prefix = write(tmp_path / "test", LTL)
    main([prefix, *options(server, tmp_path, semantics="ltl")])
    found = json.loads((tmp_path / "out" / "result.json").read_text())["result"]
    assert {word: n for word, n in found["verdicts"].items() if n} == {
        "satisfied": 2,
        "violated": 1,
        "vacuous": 1,
        "invalid": 1,
    }
    counts = [found[name]["count"] for name in ("correct", "exact", "exact_modulo_order")]
    assert counts == [2, 1, 2]
    assert found["cost"] is None
    assert set(server.bodies[0]) == {"model", "messages"}  # nothing that was not asked for


def test_the_papers_prompt(server, main, tmp_path):
    server.answer = model_of(PROP)
    sources, labels = list(PROP), [label for label, _, _ in PROP.values()]
    cells = [Cell(2, 3, 0, 2), Cell(2, 4, 2, 1), Cell(2, 3, 3, 1), Cell(1, 2, 4, 2)]
    Grid(cells, sources, labels).write(str(tmp_path / "grid"))
    prefix = str(tmp_path / "grid" / "grid")
    main([prefix, *options(server, tmp_path, "--prompt", "paper")])
    asked = json.loads((tmp_path / "out" / "result.json").read_text())
    assert asked["options"]["prompt"] == "paper" and asked["result"]["correct"]["count"] == 3
    for body in server.bodies:
        assert body["messages"][0]["content"].startswith("Your task is to generate an assignment")


def test_a_server_that_dies_costs_no_answer(server, main, tmp_path, capfd):
    prefix = write(tmp_path / "test", PROP)
    model = model_of(PROP)
    server.script = [model] * 3
    server.answer = lambda body: failure(503, f"going down, {KEY}")
    arguments = [prefix, *options(server, tmp_path, "--concurrency", "1")]
    with pytest.raises(UserError) as error:
        main(arguments)
    message = str(error.value)
    assert "status 503" in message and message.endswith("the same command goes on from there.")
    assert f"3 of 6 answers are in {tmp_path / 'out' / 'result.answers.jsonl'}" in message
    assert KEY not in message
    assert not (tmp_path / "out" / "result.json").exists()
    server.answer = model
    main(arguments)
    asked = [formula_of(body) for body in server.bodies]
    assert len(asked) == 3 + 1 + 3
    assert sorted(asked[:3] + asked[4:]) == sorted(people for _, people, _ in PROP.values())
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert result["result"]["correct"]["count"] == 3
    assert result["result"]["tokens"]["prompt"] == 600  # what was paid before is part of it
    assert KEY not in "".join(capfd.readouterr())


def test_an_interrupt_costs_no_answer(server, main, tmp_path, monkeypatch):
    prefix = write(tmp_path / "test", PROP)
    server.answer = model_of(PROP)
    answer = Endpoint.answer

    def interrupted(self, request):
        if len(server.bodies) == 2:
            raise KeyboardInterrupt
        return answer(self, request)

    arguments = [prefix, *options(server, tmp_path, "--concurrency", "1")]
    with monkeypatch.context() as patch:
        patch.setattr(Endpoint, "answer", interrupted)
        with pytest.raises(UserError, match="Interrupted. 2 of 6 answers are in .*goes on"):
            main(arguments)
    main(arguments)
    assert len(server.bodies) == 6


def test_more_samples_cost_only_what_is_new(server, main, tmp_path):
    prefix = write(tmp_path / "test", PROP)
    server.answer = model_of(PROP)
    for samples, asked in [("2", 2), ("5", 5), ("2", 5), ("100", 6)]:
        main([prefix, *options(server, tmp_path, "--samples", samples)])
        assert len(server.bodies) == asked
    main([prefix, *options(server, tmp_path, "--samples", "2", "--seed", "3")])
    assert len(server.bodies) == 6
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert (result["samples"], result["seed"]) == (2, 3)


@pytest.mark.parametrize("follows_names, covariance", [(True, 1.0), (False, 0.0)])
def test_renamings(server, main, tmp_path, follows_names, covariance):
    data = {"| a b": ("a 1",), "| b a": ("b 1",), "1": ("",)}

    def answer(body):
        names = body["response_format"]["json_schema"]["schema"]["required"]
        names = names if follows_names else sorted(names)
        return completion(json.dumps({name: name == names[0] or None for name in names}))

    server.answer = answer
    main([write(tmp_path / "test", data), *options(server, tmp_path, "--renamings", "60")])
    # The two formulas are renamings of each other, and 1 has nothing to be renamed.
    assert len(server.bodies) == 3
    found = json.loads((tmp_path / "out" / "result.json").read_text())["result"]
    measured = found["alpha_covariance"]
    assert list(measured) == ["2"]
    assert (measured["2"]["samples"], measured["2"]["renamings"]) == (2, 2)
    assert measured["2"]["mean"] == covariance
    assert found["correct"]["count"] == 3


def test_unreadable_answers_agree_with_none(server, main, tmp_path):
    server.answer = lambda body: completion("I give up.")
    data = {"| a b": ("a 1",), "& c b": ("b 1 c 1",)}
    main([write(tmp_path / "test", data), *options(server, tmp_path, "--renamings", "5")])
    found = json.loads((tmp_path / "out" / "result.json").read_text())["result"]
    assert found["alpha_covariance"]["2"]["renamings"] == 5
    assert found["alpha_covariance"]["2"]["mean"] == 0
    assert found["verdicts"]["invalid"] == 2


def test_examples_from_data(server, main, tmp_path):
    train = {
        **PROP,  # tested themselves
        **{"& c d": ("c 1 d 1",), "! d": ("d 0",), "| c d": ("d 1",), "xor c d": ("d 1 c 0",)},
    }
    server.answer = model_of(PROP)
    prefix, examples = write(tmp_path / "test", PROP), write(tmp_path / "train", train)
    main([prefix, *options(server, tmp_path, "--examples", examples)])
    prompts = {body["messages"][0]["content"].split("Your turn")[0] for body in server.bodies}
    (prompt,) = prompts  # the same for all
    for shown in (
        'Formula: c & d\nAssignment: {"c": true, "d": true}',
        'Formula: !d\nAssignment: {"d": false}',
        'Formula: c | d\nAssignment: {"c": null, "d": true}',
        'Formula: c xor d\nAssignment: {"c": false, "d": true}',
    ):
        assert prompt.count(shown) == 1
    files = json.loads((tmp_path / "out" / "result.json").read_text())["files"]
    assert len(files) == 4


def test_dry_run(main, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setitem(sys.modules, "openai", None)  # whoever imports it fails
    prefix = write(tmp_path / "test", PROP)
    main([prefix, "--semantics", "prop", "--model", "m", "--dry-run", "--reasoning-effort", "low"])
    out = capsys.readouterr().out
    assert all(f"Your turn\nFormula: {people}\n" in out for _, people, _ in PROP.values())
    assert out.count('"reasoning_effort": "low"') == 6
    assert out.endswith("questions: 6, samples: 6; nobody was asked\n")
    assert sorted(os.listdir(tmp_path)) == ["test.src", "test.tgt"]


@pytest.mark.parametrize(
    "more, words",
    [
        (["--samples", "0"], ["--samples 0"]),
        (["--concurrency", "0"], ["--concurrency 0"]),
        (["--timeout", "0"], ["--timeout 0"]),
        (["--max-retries", "-1"], ["--max-retries -1"]),
        (["--renamings", "1"], ["--renamings 1"]),
        (["--base-url", "host/v1"], ["--base-url"]),
        (["--base-url", "http://secret@host/v1"], ["--base-url", "OPENAI_API_KEY"]),
        (["--examples", "{prefix}"], ["only 0 formulas", "--examples"]),
        (["--examples", "{prefix}", "--prompt", "paper"], ["leave out --examples"]),
        (["--result", "{prefix}.src/result.json"], ["Cannot write", "change --result"]),
    ],
)
def test_mistakes_are_told_before_anything_is_asked(server, main, tmp_path, more, words):
    prefix = write(tmp_path / "test", PROP)
    more = [option.format(prefix=prefix) for option in more]
    with pytest.raises(UserError) as error:
        main([prefix, *options(server, tmp_path, *more)])
    assert all(word in str(error.value) for word in words), error.value
    assert not server.bodies


@pytest.mark.parametrize(
    "source, target, words",
    [
        ("", "", ["no lines"]),
        ("a\n& a\n", "a 1\na 1\n", ["Line 2", "ends too early"]),
        ("a\nb\n", "a 1\n", ["2 lines", "has 1"]),
    ],
)
def test_data_that_cannot_be_used(server, main, tmp_path, source, target, words):
    (tmp_path / "test.src").write_text(source)
    (tmp_path / "test.tgt").write_text(target)
    with pytest.raises(UserError) as error:
        main([str(tmp_path / "test"), *options(server, tmp_path)])
    assert all(word in str(error.value) for word in words), error.value
    assert not server.bodies


def test_bad_examples(server, main, tmp_path):
    train = {f"& c{i} d": ("c 1",) for i in range(4)}
    more = ["--examples", write(tmp_path / "train", train)]
    with pytest.raises(UserError, match="with the answer 'c 1' cannot be an example"):
        main([write(tmp_path / "test", PROP), *options(server, tmp_path, *more)])


def test_command_ends_in_one_sentence(server, tmp_path):
    """As a process of its own, with a key that the server does not know."""
    server.answer = lambda body: failure(401, f"{KEY} is unknown")
    result = subprocess.run(
        [
            *(sys.executable, "-m", "sit_fairseq", "ask-llm"),
            write(tmp_path / "test", PROP),
            *options(server, tmp_path, "--concurrency", "2"),
        ],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "OPENAI_LOG": "debug"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 1
    last = result.stderr.strip().splitlines()[-1]
    assert "status 401: *** is unknown; check OPENAI_API_KEY. 0 of 6 answers" in last
    assert "Traceback" not in result.stderr
    assert KEY not in result.stdout + result.stderr
    assert "httpcore" not in result.stderr  # not what nobody asked for
