"""examples/paper/runs.py: runs are carried out, each only once; other settings, another run."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from test_paper_tables import CONTENT, table

from examples.paper import runs, tables
from examples.paper.runs import Runner, run_table
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.depends import versions
from sit_fairseq.judging.workers import python
from sit_fairseq.storage.files import sha256_of_file

LOG = """a warning
[INFO] - num. shared model params: 2,906,496 (num. trained: 2,906,496)
[2026][train_inner][INFO] - {"correct": "1", "num_updates": "500"}
[2026][valid][INFO] - {"valid_loss": "2.1", "valid_corr
[2026][valid][INFO] - {"valid_correct": "54.5", "valid_timeout": "0", "valid_num_updates": "500"}
[2026][valid][INFO] - {"valid_correct": "60", "valid_num_updates": "1000"}
"""
ANSWERS = ".part.answers.jsonl"  # as a metric in parts names them
# Of one condition and seed, so that a table is two trainings and three measurements.
ONE = {"conditions": {"All": {"data": "bin"}}, "seeds": [1]}


@pytest.fixture
def folder(tmp_path):
    """Data, and a configuration."""
    for name in ("bin", "bin.few"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.src-tgt.src.bin").write_text(name)
        (tmp_path / name / "preprocess.log").write_text("now")
    (tmp_path / "x.src").write_text("a\n")
    (tmp_path / "some-hydra.yaml").write_text("a: 1")
    return tmp_path


@pytest.fixture
def calls(monkeypatch):
    """The commands that would have been called; files are written as they do."""
    calls = []

    def call(self, log, words, see):
        calls.append(log.stem)
        log.write_text(LOG)
        if "--result" in words:
            kept = log.with_suffix(ANSWERS)
            calls[-1] += " on" * kept.exists()
            kept.write_text("")
            model = words[words.index("--path") + 1]
            files = {"x.src": sha256_of_file(str(self._folder / "x.src")), model: "its hash"}
            result = {"correct": {"share": 0.5}, "3": {"mean": 1.0}}
            found = {"command": ["sit", *words[3:]], "files": files, "result": result}
            found.update(undecided=0, versions=versions())
            Path(words[words.index("--result") + 1]).write_text(json.dumps(found))
        return 60.0

    monkeypatch.setattr(Runner, "_call", call)
    return calls


def carry_out(folder, calls, **parts):
    """Carries out a small table and returns the commands that were called for it."""
    calls.clear()
    _, failed = run_table(table(folder, **{**ONE, **parts}), folder, "some", 1)
    assert not failed
    return list(calls)


def test_what_is_done_is_not_done_again(folder, calls):
    assert carry_out(folder, calls) == ["train", "test", "train", "test", "covariance"]
    assert carry_out(folder, calls) == []
    (folder / "bin" / "preprocess.log").write_text("later")
    (folder / "some-hydra.yaml").write_text("# explained\na: 1\n")
    (folder / "x.src").rename(folder / "moved.src")
    assert carry_out(folder, calls) == []


def test_a_module_may_measure(folder, monkeypatch):
    module = folder.parent / "measuring_module.py"
    module.write_text(
        "import json, sys; data, _, model, _, path = sys.argv[1:]; "
        "result = {'bits': len(data), 'model': model}; versions = {}; files = {model: 'its hash'}; "
        "json.dump(dict(result=result, versions=versions, files=files, undecided=0), open(path, 'w'))"
    )
    monkeypatch.syspath_prepend(module.parent)
    monkeypatch.setattr(tables, "MODULES", (module.stem,))
    measured = {"test": {"module": module.stem, "command": "data", "columns": {"Bits": "bits"}}}
    some = table(folder, **ONE, models={}, checkpoints={"A": "a.pt"}, measurements=measured)
    text, failed = run_table(some, folder, "some", 1)
    assert not failed and text.splitlines()[-1].split() == "| All | A | 4 |".split()


def test_what_was_measured_otherwise_is_measured_again(folder, calls):
    carry_out(folder, calls)
    (folder / "x.src").write_text("b\n")
    assert carry_out(folder, calls) == ["test", "test", "covariance"]
    test = {"command": "prop y", "columns": {"Correct": "correct.share"}}
    other = {**CONTENT["measurements"], "test": test}
    assert carry_out(folder, calls, measurements=other) == ["test", "test"]
    assert carry_out(folder, calls, measurements=other) == []


@pytest.mark.parametrize(
    "changed, called",
    [
        ({"undecided": 3}, "test on"),  # whose answers are judged again
        ({"versions": {**versions(), "spot": None}}, "test"),
        ({"versions": {**versions(), "no such library": "1.0"}}, "test"),
    ],
)
def test_what_a_judge_could_not_decide_or_another_decided_is_measured_again(
    folder, calls, changed, called
):
    measurements = {"test": CONTENT["measurements"]["test"]}
    given = {"models": {}, "checkpoints": {"A": "a.pt"}, "measurements": measurements}
    carry_out(folder, calls, **given)
    path = folder / "runs" / "All" / "A" / "seed1" / "test.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changed}))
    assert carry_out(folder, calls, **given) == [called]
    assert carry_out(folder, calls, **given) == []


def test_a_damaged_command_is_another(folder, calls):
    carry_out(folder, calls)
    (folder / "runs/All/A/seed1/test.command").write_bytes(b"\xff")
    assert carry_out(folder, calls) == ["test"]


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("command, called", [("prop x", "test on"), ("prop y", "test")])
def test_an_interrupted_measurement_goes_on_unless_it_is_another(
    folder, calls, command, called, before
):
    if before:
        carry_out(folder, calls)
        (folder / "x.src").write_text("b\n")
    runner = Runner(table(folder, **ONE), folder, 1)
    call = runner._call

    def interrupted(log, *arguments):
        if log.stem == "test":
            log.with_suffix(ANSWERS).write_text("")
            raise KeyboardInterrupt
        return call(log, *arguments)

    runner._call = interrupted
    with pytest.raises(KeyboardInterrupt):
        runner(runner.runs[0])
    test = {**CONTENT["measurements"]["test"], "command": command}
    found = carry_out(folder, calls, measurements={**CONTENT["measurements"], "test": test})
    assert found == [called, *([] if before else ["train"]), "test", "covariance"]


def test_an_interrupted_training_does_not_go_on_with_other_settings(folder, calls, monkeypatch):
    def ended(self, log, words, see):
        raise subprocess.CalledProcessError(1, words, str(log))

    with monkeypatch.context() as patch:
        patch.setattr(Runner, "_call", ended)
        assert run_table(table(folder, **ONE), folder, "some", 1)[1] == 2
    with pytest.raises(UserError, match="trainings of another run"):
        carry_out(folder, calls, overrides="optimization.lr=[0.1]")
    assert carry_out(folder, calls) == ["train", "test", "train", "test", "covariance"]


@pytest.mark.parametrize("changed", ["configuration", "overrides", "data", "content of the data"])
def test_results_of_other_settings_are_not_taken_over(folder, calls, changed):
    carry_out(folder, calls)
    parts = {}
    if changed == "configuration":
        (folder / "some-hydra.yaml").write_text("a: 2")
    elif changed == "overrides":
        parts["overrides"] = "b=1"
    elif changed == "data":
        parts["conditions"] = {"All": {"data": "bin.few"}}
    else:
        (folder / "bin" / "train.src-tgt.src.bin").write_text("more")
    with pytest.raises(UserError, match=f"trainings of another run .*{changed}.*another folder"):
        carry_out(folder, calls, **parts)


@pytest.mark.parametrize("missing", ["bin", "some-hydra.yaml"])
def test_what_is_missing_is_named_before_anything_runs(folder, calls, missing):
    (folder / missing).rename(folder / "moved")
    with pytest.raises(UserError, match=missing):
        carry_out(folder, calls)
    assert calls == []


def test_no_command_imports_from_the_folder_of_the_data(folder, tmp_path_factory, monkeypatch):
    """Judges are found in the clone."""
    evil = f"open({str(folder / 'executed')!r}, 'w')\n"
    for name in ("ctypes", "json", "sitecustomize", "argparse", "theirs", "colorama"):
        (folder / f"{name}.py").write_text(evil)
    home = tmp_path_factory.mktemp("home")
    (home / "mine.py").write_text(
        "from sit_fairseq.judging.judge import Judge\n\n\n"
        "class Mine(Judge):\n    def verify(self, problem, answer):\n        pass\n"
    )
    monkeypatch.setattr(runs, "ROOT", home)
    monkeypatch.setenv("PYTHONPATH", ":")
    runner, seen = Runner(table(folder, **ONE), folder, 1), []
    judge = "from sit_fairseq.domains.by_name import make_judge; make_judge('{}:Mine')"
    call = "import argparse, ctypes, json, os; print(os.getcwd()); "
    runner._call(folder / "log", python(call + judge.format("mine")), seen.append)
    assert seen == [f"{folder}\n"]
    with pytest.raises(subprocess.CalledProcessError):
        runner._call(folder / "log", python(judge.format("theirs")), seen.append)
    script = str(Path(sys.executable).with_name("fairseq-hydra-train"))
    runner._call(folder / "log", [script, "--version"], seen.append)
    assert not (folder / "executed").exists()


def test_a_run_that_fails_is_named_and_left_out(folder, calls, monkeypatch, capsys):
    call = Runner._call

    def failing(self, log, words, see):
        if "/A/" in str(log):
            raise subprocess.CalledProcessError(1, words[0], str(log))
        return call(self, log, words, see)

    monkeypatch.setattr(Runner, "_call", failing)
    text, failed = run_table(table(folder, **ONE), folder, "some", 1)
    assert failed == 1 and "50.00 %" in text
    assert "All / A / seed 1 FAILED, see" in capsys.readouterr().err


def test_the_table_is_written_after_each_run(folder, calls, monkeypatch):
    """What was finished before an interruption can be read."""
    call = Runner._call

    def interrupted(self, log, words, see):
        if "seed2" in str(log):
            raise KeyboardInterrupt
        return call(self, log, words, see)

    monkeypatch.setattr(Runner, "_call", interrupted)
    with pytest.raises(UserError, match="Interrupted"):
        run_table(table(folder, conditions=ONE["conditions"]), folder, "some", 1)
    rows = [row.split() for row in (folder / "some.md").read_text().splitlines()]
    assert [row[1:4] for row in rows[2:]] == [["All", "|", "A"], ["All", "|", "B"]]
