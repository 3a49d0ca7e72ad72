"""``sit protect``."""

import io
import json
import sys

import pytest
from command_line import sit

from sit_fairseq.commands import protect
from sit_fairseq.errors import UserError

LINES = ["Copy %s to {dir}\r", "none", '"%s" of %d: <b>all</b>', "", "100 % of %(name)s.txt"]


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes("\n".join([*LINES, ""]).encode())
    return path


def test_lines_come_back_from_a_pipe(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Copy %s to {dir}\n")))
    sit("protect", "--pattern", "printf", "icu", "--through", "cat")
    assert capsys.readouterr().out == "Copy %s to {dir}\n"


def test_json_says_which_rung_each_line_took(lines, capsys):
    sit("protect", lines, "--json", "--through", "sed 's/PH1//'")
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["text"] for one in found] == LINES
    assert [one["rung"] for one in found] == ["[1]", "as is", "[1]", "as is", "[1]"]
    assert {one["verdict"] for one in found} == {"satisfied"}


def test_a_line_that_fails_is_named(lines, capsys):
    with pytest.raises(SystemExit) as ended:
        sit("protect", lines, "--through", "sed 's/none/%s/'")
    assert ended.value.code == 1
    printed = capsys.readouterr()
    assert "line 2 is violated" in printed.err and len(printed.out.splitlines()) == len(LINES)


def test_a_trial_names_the_best_form(lines, capsys):
    sit("protect", lines, "--try", "sed 's/[PX][HX]1//'")
    *_, last = capsys.readouterr().out.splitlines()
    assert last == "3 lines; the best: --form '[1]'"


def test_an_interrupted_run_goes_on(lines, tmp_path, monkeypatch):
    monkeypatch.setattr(protect, "_BLOCK", 2)
    out, calls = tmp_path / "out.txt", tmp_path / "calls"
    once = f"echo >>{calls}; [ $(wc -l <{calls}) != 2 ] && cat"
    with pytest.raises(UserError, match="status 1"):
        sit("protect", lines, "--through", once, "--output", out)
    assert not out.exists()
    with pytest.raises(UserError, match="restart"):
        sit("protect", lines, "--through", "cat", "--output", out)
    journal = out.with_name("out.txt.journal")
    kept = journal.read_text()
    journal.write_text(kept.replace("satisfied", "fine"))
    with pytest.raises(UserError, match="Line 2 of .*journal is damaged"):
        sit("protect", lines, "--through", once, "--output", out)
    journal.write_text(kept)
    sit("protect", lines, "--through", once, "--output", out)
    assert out.read_bytes() == lines.read_bytes() and not list(tmp_path.glob("*.journal"))
    assert len(calls.read_text()) == 4, "two of the three blocks were asked for after the first"


@pytest.mark.parametrize(
    "words, parameter",
    [
        (("--through", "head -1"), "through"),
        (("--through", "cat; echo"), "through"),
        (("--through", "exit 3"), "through"),
        (("--through", "sleep 60", "--seconds", 0.2), "seconds"),
        (("--through", "cat", "--pattern", "x*"), "pattern"),
        (("--through", "cat", "--form", "PH"), "form"),
        (("--try", "cat", "--pattern", "nowhere"), "pattern"),
        (("--through", r"printf '\351\n'; tail -4"), "through"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(lines, words, parameter):
    with pytest.raises(UserError, match=f"--{parameter}$") as error:
        sit("protect", lines, *words)
    assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize(
    "words, fault",
    [
        (("--through", "cat", "--output", "out.txt"), "--output$"),
        (("--through", "cat", "--pattern", "printf", __file__), "first"),
        (("--through", "cat", "--restart"), "--restart"),
        ((__file__, "--through", "cat", "--output", __file__), "written over.*--output"),
        (("--try", "cat", "--json"), "--json"),
    ],
)
def test_options_that_do_not_go_together(words, fault):
    with pytest.raises(UserError, match=fault):
        sit("protect", *words)


def test_a_pattern_that_matches_nothing_is_said(lines, capsys):
    sit("protect", lines, "--through", "cat", "--pattern", "nowhere")
    assert "--pattern" in capsys.readouterr().err
