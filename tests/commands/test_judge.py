"""The judging verb, run as users run it."""

import os
import re
import signal
import subprocess
import sys

import pytest
from command_line import ROOT, sit
from conftest import needs_spot

from sit_fairseq.errors import UserError

FORMULAS = "| a b\n| a b\n| a b\n| a b\n| x ! x\n"
ANSWERS = "a 1\na 0\na 1 a 0\na\n\n"
WORDS = ["satisfied", "violated", "vacuous", "invalid", "satisfied"]
COUNTS = (
    "2/5 correct; satisfied 2, violated 1, vacuous 1, invalid 1, timeout 0, error 0, unavailable 0"
)


def run_command(*arguments):
    """Runs the verb as a command; the result has returncode, stdout and stderr."""
    return subprocess.run(
        [sys.executable, "-m", "sit_fairseq", "judge", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.fixture
def judge(tmp_path):
    """A function that runs the verb in this process on texts (str or bytes)."""

    def run(formulas, answers, *options):
        sit("judge", "prop", *write(tmp_path, formulas, answers), *options)

    return run


def write(folder, formulas, answers):
    """Writes both texts and returns the names of the files."""
    paths = []
    for name, text in (("formulas", formulas), ("answers", answers)):
        paths.append(str(folder / name))
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return paths


def test_alpha_compares_with_references_up_to_fresh_names(tmp_path, capsys):
    paths = write(tmp_path, "f ( a )\nf ( a )\n", "let y = a\nlet a = a\n")
    (tmp_path / "right").write_text("let x = a\n" * 2)
    options = ("alpha", *paths, "--workers", 0)
    given = ("--references", tmp_path / "right", "--symbols", "[a-eg-z]")
    sit("judge", *options, *given)
    assert capsys.readouterr().out.splitlines()[:2] == ["satisfied", "violated"]
    for words, option in (
        ((*options, *given[:2]), "--symbols"),
        ((*options, *given[2:]), "--references"),
        (("exact", *paths, *given), "--references"),
        (("exact", *paths, *given[2:]), "--symbols"),
    ):
        with pytest.raises(UserError, match=option):
            sit("judge", *words)
    (tmp_path / "right").write_text("let x = a\n")
    with pytest.raises(UserError, match="2 lines but .*right has 1"):
        sit("judge", *options, *given)
    sit("judge", "exact", *write(tmp_path, "a 1 b 0\nz\n", "a 1  b 0\nz z\n"), "--workers", 0)
    first, second, counts = capsys.readouterr().out.splitlines()
    assert (first, second) == ("satisfied", "violated")
    assert counts.startswith("1/2 correct") and counts.endswith("mean edit distance 0.5")


@pytest.mark.parametrize("options", [["--workers", "2"], ["--judge", "aiger", "--workers", "0"]])
def test_verdicts_in_order_and_counts_at_the_end(judge, capsys, options):
    judge(FORMULAS, ANSWERS, *options)
    assert capsys.readouterr().out.splitlines() == WORDS + [COUNTS]
    judge("", "", *options)
    assert capsys.readouterr().out.startswith("0/0 correct;")


@needs_spot
def test_ltl(tmp_path):
    formulas = "U a b\nU a b\nX X1\nG a\nF a\nU a\n"
    traces = "a ; { b }\n{ a }\n1 ; { X1 }\n& a ! a ; { 1 }\na\n{ a }\n"
    result = run_command("ltl", *write(tmp_path, formulas, traces))
    words = ["satisfied", "violated", "satisfied", "vacuous", "invalid", "error"]
    assert result.stdout.splitlines()[:-1] == words
    assert result.stdout.splitlines()[-1].startswith("2/6 correct;")
    speed, complaint = result.stderr.strip().splitlines()[-2:]
    pattern = r"6 answers in \S+ s: \d+ per second; judging one took p50 (\S+) ms, p99 (\S+) ms"
    median, slow = map(float, re.fullmatch(pattern, speed).groups())
    assert 0 < median < slow
    assert "Line 6 of" in complaint
    assert result.returncode == 1


@pytest.mark.parametrize(
    "formulas, answers, options, words",
    [
        ("a\na\n", "a 1\n", [], ["2 lines", "has 1"]),
        ("a\n", b"\xe9 1\n", [], ["Line 1", "answers", "UTF-8"]),
        ("a\n", "a 1\n", ["--judge", "spot"], ["'spot'", "bits, aiger", "change --judge"]),
    ],
)
def test_mistakes_are_told(judge, capsys, formulas, answers, options, words):
    with pytest.raises(UserError) as error:
        judge(formulas, answers, *options)
    assert all(word in str(error.value) for word in words), error.value
    assert capsys.readouterr().out == ""


def test_nobody_has_to_read_to_the_end(tmp_path):
    files = write(tmp_path, "| a b\n" * 5000, "a 1\n" * 5000)
    words = [sys.executable, "-m", "sit_fairseq", "judge", "prop", *files]
    with subprocess.Popen(
        words, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.close()  # as `head` does, when it has seen enough
        assert process.stderr.read() == ""
    assert process.returncode == 128 + signal.SIGPIPE  # what a shell says of any other tool


MOVES = """
from sit_fairseq.search.grammar import Grammar

class Moves(Grammar):
    \"\"\"Answers name each thing of their sentence once, in any order.\"\"\"

    def start(self, source):
        return frozenset(t for t in source if not isinstance(t, str) and t.sort == "thing")

    def next(self, state, token):
        return state - {token} if token in state else None

    def shortest(self, state):
        return len(state)
"""


@pytest.fixture
def constrained(tmp_path, monkeypatch, capsys):
    """A function that runs the verb with a grammar in this process, and returns what it prints."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_moves.py").write_text(MOVES)

    def run(name, sources, answers, semantics, *options):
        options = ("--workers", 0, "--constrained", name, *options)
        sit("judge", semantics, *write(tmp_path, sources, answers), *options)
        return capsys.readouterr().out

    return run


def test_answers_that_a_grammar_refuses_are_shown(constrained):
    found = constrained("prop", FORMULAS, ANSWERS, "prop")
    assert "prop refuses 2 of 5 answers" in found
    assert "Line 3: prop refuses 'a', token 3" in found and "Line 4: prop refuses its end" in found


def test_a_grammar_of_ones_own_is_given_the_sentence(constrained):
    sources, answers = "go P1 t2 t1\ngo t1 t2\ngo t1\n", "t1 t2\nt1\nP1\n"
    patterns = ("--symbols", "person=P[0-9]+", "thing=t[0-9]+")
    name = "own_moves:Moves"
    found = constrained(name, sources, answers, "copy", *patterns)
    assert f"{name} refuses 2 of 3 answers" in found
    assert f"Line 2: {name} refuses its end" in found and f"Line 3: {name} refuses 'P1'" in found
    with pytest.raises(UserError, match="--symbols"):
        constrained(name, sources, answers, "copy")
    with pytest.raises(UserError, match="exact has no problems"):
        constrained("prop", sources, answers, "exact")
