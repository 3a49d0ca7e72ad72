"""``sit evaluate``, run as users run it."""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from command_line import ROOT, sit

from sit_fairseq.datasets.grid import Cell, Grid
from sit_fairseq.domains.prop.judges import BitsJudge
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation import measuring
from sit_fairseq.evaluation.answering import Answered, ModelAnswerer
from sit_fairseq.judging.verdict import Verdict

SHORT = ("--max-len", 8)
CELLS = ("--by", "symbols", "length")
SOURCES = ["& a b", "! a", "| & a b c", "a", "xor a b", "<-> b c", "! ! d", "& ! a ! e"]
TARGETS = ["a 1 b 1", "a 0", "c 1", "a 1", "a 1 b 0", "b 1 c 1", "d 1", "a 0 e 0"]


@pytest.fixture
def evaluate(models, tmp_path, capsys, monkeypatch):
    """Runs a verb on the model; returns the result file's content and the table, in which
    nothing is aligned."""

    def run(*arguments, path=("--path", models.stream), result=tmp_path / "out" / "result.json"):
        capsys.readouterr()
        words = list(map(str, ["evaluate", *arguments, *path, "--result", result]))
        monkeypatch.setattr(sys, "argv", ["/bin/sit", *words])
        sit(*words)
        table = re.sub(" +", " ", capsys.readouterr().out)
        return json.loads(Path(result).read_text()), table

    return run


@pytest.fixture
def journal(tmp_path):
    """The answers kept beside the result file, as JSON."""

    def read():
        lines = (tmp_path / "out" / "result.answers.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines[1:]]

    return read


def write(tmp_path, sources, targets=None):
    """Writes text files and returns their prefix."""
    for side, lines in (("src", sources), ("tgt", targets)):
        if lines is not None:
            (tmp_path / f"text.{side}").write_text("".join(line + "\n" for line in lines))
    return tmp_path / "text"


@pytest.fixture
def prefix(tmp_path):
    """A few formulas with assignments."""
    return write(tmp_path, SOURCES, TARGETS)


def test_correct(evaluate, models, prefix, journal):
    found, table = evaluate("prop", prefix, *SHORT)
    assert found["metric"] == "correct" and found["samples"] == 8 and "seed" not in found
    assert found["seconds"] > 0 and found["command"][:3] == ["sit", "evaluate", "prop"]
    versions = "sit_fairseq fairseq torch spot python-sat python regex"
    assert set(found["versions"]) == {*versions.split()}
    for path in (f"{prefix}.src", f"{prefix}.tgt", models.stream):
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        assert found["files"][str(path)] == digest
    options = dict(beams=[3], max_len=[0.0, 8], semantics="prop", judge="bits", verify=None)
    assert found["options"].items() >= options.items()
    assert sum(found["result"]["verdicts"].values()) == found["result"]["correct"]["total"] == 8
    assert found["result"]["correct"]["count"] == found["result"]["verdicts"]["satisfied"]
    assert "| correct | " in table and "| exact modulo order | " in table
    answers = sorted((entry["index"], entry["source"]) for entry in journal())
    assert answers == list(enumerate(SOURCES))


def test_the_answers_of_a_run_are_those_of_a_file(evaluate, prefix, journal, tmp_path):
    """One a line, or JSON lines."""
    expected, _ = evaluate("prop", prefix, *SHORT)
    lines = [entry["answers"][0] for entry in sorted(journal(), key=lambda e: e["index"])]
    (tmp_path / "lines").write_text("".join(f"{line}\n" for line in lines))
    entries = [{"source": entry["source"], "answer": entry["answers"][0]} for entry in journal()]
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(entry)}\n" for entry in entries))
    cells = [Cell(2, number, number - 1, 1) for number in range(1, 9)]
    Grid(cells, SOURCES, TARGETS).write(str(tmp_path / "grid"))
    for name in ("lines", "a.jsonl"):
        given = {"path": ("--generated", tmp_path / name), "result": tmp_path / "given.json"}
        found, _ = evaluate("prop", prefix, "--restart", **given)
        assert found["result"]["verdicts"] == expected["result"]["verdicts"]
        assert found["result"]["exact"] == expected["result"]["exact"]
        assert str(tmp_path / name) in found["files"] and "beams" not in found["options"]
        drawn, _ = evaluate("prop", tmp_path / "grid", *CELLS, "--restart", **given)
        assert drawn["result"]["overall"] == expected["result"]["correct"]


def test_given_answers_up_to_the_names_of_fresh_symbols(evaluate, tmp_path):
    """Without a model ``--symbols`` says which tokens are symbols, and must."""
    prefix = write(tmp_path, ["f a", "f b"], ["let c = f a", "let c = f b"])
    (tmp_path / "answers.txt").write_text("let x = f a\nlet x = f x\n")
    given = ("--generated", tmp_path / "answers.txt")
    found, table = evaluate("alpha", prefix, "--symbols", "[a-e]|x", path=given)
    assert found["result"]["correct"] == {**found["result"]["correct"], "count": 1, "total": 2}
    assert found["options"]["symbols"] == "[a-e]|x"
    assert "| correct of those with 1 symbol | 1 of 2 |" in table
    with pytest.raises(UserError, match="does not say which tokens are symbols; change --symbols"):
        evaluate("alpha", prefix, path=given)


def test_answers_that_equal_the_references(evaluate, tmp_path, prefix, journal):
    """No source is read as a formula, and the answers kept are those of these references."""
    asked, _ = evaluate("exact", prefix, *SHORT)
    assert asked["result"]["correct"] == asked["result"]["exact"]
    answers = [e["answers"][0] for e in sorted(journal(), key=lambda entry: entry["index"])]
    write(tmp_path, SOURCES, [answers[0], "no 1 such 1", *answers[2:]])
    with pytest.raises(UserError, match="--restart"):
        evaluate("exact", prefix, *SHORT)
    found, _ = evaluate("exact", prefix, *SHORT, "--restart")
    assert found["result"]["correct"]["count"] == len(SOURCES) - 1
    top, _ = evaluate("exact", prefix, *SHORT, "--top-n", "1,3", result=tmp_path / "top.json")
    assert top["result"]["3"]["count"] >= len(SOURCES) - 1 and f"{prefix}.tgt" in top["files"]
    (tmp_path / "text.tgt").unlink()
    with pytest.raises(UserError, match="compares answers with references"):
        evaluate("exact", prefix, *SHORT, "--top-n", "1", result=tmp_path / "none.json")


def test_a_run_is_quiet(models, prefix, tmp_path):
    """A bar, a table, and what the numbers depend on."""
    command = [sys.executable, "-m", "sit_fairseq", "evaluate", "prop", prefix, *SHORT]
    command += ["--path", models.stream, "--result", tmp_path / "result.json", "--verify", "prop"]
    done = subprocess.run(map(str, command), cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("|")
    lines = [line for line in re.split("[\r\n]", done.stderr) if " sentences/s]" not in line]
    assert not any(line.strip() for line in lines), done.stderr


def test_alpha_covariance(evaluate, prefix, tmp_path):
    found, table = evaluate(
        *("prop", prefix, *SHORT, "--renamings", 120, "--counts", "2,3"),
        *("--names", "a,b,c,d,e,q"),
    )
    # P(6, 2) = 30 and P(6, 3) = 120 renamings of 4 and 1 problems; built to be invariant.
    assert found["samples"] == 4 * 30 + 120
    for count, samples, renamings in (("2", 4, 30), ("3", 1, 120)):
        entry = found["result"][count]
        found_ = entry["samples"], entry["renamings"], entry["mean"]
        assert found_ == (samples, [renamings] * 2, 1.0)
    assert "| 3 | 1 | 120 | 100.00 % |" in table
    fewer, _ = evaluate(
        *("prop", prefix, *SHORT, "--counts", "2", "--renamings", "7,2"),
        result=tmp_path / "fewer.json",
    )
    # Names are by default those in the file: a to e.
    assert fewer["options"]["names"] == list("abcde") and fewer["samples"] == 14


def test_alpha_covariance_of_whoever_has_no_checkpoint(evaluate, tmp_path, capsys):
    prefix = write(tmp_path, ["| a b", "& ! a b", "a"], ["a 1", "a 0 b 1", "a 1"])
    chosen = ["prop", prefix, "--renamings", 9, "--counts", "2", "--names", "a,b,c"]
    sit("evaluate", *chosen, "--result", tmp_path / "renamed.json")
    assert "12 problems" in capsys.readouterr().out
    sources, targets = (
        (tmp_path / f"renamed.{side}").read_text().splitlines() for side in ("src", "tgt")
    )
    pairs = list(zip(sources, targets))
    assert len(set(pairs)) == 12 and ("| c a", "c 1") in pairs and ("& ! b c", "b 0 c 1") in pairs
    # One who answers a 1 whenever there is an a, and else as it should be.
    answers = ["a 1" if "a" in source.split() else target for source, target in pairs]
    (tmp_path / "lines").write_text("".join(f"{answer}\n" for answer in answers))
    found, _ = evaluate(*chosen, path=("--generated", tmp_path / "lines"))
    # Undone: a 1, b 1 and the label of each formula, in six renamings.
    assert found["result"]["2"]["mean"] == pytest.approx((0.8 + 0.6) / 2)
    with pytest.raises(UserError, match="pass --result FILE"):
        sit("evaluate", *chosen, "--generated", tmp_path / "lines")
    with pytest.raises(UserError, match="pass --symbols REGEX"):
        sit("evaluate", "exact", *chosen[1:], "--result", tmp_path / "renamed.json")


def test_what_a_target_binds_gives_way_to_the_new_names(tmp_path):
    prefix = write(tmp_path, ["f a"], ["let b = f a"])
    words = ("--renamings", 9, "--counts", "1", "--names", "a,b,c", "--symbols", "[a-c]")
    sit("evaluate", "alpha", prefix, *words, "--result", tmp_path / "renamed.json")
    answers = tmp_path / "renamed.tgt"
    lines = answers.read_text().splitlines()
    assert sorted(lines) == ["let a = f b", "let b = f a", "let b = f c"]
    # Names of bound variables mean nothing, whoever answers.
    sit(
        "evaluate", "alpha", prefix, *words, "--generated", answers, "--result", tmp_path / "R.json"
    )
    assert json.loads((tmp_path / "R.json").read_text())["result"]["1"]["mean"] == 1.0


def test_top_n(evaluate, tmp_path, prefix, journal):
    (tmp_path / "text.tgt").unlink()
    found, _ = evaluate("prop", prefix, *SHORT, "--top-n", "3,1,10")
    assert list(found["result"]) == ["1", "3", "10"]
    assert (tmp_path / "out" / "result.png").stat().st_size > 1000
    counts = [entry["count"] for entry in found["result"].values()]
    assert counts == sorted(counts) and counts[-1] > 0
    assert found["options"]["beams"] == [10]
    for n in (1, 3, 10):
        right = sum("satisfied" in entry["verdicts"][:n] for entry in journal())
        assert found["result"][str(n)]["count"] == right


def test_grids(evaluate, tmp_path):
    sources = ["! a", "! b", "& a b", "xor & a b c"]
    cells = [Cell(1, 2, 0, 2), Cell(2, 3, 2, 1), Cell(3, 5, 3, 1), Cell(3, 6, 4, 0)]
    Grid(cells, sources, ["a 0", "b 0", "a 1 b 1", "c 1 a 0"]).write(str(tmp_path / "grid"))
    box = ("--by", "symbols=2", "length=3")
    found, table = evaluate("prop", tmp_path / "grid", *SHORT, *box)
    result = found["result"]
    assert [cell["count"] for cell in result["cells"]] == [2, 1, 1, 0]
    assert (result["inside_box"]["total"], result["outside_box"]["total"]) == (3, 1)
    assert result["overall"]["count"] == sum(cell["correct"] for cell in result["cells"])
    assert "| overall | 4 |" in table
    names = {Path(path).name for path in found["files"]}
    assert names == {"grid.src", "grid.tgt", "manifest.json", "checkpoint_last.pt"}
    plain, _ = evaluate("prop", tmp_path / "grid", *SHORT, result=tmp_path / "plain.json")
    assert plain["metric"] == "heat-map" and plain["result"]["overall"] == result["overall"]
    with pytest.raises(UserError, match="manifest.json would be written over"):
        evaluate("prop", tmp_path / "grid", *SHORT, result=tmp_path / "grid/manifest.json")
    asked = ("prop", tmp_path / "grid", *SHORT, *box, "--top-n", "1,3")
    top, lines = evaluate(*asked, result=tmp_path / "top.json")
    assert top["result"]["1"]["box"] == {"symbols": 2, "length": 3}
    assert top["result"]["3"]["overall"]["count"] >= top["result"]["1"]["overall"]["count"]
    assert "| first n | sentences | inside box | outside box | overall |" in lines
    for figure in (tmp_path / "out" / "result.png", tmp_path / "top.png"):
        assert figure.stat().st_size > 1000


def without_time(result):
    return {name: value for name, value in result.items() if name != "seconds"}


def test_an_interrupted_run_ends_in_the_same_result_file(evaluate, tmp_path, prefix, monkeypatch):
    monkeypatch.setattr(measuring, "BATCH", 3)
    command = ("prop", prefix, *SHORT)
    whole, _ = evaluate(*command)
    journal, result = tmp_path / "out" / "result.answers.jsonl", tmp_path / "out" / "result.json"
    lines = journal.read_text().splitlines(keepends=True)
    result.unlink()
    journal.write_text("".join(lines[:5]) + lines[5][:10])
    again, _ = evaluate(*command)
    assert without_time(again) == without_time(whole)
    # What a complete batch had was not asked for again: an edited answer is still there.
    edited = json.loads(lines[1])
    edited["answers"] = ["?"]  # whose verdict is asked for again
    journal.write_text("".join([lines[0], json.dumps(edited) + "\n", *lines[2:4]]))
    with pytest.raises(UserError, match="beams.*--restart"):
        evaluate(*command, "--beam", 2)
    third, _ = evaluate(*command)
    assert third["result"]["verdicts"]["invalid"] == 1 + whole["result"]["verdicts"]["invalid"]
    fresh, _ = evaluate(*command, "--restart")
    assert fresh["result"] == whole["result"]


def test_a_result_says_what_it_depends_on(evaluate, models, prefix):
    found, printed = evaluate("prop", prefix, *SHORT, "--judge", "aiger")
    assert printed.splitlines()[-1] == found["signature"]
    parts = found["signature"].split("|")
    assert parts[:2] == ["prop@1", "judge:aiger"]
    model = found["files"][str(models.stream)]
    for part in ("beams:3", f"model:{model[:8]}", f"torch:{torch.__version__}"):
        assert part in parts
    assert any(part.startswith("sit_fairseq:0.") for part in parts)
    assert found["undecided"] == 0 and found["versions"]["python-sat"]


def test_a_judge_that_lacked_its_library_is_asked_again(evaluate, prefix, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(BitsJudge, "missing", "a library")
        patch.setattr(BitsJudge, "implies", lambda self, *question: Verdict.unavailable)
        before, _ = evaluate("prop", prefix, *SHORT)
    assert before["undecided"] == before["result"]["verdicts"]["unavailable"] > 0
    after, _ = evaluate("prop", prefix, *SHORT)
    assert after["undecided"] == after["result"]["verdicts"]["unavailable"] == 0


def test_what_the_judge_cannot_read_is_refused(evaluate, tmp_path):
    prefix = write(tmp_path, [*SOURCES, "& a"], [*TARGETS, "a 1"])
    with pytest.raises(UserError, match="sentence 9 is no problem of prop .*operand"):
        evaluate("prop", prefix, *SHORT)


def test_ctrl_c_is_no_traceback(evaluate, prefix, journal, monkeypatch):
    def interrupted(decoder, sources, skip=()):
        yield {3: Answered(["a 1"])}
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ModelAnswerer, "decode", interrupted)
        with pytest.raises(UserError, match="Interrupted; the same command goes on"):
            evaluate("prop", prefix, *SHORT)
        (kept,) = journal()
        assert (kept["index"], kept["verdicts"]) == (3, ["satisfied"])
        with pytest.raises(UserError, match="the same command without --restart goes on"):
            evaluate("prop", prefix, *SHORT, "--restart")


@pytest.mark.parametrize(
    "options",
    [
        ("--beam", 0),
        ("--max-len", "-1,8"),
        ("--top-n", "1,x"),
        ("--renamings", 1),
        ("--by", "size"),
    ],
)
def test_options_are_checked_as_they_are_read(evaluate, prefix, capsys, options):
    with pytest.raises(SystemExit) as usage:
        evaluate("prop", prefix, *options)
    assert usage.value.code == 2 and f"argument {options[0]}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options, message",
    [
        (("--by", "written"), "DATA"),
        (("--top-n", "1", "--by", "length"), "--by"),
        (("--renamings", 9, "--top-n", "1"), "--top-n"),
        (("--names", "a,b"), "--names"),
        (("--by", "length", "written"), "length and written"),
        (("--counts", "2"), "--counts"),
        (("--top-n", "1,10", "--beams", "3"), "beam of 3 has no 10.*--beams or --top-n"),
        (("--by", "symbols=1"), "symbols and length; change --by"),
        (("--renamings", 9, "--judge", "bits"), "--judge"),
        (("--beams", "3,25"), "change --beams or --verify"),
    ],
)
def test_what_does_not_go_together_is_refused(evaluate, prefix, options, message):
    with pytest.raises(UserError, match=message):
        evaluate("prop", prefix, *options)


def test_a_folder_stands_for_its_model(evaluate, prefix):
    found, _ = evaluate("prop", prefix, *SHORT, path=("--path", ROOT / "checkpoints/prop"))
    assert str(ROOT / "checkpoints/prop/model.pt") in found["files"]


def test_by_length_and_by_cell(evaluate, prefix, tmp_path):
    """Of any pairs, without a grid; options may stand before the data."""
    whole, _ = evaluate("prop", prefix, *SHORT)
    found, table = evaluate("prop", *SHORT, prefix, "--by", "length")
    shares = found["result"]["correct_by_length"].items()
    assert {n: share["total"] for n, share in shares} == {"1": 1, "2": 1, "3": 4, "5": 2}
    assert "| correct of those with 1 token | " in table
    assert found["result"]["correct"] == whole["result"]["correct"]
    cells, _ = evaluate("prop", prefix, *SHORT, *CELLS, result=tmp_path / "cells.json")
    assert cells["metric"] == "heat-map"
    assert cells["result"]["overall"] == whole["result"]["correct"]
    sizes = [(c["symbols"], c["length"], c["count"]) for c in cells["result"]["cells"]]
    assert sizes == [(1, 1, 1), (1, 2, 1), (1, 3, 1), (2, 3, 3), (2, 5, 1), (3, 5, 1)]


def test_answers_of_a_file_belong_to_their_lines_by_cell_too(evaluate, tmp_path):
    answers = ["a 1 b 1 c 1", "b 0 a 1", "a 0"]
    prefix = write(tmp_path, ["& a & b c", "xor a b", "! a"], answers)
    found, _ = evaluate("prop", prefix, *CELLS, path=("--generated", f"{prefix}.tgt"))
    assert found["result"]["overall"]["count"] == 3
    cells = [(cell["symbols"], cell["length"]) for cell in found["result"]["cells"]]
    assert cells == [(1, 2), (2, 3), (3, 5)]


def test_nothing_that_is_read_is_written_over(evaluate, tmp_path, prefix):
    answers = tmp_path / "answers.json"
    answers.write_bytes(Path(f"{prefix}.tgt").read_bytes())
    with pytest.raises(UserError, match="answers.json would be written over.*--result"):
        evaluate("prop", prefix, path=("--generated", answers), result=answers)
    words = ("--renamings", 2, "--counts", 2, "--result", f"{prefix}.json")
    for _ in range(2):
        with pytest.raises(UserError, match="text.src would be written over.*--result"):
            sit("evaluate", "prop", prefix, *words)
        Path(prefix).mkdir(exist_ok=True)  # a folder of the same name


def test_mistakes_are_told(evaluate, tmp_path, prefix):
    with pytest.raises(UserError, match="text.src"):
        evaluate("prop", prefix, *SHORT, result=f"{prefix}.src/result.json")
    given = ("--generated", f"{prefix}.tgt")
    for options in (("--top-n", "1"), ("--by", "length")):
        with pytest.raises(UserError, match="--symbols"):
            evaluate("prop", prefix, *options, "--symbols", "a", path=given)
    with pytest.raises(UserError, match="one answer .*--top-n or --generated"):
        evaluate("prop", prefix, "--top-n", "1,3", path=given)
    for option in ("--verify", "--beams", "--constrained", "--max-len"):
        with pytest.raises(UserError, match=f"file need no search; change {option} or --gen"):
            evaluate("prop", prefix, option, "3", path=given)
