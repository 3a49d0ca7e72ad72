"""``sit evaluate``, run as users run it."""

import errno
import hashlib
import json
import os
import re
import sys
from pathlib import Path

import pytest
from command_line import UNVALIDATED, generate, preprocess_lines, sit, train
from conftest import needs_spot

from sit_fairseq.datasets.grid import Cell, Grid
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.decoding import CheckpointDecoder

SHORT = ("--device", "cpu", "--max-len-b", 8)
PROP = ("--semantics", "prop", *SHORT)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A hardly trained model."""
    root = tmp_path_factory.mktemp("evaluate")
    options = ("--max-length", 9, "--workers", 1)
    sit("generate", "prop", root / "train", "--size", 300, "--seed", 1, *options)
    sources, targets = (
        (root / f"train.{side}").read_text().splitlines() for side in ("src", "tgt")
    )
    data = preprocess_lines(root / "data", sources, targets, split="valid")
    return train(data, root / "model", "--max-update", 8, *UNVALIDATED)


@pytest.fixture
def evaluate(model, tmp_path, capsys, monkeypatch):
    """Runs a verb on the model; returns the result file's content and the table, in which
    nothing is aligned."""

    def run(*arguments, path=("--path", model), result=tmp_path / "out" / "result.json"):
        capsys.readouterr()
        words = list(map(str, ["evaluate", *arguments, *path, "--result", result]))
        monkeypatch.setattr(sys, "argv", ["/bin/sit", *words])
        sit(*words)
        table = re.sub(" +", " ", capsys.readouterr().out)
        return json.loads(Path(result).read_text()), table

    return run


def write(tmp_path, sources, targets=None):
    """Writes text files and returns their prefix."""
    for side, lines in (("src", sources), ("tgt", targets)):
        if lines is not None:
            (tmp_path / f"text.{side}").write_text("".join(line + "\n" for line in lines))
    return tmp_path / "text"


SOURCES = ["& a b", "! a", "| & a b c", "a", "xor a b", "<-> b c", "! ! d", "& ! a ! e"]
TARGETS = ["a 1 b 1", "a 0", "c 1", "a 1", "a 1 b 0", "b 1 c 1", "d 1", "a 0 e 0"]


def test_correct(evaluate, model, tmp_path):
    prefix = write(tmp_path, SOURCES, TARGETS)
    found, table = evaluate("correct", prefix, *PROP, "--seed", 7)
    assert found["metric"] == "correct" and found["seed"] == 7 and found["samples"] == 8
    assert found["seconds"] > 0 and found["command"][:3] == ["sit", "evaluate", "correct"]
    assert set(found["versions"]) == {"sit_fairseq", "fairseq", "torch", "spot", "python"}
    for path in (f"{prefix}.src", f"{prefix}.tgt", model):
        digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
        assert found["files"][str(path)] == digest
    assert sum(found["result"]["verdicts"].values()) == found["result"]["correct"]["total"] == 8
    assert found["result"]["correct"]["count"] == found["result"]["verdicts"]["satisfied"]
    assert "| correct | " in table and "| exact modulo order | " in table
    answers = [json.loads(line) for line in open(tmp_path / "out" / "result.answers.jsonl")][1:]
    assert sorted((entry["index"], entry["source"]) for entry in answers) == list(
        enumerate(SOURCES)
    )


def test_generated_output_gives_the_same_numbers(evaluate, model, tmp_path, capsys):
    prefix = write(tmp_path, SOURCES, TARGETS)
    expected, _ = evaluate("correct", prefix, *PROP)
    data = preprocess_lines(tmp_path / "data", SOURCES, TARGETS)
    capsys.readouterr()
    generate(data, model, "--beam", 3, "--max-len-b", 8)
    (tmp_path / "printed.txt").write_text(capsys.readouterr().out)
    given = ("--generated", tmp_path / "printed.txt")
    found, _ = evaluate("correct", prefix, *PROP, path=given, result=tmp_path / "given.json")
    assert found["result"] == expected["result"]
    assert str(tmp_path / "printed.txt") in found["files"]


def test_given_answers_up_to_the_names_of_fresh_symbols(evaluate, tmp_path):
    """Without a model ``--symbols`` says which tokens are symbols, and must."""
    prefix = write(tmp_path, ["f a", "f b"], ["let c = f a", "let c = f b"])
    (tmp_path / "answers.txt").write_text("let x = f a\nlet x = f x\n")
    given, alpha = ("--generated", tmp_path / "answers.txt"), ("--semantics", "alpha")
    found, table = evaluate("correct", prefix, *alpha, "--symbols", "[a-e]|x", path=given)
    assert found["result"]["correct"] == {**found["result"]["correct"], "count": 1, "total": 2}
    assert found["options"]["symbols"] == "[a-e]|x"
    assert "| correct of those with 1 symbol | 1 of 2 |" in table
    with pytest.raises(UserError, match="alpha with --generated needs --symbols"):
        evaluate("correct", prefix, *alpha, path=given)


def test_given_answers_are_not_searched_for(evaluate, tmp_path):
    prefix = write(tmp_path, SOURCES, TARGETS)
    given = ("--generated", f"{prefix}.tgt")
    with pytest.raises(UserError, match="--verify needs a model .* not --generated"):
        evaluate("correct", prefix, *PROP, "--verify", "prop", path=given)
    with pytest.raises(UserError, match="name a file with --generated"):
        evaluate("correct", prefix, *PROP, path=("--generated", ""))


def test_answers_that_equal_the_references(evaluate, tmp_path):
    """No source is read as a formula, and the answers kept are those of these references."""
    exact = ("--semantics", "exact", *SHORT)
    prefix = write(tmp_path, SOURCES, TARGETS)
    asked, _ = evaluate("correct", prefix, *exact)
    assert asked["result"]["correct"] == asked["result"]["exact"]
    answers = [""] * len(SOURCES)
    for line in list(open(tmp_path / "out" / "result.answers.jsonl"))[1:]:
        entry = json.loads(line)
        answers[entry["index"]] = entry["answers"][0]
    prefix = write(tmp_path, SOURCES, [answers[0], "no 1 such 1", *answers[2:]])
    with pytest.raises(UserError, match="--restart"):
        evaluate("correct", prefix, *exact)
    found, _ = evaluate("correct", prefix, *exact, "--restart")
    assert found["result"]["correct"]["count"] == len(SOURCES) - 1
    top, _ = evaluate("top-n", prefix, *exact, "--n", "1,3", result=tmp_path / "top.json")
    assert top["result"]["3"]["count"] >= len(SOURCES) - 1 and f"{prefix}.tgt" in top["files"]
    lengths = [len(source.split()) for source in SOURCES]
    cells = [Cell(5, length, place, 1) for place, length in enumerate(lengths)]
    grid = Grid(cells, SOURCES, [*answers[:-1], "no"], {})
    grid.write(str(tmp_path / "grid"))
    drawn, _ = evaluate("heat-map", tmp_path / "grid", *exact, result=tmp_path / "grid.json")
    assert drawn["result"]["overall"]["count"] == len(SOURCES) - 1


@needs_spot
def test_a_cheat_by_impossible_traces_scores_nothing(evaluate, tmp_path):
    formulas = ["U a b", "G a", "& a ! a"]
    prefix = write(tmp_path, formulas, ["{ b }", "{ a }", "{ 0 }"])
    lines = [f"S-{i}\t{formula}\nH-{i}\t-0.1\t{{ 0 }}\n" for i, formula in enumerate(formulas)]
    (tmp_path / "cheat.txt").write_text("".join(lines))
    path = ("--generated", tmp_path / "cheat.txt")
    found, table = evaluate("correct", prefix, "--semantics", "ltl", "--workers", 0, path=path)
    assert found["result"]["correct"]["count"] == 0
    assert found["result"]["verdicts"]["vacuous"] == 3
    assert found["result"]["exact"]["count"] == 1
    assert "| vacuous | 3 | 100.00 %" in table


@pytest.mark.parametrize("full", ["answers.jsonl", "png", "json"])
def test_full_disk(evaluate, tmp_path, monkeypatch, full):
    """One sentence, nothing half written, and the answers so far are kept."""
    prefix = write(tmp_path, SOURCES)
    replace, fsync = os.replace, os.fsync

    def no_space():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def replace_or_fail(source, target):
        return no_space() if str(target).endswith(f".{full}") else replace(source, target)

    def fsync_or_fail(descriptor):
        return no_space() if full == "answers.jsonl" else fsync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace_or_fail)
        patch.setattr(os, "fsync", fsync_or_fail)
        message = rf"^Cannot write .*result\.{full}: No space left on device; change --result\.$"
        with pytest.raises(UserError, match=message):
            evaluate("top-n", prefix, *PROP, "--n", "1,3")
    left = {path.name for path in (tmp_path / "out").iterdir()} - {"result.answers.jsonl"}
    assert left == ({"result.png"} if full == "json" else set())
    found, _ = evaluate("top-n", prefix, *PROP, "--n", "1,3")
    assert found["samples"] == len(SOURCES)


def test_alpha_covariance(evaluate, tmp_path):
    prefix = write(tmp_path, SOURCES)
    found, table = evaluate(
        "alpha-covariance", prefix, *SHORT, "--counts", "2,3", "--names", "a,b,c,d,e,q"
    )
    # P(6, 2) = 30 and P(6, 3) = 120 renamings of 4 and 1 problems; built to be invariant.
    assert found["samples"] == 4 * 30 + 120
    for count, samples, renamings in (("2", 4, 30), ("3", 1, 120)):
        entry = found["result"][count]
        assert (entry["samples"], entry["renamings"], entry["mean"]) == (samples, renamings, 1.0)
    assert "| 3 | 1 | 120 | 100.00 % |" in table
    fewer, _ = evaluate(
        "alpha-covariance",
        *(prefix, *SHORT, "--counts", "2", "--samples", 2, "--max-renamings", 7),
        result=tmp_path / "fewer.json",
    )
    # Names are by default those in the file: a to e.
    assert fewer["options"]["names"] == list("abcde") and fewer["samples"] == 14


def test_top_n(evaluate, tmp_path):
    prefix = write(tmp_path, SOURCES)
    found, _ = evaluate("top-n", prefix, *PROP, "--n", "3,1,10")
    assert list(found["result"]) == ["1", "3", "10"]
    assert (tmp_path / "out" / "result.png").stat().st_size > 1000
    counts = [entry["count"] for entry in found["result"].values()]
    assert counts == sorted(counts) and counts[-1] > 0
    assert found["options"]["beam"] == found["options"]["nbest"] == 10
    answers = [json.loads(line) for line in open(tmp_path / "out" / "result.answers.jsonl")][1:]
    for n in (1, 3, 10):
        assert found["result"][str(n)]["count"] == sum(
            "satisfied" in entry["verdicts"][:n] for entry in answers
        )


def test_heat_map(evaluate, tmp_path):
    sources = ["! a", "! b", "& a b", "xor & a b c"]
    cells = [Cell(1, 2, 0, 2), Cell(2, 3, 2, 1), Cell(3, 5, 3, 1), Cell(3, 6, 4, 0)]
    Grid(cells, sources, ["a 0", "b 0", "a 1 b 1", "c 1 a 0"]).write(str(tmp_path / "grid"))
    box = ("--training-symbols", 2, "--training-length", 3)
    found, table = evaluate("heat-map", tmp_path / "grid", *PROP, *box)
    result = found["result"]
    assert [cell["count"] for cell in result["cells"]] == [2, 1, 1, 0]
    assert (result["inside_box"]["total"], result["outside_box"]["total"]) == (3, 1)
    top, lines = evaluate(
        *("top-n", tmp_path / "grid", *PROP, *box, "--n", "1,3"), result=tmp_path / "top.json"
    )
    assert top["result"]["1"]["box"] == {"symbols": 2, "length": 3}
    assert top["result"]["3"]["overall"]["count"] >= top["result"]["1"]["overall"]["count"]
    assert "| first n | sentences | inside box | outside box | overall |" in lines
    assert (tmp_path / "top.png").stat().st_size > 1000
    with pytest.raises(UserError, match="--lowest 1.0"):
        evaluate("top-n", tmp_path / "grid", *PROP, "--lowest", 1)
    assert result["overall"]["count"] == sum(cell["correct"] for cell in result["cells"])
    assert "| overall | 4 |" in table
    assert (tmp_path / "out" / "result.png").stat().st_size > 1000
    names = {Path(path).name for path in found["files"]}
    assert names == {"grid.src", "grid.tgt", "manifest.json", "checkpoint_last.pt"}


def test_cost(evaluate, tmp_path):
    options = ("--counts", "1,4", "--samples", 3, "--repetitions", 2, "--length", 9)
    found, table = evaluate("cost", *SHORT, *options)
    assert list(found["result"]) == ["1", "4"] and found["samples"] == 6
    for entry in found["result"].values():
        assert len(entry["seconds"]) == 2 and entry["median_seconds"] > 0
        assert entry["mean_source_tokens"] == 9
    assert "| 4 |" in table
    assert (tmp_path / "out" / "result.png").stat().st_size > 1000


def without_time(result):
    return {name: value for name, value in result.items() if name != "seconds"}


def test_an_interrupted_run_ends_in_the_same_result_file(evaluate, tmp_path):
    prefix = write(tmp_path, SOURCES, TARGETS)
    command = ("correct", prefix, *PROP, "--batch-size", 3)
    whole, _ = evaluate(*command)
    journal, result = tmp_path / "out" / "result.answers.jsonl", tmp_path / "out" / "result.json"
    lines = journal.read_text().splitlines(keepends=True)
    result.unlink()
    journal.write_text("".join(lines[:5]) + lines[5][:10])
    again, _ = evaluate(*command)
    assert without_time(again) == without_time(whole)
    # What a complete batch had was not asked for again: an edited answer is still there.
    edited = json.loads(lines[1])
    edited["verdicts"] = ["timeout"]
    journal.write_text("".join([lines[0], json.dumps(edited) + "\n", *lines[2:4]]))
    third, _ = evaluate(*command)
    assert third["result"]["verdicts"]["timeout"] == 1
    fresh, _ = evaluate(*command, "--restart")
    assert fresh["result"] == whole["result"]


def test_ctrl_c_is_no_traceback(evaluate, tmp_path, monkeypatch):
    def interrupted(decoder, sources, skip=()):
        yield [3], [["a 1"]]
        raise KeyboardInterrupt

    prefix = write(tmp_path, SOURCES, TARGETS)
    with monkeypatch.context() as patch:
        patch.setattr(CheckpointDecoder, "decode", interrupted)
        with pytest.raises(UserError, match="Interrupted"):
            evaluate("correct", prefix, *PROP)
    header, kept = (tmp_path / "out" / "result.answers.jsonl").read_text().splitlines()
    assert json.loads(kept)["verdicts"] == ["satisfied"]


def test_answers_of_other_options_are_not_mixed(evaluate, tmp_path):
    prefix = write(tmp_path, SOURCES, TARGETS)
    evaluate("correct", prefix, *PROP)
    with pytest.raises(UserError, match=r"beam 3, not 2\).*--restart"):
        evaluate("correct", prefix, *PROP, "--beam", 2)
    write(tmp_path, SOURCES[:-1], TARGETS[:-1])
    with pytest.raises(UserError, match=r"other sentences\).*--restart"):
        evaluate("correct", prefix, *PROP)


@pytest.mark.parametrize(
    "command, options, words",
    [
        ("correct", ("--semantics", "prpo"), "unknown semantics 'prpo'"),
        ("correct", (*PROP, "--symbols", "["), "not a regular expression"),
        ("alpha-covariance", (*SHORT, "--names", "a,&"), "'&' is no symbol"),
        ("alpha-covariance", (*SHORT, "--names", "a,b"), "2 names allow for no two renamings of 3"),
        ("alpha-covariance", (*SHORT, "--counts", "5"), "no sentence has so many"),
        ("alpha-covariance", (*SHORT, "--max-renamings", 1), "--max-renamings 1"),
    ],
)
def test_mistakes_are_told_in_one_sentence(evaluate, tmp_path, command, options, words):
    prefix = write(tmp_path, SOURCES, TARGETS)
    with pytest.raises(UserError, match=words):
        evaluate(command, prefix, *options)
    assert not (tmp_path / "out" / "result.json").exists()


@pytest.mark.parametrize(
    "sources, targets, words",
    [(["a", "b"], ["a 1"], "2 lines but .tgt has 1"), ([], [], "no sentences")],
)
def test_unsuitable_files_are_told(evaluate, tmp_path, sources, targets, words):
    with pytest.raises(UserError, match=words):
        evaluate("correct", write(tmp_path, sources, targets), *PROP)


def test_other_mistakes(evaluate, tmp_path):
    prefix = write(tmp_path, SOURCES, TARGETS)
    with pytest.raises(UserError, match="no checkpoint none.pt"):
        evaluate("correct", prefix, *PROP, path=("--path", "none.pt"))
    with pytest.raises(UserError, match="Cannot write .*--result"):
        evaluate("correct", prefix, *PROP, result=f"{prefix}.src/result.json")
    with pytest.raises(UserError, match="missing.src"):
        evaluate("top-n", tmp_path / "missing", *PROP)
    with pytest.raises(UserError, match="manifest.json"):
        evaluate("heat-map", tmp_path / "missing", *PROP)
    with pytest.raises(UserError, match="20 symbols need at least 39"):
        evaluate("cost", *SHORT, "--length", 9)
    with pytest.raises(UserError, match="30 symbols are more than the 26"):
        evaluate("cost", *SHORT, "--counts", "30")
    with pytest.raises(SystemExit) as usage:
        evaluate("top-n", tmp_path / "missing", *PROP, "--n", "1,x")
    assert usage.value.code == 2


def test_generated(tmp_path, capsys):
    lines = "S-0\t! a\nT-0\ta 0\nH-0\t-0.1\ta 0\nI-0\tsatisfied\n"
    (tmp_path / "test.txt").write_text(lines)
    sit("evaluate", "generated", tmp_path, "--semantics", "prop", "test=Some = few")
    table = re.sub(" +", " ", capsys.readouterr().out)
    assert "| | Some = few | share and 95 % interval |\n" in table
    assert "| correct | 1 | 100.00 % [20.65, 100.00] |\n" in table
    with pytest.raises(SystemExit) as usage:
        sit("evaluate", "generated", tmp_path, "--semantics", "prop", "test")
    assert usage.value.code == 2
