"""``sit answer`` with the shipped models: formulas of people in, verified answers out."""

import io
import json
import os
import re
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch
from command_line import ROOT, sit
from conftest import needs_spot

from sit_fairseq.domains.by_name import make_judge
from sit_fairseq.domains.formulas.reading import read_formula
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation import in_time
from sit_fairseq.judging import workers
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.symbols.saved_tokens import text_buffer


def test_formulas_of_any_notation_and_names(answer):
    formulas = ["a & (b || ~c)", "Door_open => !alarm", "& x1 | x2 ! x3", '"my event" xor p7']
    lines, status = answer("prop", *formulas, "--json")
    assert status == 0
    for formula, line in zip(formulas, map(json.loads, lines)):
        assert line["problem"] == formula and line["status"] == "verified"
        reading = read_formula(formula, temporal=False)
        numbers = {name: symbol for symbol, name in reading.names.items()}
        numbers = {} if "my event" in numbers else numbers
        tokens = [numbers.get(word, word) for word in line["answer"].split()]
        verdict = make_judge("prop").verify(" ".join(reading.tokens), " ".join(tokens))
        assert verdict is Verdict.satisfied


def test_answers_for_people_and_as_in_data_sets(answer):
    assert answer("prop", "a & !b") == (["a & !b"], 0)
    assert answer("prop", "a & !b", "--prefix") in [(["a 1 b 0"], 0), (["b 0 a 1"], 0)]
    assert answer("prop", "true", "& true 1") == (["anything"] * 2, 0)
    assert answer("prop", '!"true"', "--prefix") == (["p0 0"], 0)
    assert answer("prop", '!"true"') == (['!"true"'], 0)
    assert answer("prop", "a & !a", "a") == (["no answer exists", "a"], 0)
    (first, second), status = answer("prop", "a & (b | ", "a")
    assert "cannot be read: '|' at character 8" in first and (second, status) == ("a", 1)


@needs_spot
def test_traces_for_people(answer):
    formulas = "X (req & !grant) & G F grant", "!close U open", "G (a & !b & c) & G (d & e)"
    lines, status = answer("ltl", *formulas)
    assert "; " in lines[0] and "req & !grant" in lines[0]
    assert all(line.split("; ")[-1].startswith(("for ever", "then", "again")) for line in lines)
    moment = lines[2].removeprefix("for ever: ")
    assert status == 0 and sorted(moment.split(" & ")) == ["!b", "a", "c", "d", "e"]


@pytest.mark.parametrize(
    "verdict, words",
    [
        *(("timeout", "took too long"), ("error", "failed"), ("violated", "no hypothesis")),
        ("unavailable", "too hard for the judge"),
    ],
)
def test_why_a_judge_did_not_decide_is_told_in_words(answer, monkeypatch, verdict, words):
    judge = type(make_judge("prop"))
    monkeypatch.setattr(judge, "decide", lambda self, formula, found: Verdict(verdict))
    (line,), status = answer("prop", "a | b", "--beams", "1")
    assert line.startswith("not verified: ") and words in line and status == 1
    assert not {verdict.value for verdict in Verdict} & set(re.findall(r"\w+", line))


def test_a_time_limit_that_is_too_short_for_anything(answer):
    lines, _ = answer("prop", "a & b", "c", "--seconds", "0.001")
    assert len(lines) == 2


@needs_spot
def test_judges_start_once(answer, monkeypatch):
    started = []
    begin = workers._Worker.__init__

    def counted(self, *arguments):
        started.append(self)
        begin(self, *arguments)

    monkeypatch.setattr(workers._Worker, "__init__", counted)
    monkeypatch.setattr(in_time, "_BATCH", 1)
    answer("ltl", *[f"F a{number}" for number in range(6)])
    assert len(started) <= os.cpu_count()


def test_a_full_device_is_one_sentence():
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "sit_fairseq", "answer", "prop", "a", "b"]
        done = subprocess.run(command, cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "No space left on device" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@needs_spot
def test_clients_that_nobody_needs_are_set_aside(answer):
    """An arbiter of six clients, two of which must ask."""
    rules = []
    for i in range(6):
        rules += [f"G (r{i} -> F g{i})", f"G (g{i} -> X (!g{i} W r{i}))"]
        rules += [f"G !(g{i} & g{j})" for j in range(i)]
    (line,), status = answer("ltl", " & ".join([*rules, "F (r2 & X r5)"]), "--json")
    found = json.loads(line)
    assert found["status"] == "verified" and status == 0
    answered = make_judge("ltl").verify(found["source"], found["answer"])
    assert answered is Verdict.satisfied and "! g4" in found["answer"]


def test_a_file_and_its_pairs(answer, tmp_path):
    text = '\ufeffa & b\n\nalpha & !alpha\n(b\n!req\n"door open" & !b\n'
    (tmp_path / "formulas").write_text(text)
    files = ("--input", tmp_path / "formulas", "--output", tmp_path / "out")
    lines, status = answer("prop", *files)
    assert len(lines) == 5 and status == 1
    assert (tmp_path / "out.src").read_text() == "& a b\n! req\n& p0 ! p1\n"
    assert (tmp_path / "out.tgt").read_text().splitlines()[1:] == ["req 0", "p0 1 p1 0"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["formulas", "out.src", "out.tgt"]


def test_lines_and_names_of_json(answer, tmp_path):
    text = '// two\n\na & p0;  # first\np1 & "two words" -- "second"\r\n  ;\n"a//b" & c // d'
    (tmp_path / "formulas").write_text(text)
    lines, status = answer("prop", "--input", tmp_path / "formulas", "--json")
    found = list(map(json.loads, lines))
    assert status == 0 and [one["line"] for one in found] == [3, 4, 6]
    assert [one["problem"] for one in found] == ["a & p0", 'p1 & "two words"', '"a//b" & c']
    assert [one["source"] for one in found] == ["& a p0", "& p0 p1", "& p0 p1"]
    assert found[0]["names"] == {"a": "a", "p0": "p0"}
    assert found[1]["names"] == {"p0": "p1", "p1": "two words"}
    lines, status = answer("prop", "a", "a &", "--json")
    assert [json.loads(line)["line"] for line in lines] == [1, 2]


@pytest.mark.parametrize("way", ["file", "standard input"])
def test_bytes_that_are_no_text_are_one_line(answer, tmp_path, monkeypatch, way):
    data = b'\xef\xbb\xbfa & !b\n"caf\xe9" & a\r\n!c\n'
    (tmp_path / "formulas").write_bytes(data)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    path = tmp_path / "formulas" if way == "file" else "-"
    lines, status = answer("prop", "--input", path)
    assert lines == ["a & !b", "cannot be read: the line is no text in UTF-8", "!c"] and status == 1
    lines, status = answer("prop", '"caf\udce9"', "!c")
    assert lines == ["cannot be read: the line is no text in UTF-8", "!c"]


def test_no_name_passes_for_another_line(answer):
    forged = '"a\nno answer exists"', '"\x1b[2K\rverified"', '"a\u2028verified"', '"\u202eon"'
    lines, status = answer("prop", *forged, "anything")
    assert len(lines) == 5 and lines[4] == '"anything"' and status == 1
    assert all(line.startswith("cannot be read: ") and line.isprintable() for line in lines[:4])


@needs_spot
def test_what_is_too_long_is_said_in_words_of_this_command(answer):
    (line, *_), status = answer("ltl", "!" * 2000 + "a", "a U " * 600 + "X" * 10**5)
    assert line.startswith("cannot be answered: the sentence has 2001 tokens, more than the 1023")
    assert "--" not in line and status == 1


def test_a_model_is_asked_whatever_names_its_pattern_has(answer, tmp_path):
    state = torch.load(ROOT / "checkpoints/prop/model.pt", weights_only=True)
    for name in state["model"]:
        if name.endswith("vocabulary.symbols"):
            state["model"][name] = text_buffer("[a-z]")
    torch.save(state, tmp_path / "letters.pt")
    lines, status = answer("prop", "--path", tmp_path / "letters.pt", "p3 & !req", "--prefix")
    assert lines in (["p3 1 req 0"], ["req 0 p3 1"]) and status == 0
    wide = " & ".join(f"x{number}" for number in range(27))
    (line,), status = answer("prop", "--path", tmp_path / "letters.pt", wide)
    assert sorted(line.split(" & ")) == sorted(wide.split(" & ")) and status == 0


def test_models_that_cannot_answer_are_refused(tmp_path):
    state = torch.load(ROOT / "checkpoints/prop/model.pt", weights_only=True)
    state["model"] = {name: w for name, w in state["model"].items() if "vocabulary" not in name}
    state["cfg"]["model"]["_name"] = "transformer"
    torch.save(state, tmp_path / "vanilla.pt")
    for path in (tmp_path / "vanilla.pt", ROOT / "checkpoints/binding/model.pt"):
        with pytest.raises(UserError, match="change --path"):
            sit("answer", "prop", "--path", path, "a")


def test_dimacs(answer, tmp_path):
    """Its faults are named once for the file."""
    (tmp_path / "x.cnf").write_text("c two clauses\np cnf 3 2\n1 -2 0\n-1 3 0\n")
    (line,), status = answer("prop", "--input", tmp_path / "x.cnf", "--prefix")
    found = set(zip(line.split()[::2], line.split()[1::2]))
    assert status == 0 and found & {("x1", "1"), ("x2", "0")} and found & {("x1", "0"), ("x3", "1")}
    (tmp_path / "x.cnf").write_text("c\n1 -2 0\n2 3 0\n")
    (line,), status = answer("prop", "--input", tmp_path / "x.cnf")
    assert line.startswith("cannot be read: line 2 of DIMACS") and status == 1


@pytest.mark.parametrize(
    "words, message",
    [
        (("prop",), "--input"),
        (("prop", "a", "--input", "x"), "--input"),
        (("prop", "--input", "no_such"), "no_such .*change --input"),
        (("prop", "--input", "utf16.txt"), "UTF-16.*change --input"),
        (("prop", "utf16.txt"), "--input utf16.txt"),
        (("copying", "a"), "pass --path"),
        (("prop", "a", "--restart"), "change --output or --restart"),
        (("prop", "a", "--output", ""), "change --output"),
        (("prop", "--input", "mine.src", "--output", "mine"), "mine.src would be written over"),
        (
            ("prop", "a", "--path", ROOT / "checkpoints/planning"),
            "model, which is of planning; .*--path",
        ),
    ],
)
def test_mistakes(words, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.src").write_text("a\n")
    (tmp_path / "utf16.txt").write_text("a\nb\n", encoding="utf-16")
    with pytest.raises(UserError, match=message):
        sit("answer", *words)


OWN = """from dataclasses import replace
from sit_fairseq.domains import find
from sit_fairseq.domains.solver import Reading

def read(text):
    if text != "one of two":
        raise ValueError("no such riddle")
    return Reading(["|", "p0", "p1"], {"p0": "heads", "p1": "two words"})

def write(tokens, names):
    return f"say {names[tokens[0]]}"

DOMAIN = replace(find("prop"), name="riddles", read=read, write=write, split=None, rewrite=None, model=None)
"""


def test_a_domain_of_ones_own_is_answered(answer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "riddles.py").write_text(OWN)
    (tmp_path / "asked").write_text("one of two\n\n what?  \n")
    with pytest.raises(UserError, match="no model comes with riddles:DOMAIN; pass --path MODEL"):
        answer("riddles:DOMAIN", "one of two")
    words = ("riddles:DOMAIN", "--path", ROOT / "checkpoints/prop/model.pt", "--input", "asked")
    (first, second), status = answer(*words)
    assert first in ("say heads", "say two words") and status == 1
    assert second == "cannot be read: no such riddle"
    found = [json.loads(line) for line in answer(*words, "--json")[0]]
    assert [one["line"] for one in found] == [1, 3] and found[0]["source"] == "| p0 p1"
