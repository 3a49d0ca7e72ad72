"""``sit answer`` for problems in files, of a domain of a user's own."""

import json
import os

import pytest

from sit_fairseq.commands import answer, run
from sit_fairseq.errors import UserError
from sit_fairseq.model import Model

# A problem is a number to be halved, which a model named by a file may fail to do.
HALVES = '''
import time
from pathlib import Path

from sit_fairseq.domains import Domain
from sit_fairseq.domains.copying.domain import CopyJudge
from sit_fairseq.domains.solver import Limits, Solved, Solver, Status


class Halves(Solver):
    """Halves numbers."""

    metavar, ending, none, usual = "NUMBER.txt", ".half", "no half exists", Limits((1, 2), 60.0)

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._numbers = [self.number(path) for _, path in self.problems]

    def number(self, path):
        return int(Path(path).read_text())

    def about(self, place):
        return f"{self._numbers[place]} is a number"

    def confirms(self, place, noted):
        if noted.status is Status.verified and 2 * int(noted.text) != self._numbers[place]:
            raise ValueError
        return noted.status is Status.verified

    def answers(self, places):
        for place in places[::-1]:
            number = self._numbers[place]
            if number == 98:
                time.sleep(60)
            if number % 2:
                yield place, Solved(Status.impossible, reason="it is odd")
            elif number < self.model:
                more = {"beam": self.limits.beams[-1]}
                yield place, Solved(Status.verified, text=str(number // 2), more=more)
            else:
                yield place, Solved(Status.unverified, reason="it is too large")


class Typed(Halves):
    ending, number = "", int


DOMAIN, TYPED = (
    Domain("halves", 1, "[a-z]+", {"copy": CopyJudge}, solve=solver) for solver in (Halves, Typed)
)
'''


@pytest.fixture
def halve(tmp_path, monkeypatch, capsys):
    """Calls the verb with files of numbers; returns the lines printed and the exit status. The
    model's file says how large a number it can halve."""
    (tmp_path / "halves.py").write_text(HALVES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(Model, "load", lambda path: int(open(path).read()))
    for number in range(100):
        (tmp_path / f"n{number}.txt").write_text(str(number))
    (tmp_path / "model.pt").write_text("50")

    def call(*words, domain="halves:DOMAIN"):
        status = 0
        try:
            run(["answer", domain, "--path", "model.pt", *words])
        except SystemExit as error:
            status = error.code
        read = capsys.readouterr()
        call.said = read.err
        return read.out.splitlines(), status

    return call


def test_each_problem_is_answered_in_order(halve):
    lines, status = halve("n4.txt", "n7.txt", "n8.txt")
    assert lines == [
        *("; n4.txt: verified", "2", "; n7.txt: no half exists: it is odd"),
        *("; n8.txt: verified", "4"),
    ]
    assert status == 0


def test_a_problem_that_takes_too_long_leaves_the_others_answered(halve):
    lines, status = halve("n2.txt", "n4.txt", "n98.txt", "n60.txt", "--seconds", "1")
    assert [line for line in lines if line.startswith(";")] == [
        *("; n2.txt: verified", "; n4.txt: verified"),
        "; n98.txt: not verified: the time limit of 1 seconds, --seconds",
        "; n60.txt: not verified: it is too large",
    ]
    assert status == 1


def test_json_has_a_line_for_each_problem(halve):
    lines, _ = halve("n4.txt", "n7.txt", "--json", "--beams", "3,9")
    first, second = map(json.loads, lines)
    assert (first["problem"], first["status"], first["text"]) == ("n4.txt", "verified", "2")
    assert first["beam"] == 9 and second["reason"] == "it is odd"
    assert (second["line"], second["status"], second["text"]) == (2, "no half exists", "")


def test_solutions_are_written_one_a_file(halve):
    os.mkdir("out")
    open("out/n60.half", "w").write("of another run")
    lines, _ = halve("n4.txt", "n60.txt", "n8.txt", "--output", "out")
    assert lines[0] == "; n4.txt: verified" and len(lines) == 3
    assert sorted(os.listdir("out")) == ["n4.half", "n8.half"]
    assert open("out/n8.half").read() == "4\n"


def test_an_interrupted_run_goes_on(halve, monkeypatch):
    def interrupted(*args, solved=answer._solved):
        for number, one in enumerate(solved(*args)):
            if number == 2:
                raise KeyboardInterrupt
            yield one

    names = ["n2.txt", "n4.txt", "n6.txt", "n8.txt"]
    with monkeypatch.context() as context, pytest.raises(KeyboardInterrupt):
        context.setattr(answer, "_solved", interrupted)
        halve(*names, "--output", "out")
    assert sorted(os.listdir("out")) == ["answers.journal", "n2.half", "n6.half"]
    asked = []
    monkeypatch.setattr(
        answer,
        "_solved",
        lambda *args, solved=answer._solved: asked.append(args[-1]) or solved(*args),
    )
    lines, status = halve(*names, "--output", "out")
    assert asked == [[1, 3]] and status == 0
    assert lines[-4:] == [f"; {name}: verified" for name in names]
    assert sorted(os.listdir("out")) == ["n2.half", "n4.half", "n6.half", "n8.half"]


def test_a_run_under_other_settings_is_refused(halve):
    os.mkdir("out")
    with open("out/answers.journal", "w") as file:
        file.write('{"journal": "answers", "model": "another"}\n{"place": 0, "text": "2"}\n')
    with pytest.raises(UserError, match="--restart"):
        halve("n4.txt", "--output", "out")
    assert halve("n4.txt", "--output", "out", "--restart") == (["; n4.txt: verified"], 0)


def test_two_problems_of_one_name_are_refused(halve):
    os.mkdir("more")
    open("more/n4.txt", "w").write("4")
    with pytest.raises(UserError, match="two problems are called n4"):
        halve("n4.txt", "more/n4.txt", "--output", "out")


def test_what_is_known_of_problems_is_said_on_stderr(halve):
    lines, _ = halve("n4.txt", "n4.txt", "-v")
    assert lines == ["; n4.txt: verified", "2"] * 2
    assert halve.said.count("4 is a number") == 1


def test_the_domain_stands_first(halve):
    with pytest.raises(UserError, match="name the domain first: sit answer halves:DOMAIN"):
        run(["answer", "--path", "model.pt", "halves:DOMAIN", "n4.txt"])


def test_problems_of_a_solver_may_be_typed(halve, tmp_path):
    assert halve("6", "7", domain="halves:TYPED") == (["3", "no half exists"], 0)
    (tmp_path / "asked").write_text("6\n\n8\n")
    assert halve("--input", "asked", domain="halves:TYPED") == (["3", "4"], 0)
