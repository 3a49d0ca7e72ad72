"""``sit answer`` with the shipped models: formulas of people in, verified answers out."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import time
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
from sit_fairseq.model import Model
from sit_fairseq.symbols.saved_tokens import text_buffer

DIMACS = "c two clauses\np cnf 3 2\n1 -2 0\n-1 3 0\n"


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


@needs_spot
def test_traces_for_people(answer):
    lines, status = answer("ltl", "X (req & !grant) & G F grant", "!close U open")
    assert status == 0 and len(lines) == 2
    assert "; " in lines[0] and "req & !grant" in lines[0]
    assert all(line.split("; ")[-1].startswith(("for ever", "then", "again")) for line in lines)


@needs_spot
def test_conjuncts_of_a_moment_stand_side_by_side(answer):
    (line,), status = answer("ltl", "G (a & !b & c) & G (d & e)")
    moment = line.removeprefix("for ever: ")
    assert status == 0 and sorted(moment.split(" & ")) == ["!b", "a", "c", "d", "e"]


def test_a_formula_without_an_answer(answer):
    assert answer("prop", "a & !a", "a") == (["no answer exists", "a"], 0)


def test_what_cannot_be_read_is_told_with_its_place(answer):
    lines, status = answer("prop", "a & (b | ", "a")
    assert "cannot be read: '|' at character 8" in lines[0]
    assert lines[1:] == ["a"] and status == 1


def test_what_the_search_does_not_find_is_not_verified(answer, monkeypatch):
    judge = type(make_judge("prop"))
    monkeypatch.setattr(judge, "decide", lambda self, formula, found: Verdict.violated)
    line = "not verified: no hypothesis of the search was accepted, though an answer exists"
    assert answer("prop", "a | b", "--beams", "1") == ([line], 1)


@pytest.mark.parametrize(
    "verdict, words",
    [("timeout", "took too long"), ("error", "failed"), ("unavailable", "too hard for the judge")],
)
def test_why_a_judge_did_not_decide_is_told_in_words(answer, monkeypatch, verdict, words):
    judge = type(make_judge("prop"))
    monkeypatch.setattr(judge, "decide", lambda self, formula, found: Verdict(verdict))
    (line,), status = answer("prop", "a | b", "--beams", "1")
    assert line.startswith("not verified: ") and words in line and status == 1
    assert not {verdict.value for verdict in Verdict} & set(re.findall(r"\w+", line))


@needs_spot
def test_a_formula_that_takes_too_long_is_given_up(answer, monkeypatch):
    """Whatever takes long: here the search; the others are answered."""
    answered = Model.answer

    def slow(model, sources, **options):
        if any(source.startswith("& p0 & p1") for source in sources):
            time.sleep(60)
        return answered(model, sources, **options)

    monkeypatch.setattr(Model, "answer", slow)
    started = time.monotonic()
    lines, status = answer("ltl", "a", "b", "c", "a & (b & c)", "d", "--seconds", "4")
    assert time.monotonic() - started < 40 and status == 1
    assert lines[3] == "not verified: the time limit of 4 seconds, --seconds"
    assert sum(line.startswith("not verified") for line in lines) == 1 and len(lines) == 5


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


def test_a_formula_of_many_symbols_is_judged(answer, tmp_path):
    clauses = "".join(f"{n} {n + 1} 0\n-{n} -{n + 1} 0\n" for n in range(1, 29))
    (tmp_path / "x.cnf").write_text(f"p cnf 29 56\n{clauses}")
    (line,), _ = answer("prop", "--input", tmp_path / "x.cnf", "--beams", "1")
    assert "judge" not in line
    (tmp_path / "x.cnf").write_text(f"p cnf 29 58\n{clauses}1 0\n2 0\n")
    assert answer("prop", "--input", tmp_path / "x.cnf", "--beams", "1") == (
        ["no answer exists"],
        0,
    )


def test_long_chains_are_answered_as_flat_trees(answer):
    literals = " & ".join("!" * (number % 3 == 0) + f"a{number}" for number in range(28))
    (line,), status = answer("prop", literals)
    assert status == 0 and sorted(line.split(" & ")) == sorted(literals.split(" & "))


def test_clauses_of_a_circuit_are_answered_by_its_inputs(answer, tmp_path):
    """An adder of three bits with its sum, 9: eighteen symbols, of which six are inputs."""
    clauses, carry, top = [], None, 6

    def gate(*rows):
        nonlocal top
        top += 1
        clauses.extend([[top if x == "g" else -top if x == "-g" else x for x in r] for r in rows])
        return top

    def both(a, b):
        return gate(["-g", a], ["-g", b], ["g", -a, -b])

    def differ(a, b):
        return gate(["-g", a, b], ["-g", -a, -b], ["g", -a, b], ["g", a, -b])

    for bit in range(3):
        sum_, next_ = differ(bit + 1, bit + 4), both(bit + 1, bit + 4)
        if carry:
            sum_, through = differ(sum_, carry), both(sum_, carry)
            next_ = gate(["g", -next_], ["g", -through], ["-g", next_, through])
        clauses.append([sum_ if 9 >> bit & 1 else -sum_])
        carry = next_
    clauses.append([carry])
    lines = [f"p cnf {top} {len(clauses)}", *(f"{' '.join(map(str, c))} 0" for c in clauses)]
    (tmp_path / "x.cnf").write_text("\n".join(lines))
    (line,), status = answer("prop", "--input", tmp_path / "x.cnf", "--beams", "3")
    values = dict((x.strip("!")[1:], not x.startswith("!")) for x in line.split(" & "))
    x, y = (sum(values[str(first + bit)] << bit for bit in range(3)) for first in (1, 4))
    assert status == 0 and x + y == 9 and len(values) == top == 18


@needs_spot
def test_clients_that_nobody_needs_are_set_aside(answer):
    """An arbiter of eleven clients, two of which must ask."""
    rules = []
    for i in range(11):
        rules += [f"G (r{i} -> F g{i})", f"G (g{i} -> X (!g{i} W r{i}))"]
        rules += [f"G !(g{i} & g{j})" for j in range(i)]
    (line,), status = answer("ltl", " & ".join([*rules, "F (r2 & X r7)"]), "--json")
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
    (line, *_), status = answer("ltl", "!" * 2000 + "a", "a U " * 600 + "X" * 10**6)
    assert line.startswith("cannot be answered: the sentence has 2001 tokens, more than the 1023")
    assert "--" not in line and status == 1


def test_a_checkpoint_needs_nothing_beside_it(answer, tmp_path):
    shutil.copy(ROOT / "checkpoints/prop/model.pt", tmp_path / "own.pt")
    assert answer("prop", "--path", tmp_path / "own.pt", "!req") == (["!req"], 0)


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


def test_fairseqs_own_model_is_refused(tmp_path):
    state = torch.load(ROOT / "checkpoints/prop/model.pt", weights_only=True)
    state["model"] = {name: w for name, w in state["model"].items() if "vocabulary" not in name}
    state["cfg"]["model"]["_name"] = "transformer"
    torch.save(state, tmp_path / "vanilla.pt")
    with pytest.raises(UserError, match="vanilla.pt knows no symbols.*change --path"):
        sit("answer", "prop", "--path", tmp_path / "vanilla.pt", "a")


def test_a_model_that_writes_new_names_is_refused():
    with pytest.raises(UserError, match="writes names that problems lack.*change --path"):
        sit("answer", "prop", "--path", ROOT / "checkpoints/binding/model.pt", "a")


def test_dimacs(answer, tmp_path):
    (tmp_path / "x.cnf").write_text(DIMACS)
    (line,), status = answer("prop", "--input", tmp_path / "x.cnf", "--prefix")
    assert status == 0
    found = dict(zip(line.split()[::2], line.split()[1::2]))
    true = {name for name, value in found.items() if value == "1"}
    false = set(found) - true
    for text in (
        DIMACS.replace("cnf", "wcnf"),
        "c\n1 -2 0\n2 3 0\n",
        "aag 1 1 0 1 0\n2\n1\n",
        "a\nb\nc\n",
    ):
        (tmp_path / "x.cnf").write_text(text)
        (line,), status = answer("prop", "--input", tmp_path / "x.cnf")
        reasons = "line 2 of DIMACS is not 'p cnf", "the text is AIGER", "the text is no list"
        assert line.removeprefix("cannot be read: ").startswith(reasons) and status == 1
    assert ("x1" in true or "x2" in false) and ("x1" in false or "x3" in true)


def test_another_encoding_is_one_mistake(tmp_path):
    (tmp_path / "formulas").write_text("a\nb\n", encoding="utf-16")
    with pytest.raises(UserError, match="formulas is in UTF-16; save it as UTF-8; change --input"):
        sit("answer", "prop", "--input", tmp_path / "formulas")


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((), "give problems, or a file of them by --input"),
        (("a", "--input", "x"), "give problems, or a file of them by --input"),
        (("--input", "no_such"), "no_such cannot be read.*change --input"),
    ],
)
def test_mistakes(arguments, message):
    with pytest.raises(UserError, match=message):
        sit("answer", "prop", *arguments)


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


def test_a_domain_that_cannot_be_asked():
    with pytest.raises(UserError, match="no model comes with copying; pass --path"):
        sit("answer", "copying", "a")


def test_a_file_is_no_formula(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "some.txt").write_text("a & b")
    with pytest.raises(UserError, match="some.txt is a file.* --input some.txt"):
        sit("answer", "prop", "some.txt")
