"""A resumed ``sit answer`` reads and judges its noted answers, and asks the model for the others."""

import json
from unittest import mock

import pytest
from command_line import sit

from sit_fairseq.domains.sentence_solver import SentenceSolver
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation import in_time
from sit_fairseq.model import Model

NOTED = {
    "index": 0,
    "status": "verified",
    "source": "& a b",
    "answer": "a 1 b 1",
    "text": "a & b",
    "reason": "",
    "decided": True,
    "names": {"a": "a", "b": "b"},
    "more": {},
}
OTHERS = [
    {**NOTED, "index": 1, "source": "| c d", "answer": "c 1", "text": "c"},
    {**NOTED, "index": 2, "source": "& e ! e", "answer": "", "text": ""},
]
OTHERS[0].update(names={"c": "c", "d": "d"})
OTHERS[1].update(
    status="no answer exists", reason="the judge has proved that there is none", names={"e": "e"}
)


@pytest.fixture
def resumed(answer, tmp_path, monkeypatch):
    """Goes on with notes; returns the lines printed and the formulas that were asked."""

    def call(*notes):
        formulas = tmp_path / "formulas"
        formulas.write_text("a & b\nc | d\ne & !e\n")
        files = ("--input", formulas, "--output", tmp_path / "out", "--beams", "1")
        with monkeypatch.context() as patch:
            patch.setattr(Model, "answer", mock.Mock(side_effect=KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                answer("prop", *files, "--restart")
        with open(tmp_path / "out.journal", "a") as file:
            file.write("".join(json.dumps(note) + "\n" for note in notes))
        asked, answered = [], Model.answer

        def noting(model, sources, **options):
            asked.extend(sources)
            return answered(model, sources, **options)

        monkeypatch.setattr(Model, "answer", noting)
        lines, _ = answer("prop", *files)
        return lines, asked

    return call


UNVERIFIED = {
    **{**NOTED, "status": "not verified", "answer": "", "text": ""},
    "reason": "no hypothesis of the search was accepted, though an answer exists",
}


@pytest.mark.parametrize(
    "note, lines, asked",
    [
        (NOTED, ["a & b"], []),
        (UNVERIFIED, [f"not verified: {UNVERIFIED['reason']}"], []),
        ({**UNVERIFIED, "reason": "", "decided": False}, ["a & b", "b & a"], ["& p0 p1"]),
    ],
)
def test_what_was_decided_is_not_asked_again(resumed, note, lines, asked):
    (first, *others), again = resumed(note, *OTHERS)
    assert first in lines and others == ["c", "no answer exists"] and again == asked


def test_an_answer_that_was_once_not_confirmed_may_stand_there_twice(resumed):
    """As where the judge had less time in the run before."""
    assert resumed(NOTED, *OTHERS, NOTED) == (["a & b", "c", "no answer exists"], [])


def test_an_answer_that_was_once_not_confirmed_may_stand_there_twice(resumed):
    """As where the judge had less time in the run before."""
    assert resumed(NOTED, *OTHERS, NOTED) == (["a & b", "c", "no answer exists"], [])


@pytest.mark.parametrize(
    "forged",
    [
        [{}],
        [{**NOTED, "answer": "a 0", "text": "!a"}],
        [{**NOTED, "source": "& b a"}],
        [{**NOTED, "index": 3}],
        [{**NOTED, "status": "no answer exists", "answer": "", "text": ""}],
        [{**UNVERIFIED, "names": {"a": "b"}}],
        [{**UNVERIFIED, "reason": "so\na & b"}],
    ],
)
def test_a_note_that_is_not_so_is_named(resumed, forged):
    with pytest.raises(UserError, match=f"Line {len(forged) + 1} of .*out.journal.*--restart"):
        resumed(*forged)


def test_an_interrupted_run_goes_on(answer, tmp_path, monkeypatch):
    monkeypatch.setattr(in_time, "_BATCH", 2)
    (tmp_path / "formulas").write_text("a\n!a\na & b\na | b\n")
    files = ("--input", tmp_path / "formulas", "--output", tmp_path / "out")
    asked = []
    read = SentenceSolver._read

    def stopping(solver, place):
        asked.append(solver.problems[place][1])
        if asked[-1] == "a | b" and len(asked) == 4:
            raise KeyboardInterrupt
        return read(solver, place)

    monkeypatch.setattr(SentenceSolver, "_read", stopping)
    with pytest.raises(KeyboardInterrupt):
        sit("answer", "prop", *files)
    assert not (tmp_path / "out.src").exists()
    (tmp_path / "other.pt").write_text("another model")
    for option, value, words in (
        ("--beams", "1", r"beams \[3, 10, 25, 100\], not \[1\]"),
        ("--path", tmp_path / "other.pt", "other model"),
    ):
        with pytest.raises(UserError, match=words):
            sit("answer", "prop", *files, option, value)
    lines, status = answer("prop", *files)
    assert status == 0 and len(lines) == 4
    # The first three were read again, to check what was noted of them.
    assert asked == ["a", "!a", "a & b", "a | b"] * 2


def test_the_first_answer_is_known_before_the_second_is_asked_for(tmp_path, capsys, monkeypatch):
    seen = []
    read = SentenceSolver._read

    def noting(solver, place):
        printed, lines = capsys.readouterr().out, (tmp_path / "out.journal").read_text()
        number = len(lines.splitlines()) - 1
        seen.append((solver.problems[place][1], len(printed.splitlines()), number))
        return read(solver, place)

    monkeypatch.setattr(SentenceSolver, "_read", noting)
    (tmp_path / "formulas").write_text("!a\n!b\n!c\n!d\n")
    sit("answer", "prop", "--input", tmp_path / "formulas", "--output", tmp_path / "out")
    assert seen[:3] == [("!a", 0, 0), ("!b", 1, 1), ("!c", 0, 1)]
