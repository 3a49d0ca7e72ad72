"""Experiments are carried out, and what is done is not done again."""

import json
from pathlib import Path

import pytest
from experiment_file import FILE, specification

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.experiments.processes import Processes
from sit_fairseq.evaluation.experiments.runner import Runner, run_experiments
from sit_fairseq.evaluation.result_file import sha256_of_file


class FakeProcesses(Processes):
    """Writes what the commands would, and keeps account of them and of answers they go on from."""

    def __init__(self, folder):
        super().__init__(folder, {})
        self.folder, self.calls = folder, []

    def call(self, log, program, *arguments):
        words = list(map(str, arguments))
        answers = log.with_suffix(".answers.jsonl")
        self.calls.append(log.stem + " goes on" if answers.exists() else log.stem)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(" ".join(words))
        if "--result" in words:
            answers.write_text("")
            files = {"x.src": sha256_of_file(str(self.folder / "x.src"))}
            found = {"files": files, "result": {"correct": {"share": 0.5}, "3": {"mean": 1.0}}}
            Path(words[words.index("--result") + 1]).write_text(json.dumps(found))
        return 60.0


@pytest.fixture
def folder(tmp_path):
    """Data, and a configuration."""
    for name in ("bin", "bin.few"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "train.src-tgt.src.bin").write_text(name)
        (tmp_path / name / "preprocess.log").write_text("now")
    (tmp_path / "x.src").write_text("a\n")
    (tmp_path / "mini.yaml").write_text("a: 1")
    return tmp_path


def make_runner(folder, **parts):
    runner = Runner(specification(folder, **parts), folder / "mini.yaml", folder, 1)
    runner._processes = FakeProcesses(folder)
    return runner


ONE = {"conditions": {"All": "bin"}, "seeds": [1]}


def carry_out(folder, **parts):
    """Carries out a table of one condition and seed and says which commands were called."""
    runner = make_runner(folder, **{**ONE, **parts})
    results = list(map(runner, runner._specification.runs))
    assert None not in results
    return runner._processes.calls


def test_what_is_done_is_not_done_again(folder):
    assert carry_out(folder) == ["train", "test", "train", "test", "covariance"]
    assert carry_out(folder) == []
    (folder / "bin" / "preprocess.log").write_text("later")
    assert carry_out(folder) == []
    (folder / "x.src").rename(folder / "moved.src")
    assert carry_out(folder) == []


def test_measurements_of_one_condition_are_made_there_alone(folder):
    few = {**FILE["measurements"]["covariance"], "conditions": ["Few"]}
    parts = {"conditions": {"All": "bin", "Few": "bin.few"}, "models": {"B": []}}
    measurements = {"covariance": few}
    calls = carry_out(folder, **parts, measurements=measurements)
    assert calls == ["train", "train", "covariance"]


def test_what_was_measured_otherwise_is_measured_again(folder):
    carry_out(folder)
    (folder / "x.src").write_text("b\n")
    assert carry_out(folder) == ["test", "test", "covariance"]
    other = {**FILE["measurements"], "test": {**FILE["measurements"]["test"], "command": ["y"]}}
    assert carry_out(folder, measurements=other) == ["test", "test"]
    assert carry_out(folder, measurements=other) == []


@pytest.mark.parametrize("command, called", [(["correct", "x"], "test goes on"), (["y"], "test")])
def test_an_interrupted_measurement_goes_on_unless_it_is_another(folder, command, called):
    runner = make_runner(folder, **ONE)
    call = runner._processes.call

    def interrupted(log, *words):
        if log.stem == "test":
            log.with_suffix(".answers.jsonl").write_text("some")
            raise KeyboardInterrupt
        return call(log, *words)

    runner._processes.call = interrupted
    with pytest.raises(KeyboardInterrupt):
        runner(runner._specification.runs[0])
    test = {**FILE["measurements"]["test"], "command": command}
    found = carry_out(folder, measurements={**FILE["measurements"], "test": test})
    assert found == [called, "train", "test", "covariance"]


def test_what_failed_to_begin_anew_does_not_go_on_from_old_answers(folder):
    carry_out(folder)
    (folder / "x.src").write_text("b\n")
    runner = make_runner(folder, **ONE)

    def fail(*_):
        raise KeyboardInterrupt

    runner._processes.call = fail
    with pytest.raises(KeyboardInterrupt):
        runner(runner._specification.runs[0])
    assert carry_out(folder) == ["test", "test", "covariance"]


@pytest.mark.parametrize("changed", ["configuration", "overrides", "data", "content of the data"])
def test_results_of_other_settings_are_not_taken_over(folder, changed):
    carry_out(folder)
    parts = {}
    if changed == "configuration":
        (folder / "mini.yaml").write_text("a: 2")
    elif changed == "overrides":
        parts["overrides"] = ["b=1"]
    elif changed == "data":
        parts["conditions"] = {"All": "bin.few"}
    else:
        (folder / "bin" / "train.src-tgt.src.bin").write_text("more")
    with pytest.raises(UserError, match=f"steps of another run .*{changed}.*name another DIR"):
        carry_out(folder, **parts)


def test_a_comment_in_the_configuration_changes_no_results(folder):
    carry_out(folder)
    (folder / "mini.yaml").write_text("# explained\na: 1\n")
    assert carry_out(folder) == []


@pytest.mark.parametrize(
    "text, reason",
    [
        ("a: [1", "is no YAML that can be used: .*"),
        ("a: !!binary aGk=", "is no YAML that can be used: .*"),
        ("- a", "holds a list .*"),
        (None, "Is a directory"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_named(folder, text, reason):
    path = folder / "mini.yaml"
    if text is None:
        path.unlink()
        path.mkdir()
    else:
        path.write_text(text)
    with pytest.raises(UserError, match=f"mini.yaml:? {reason}.*change --scale"):
        make_runner(folder)


def test_a_damaged_journal_is_named(folder):
    carry_out(folder)
    path = folder / "runs" / "All" / "A" / "seed1" / "journal.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + '{"step": "training"}\n')
    with pytest.raises(UserError, match="Line 2 of .*journal.jsonl is damaged"):
        carry_out(folder)


def test_runs_of_version_0_1_are_refused(folder):
    own = folder / "runs" / "All" / "A" / "seed1"
    own.mkdir(parents=True)
    (own / "settings.json").write_text("{}")
    with pytest.raises(UserError, match="version 0.1.*name another DIR"):
        carry_out(folder)


def test_two_of_a_kind_do_not_train_at_once(folder):
    runner = make_runner(folder, **ONE)
    with runner.open_journal(runner._specification.runs[0]):
        with pytest.raises(UserError, match="in use by another process"):
            carry_out(folder)


def test_a_wrong_column_ends_the_first_run(folder):
    wrong = {"test": {"command": ["x"], "columns": {"Correct": "correct.shares"}}}
    runner = make_runner(folder, **ONE, measurements=wrong)
    with pytest.raises(UserError, match="'correct.shares'"):
        runner(runner._specification.runs[0])


@pytest.mark.parametrize("missing", ["bin", "mini.yaml"])
def test_what_is_missing_is_named_before_anything_runs(folder, missing):
    (folder / missing).rename(folder / "moved")
    with pytest.raises(UserError, match=f"{missing}.*(prepare the data|--scale)"):
        make_runner(folder)


def test_the_table_is_written_after_each_run(folder, monkeypatch):
    """What was finished before an interruption can be read."""

    class Interrupted(FakeProcesses):
        def call(self, log, program, *arguments):
            if "seed2" in str(log):
                raise KeyboardInterrupt
            return super().call(log, program, *arguments)

    monkeypatch.setattr(f"{Runner.__module__}.Processes", lambda path, _: Interrupted(path))
    two = specification(folder, conditions={"All": "bin"})
    with pytest.raises(UserError, match="Interrupted"):
        run_experiments(two, folder / "mini.yaml", folder, "some", 1)
    rows = [row.split() for row in (folder / "some.md").read_text().splitlines()]
    assert [row[1:4] for row in rows[2:]] == [["All", "|", "A"], ["All", "|", "B"]]
    done = json.loads((folder / "some.json").read_text())
    assert [(run["model"], run["seed"]) for run in done] == [("A", 1), ("B", 1)]


def test_at_least_one_job(folder):
    with pytest.raises(UserError, match="--jobs 0"):
        run_experiments(specification(folder), folder / "mini.yaml", folder, "some", 0)
