"""Tables of experiments: what a file says, what is done of it, and the table."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import ROOT
from conftest import gone

from sit_fairseq.copies import PACKAGE
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.experiments.processes import Processes
from sit_fairseq.evaluation.experiments.runner import Runner, run_experiments
from sit_fairseq.evaluation.experiments.specification import (
    make_specification,
    read_specification,
)
from sit_fairseq.evaluation.experiments.table import experiments_table, value_at
from sit_fairseq.evaluation.experiments.training_log import read_parameters, read_validation
from sit_fairseq.evaluation.result_file import sha256_of_file
from sit_fairseq.modules.attention_pattern import AttentionPattern

FILE = {
    "seeds": [1, 2],
    "heading": ["Data", "Model"],
    "conditions": {"All": "bin", "Few": {"data": "bin.few", "models": ["B"]}},
    "models": {"A": ["model.dropout=0"], "B": []},
    "measurements": {
        "test": {"command": ["correct", "x"], "columns": {"Correct": "correct.share"}},
        "covariance": {
            "command": ["alpha-covariance", "x", "--counts", 3],
            "columns": {"3 AP": "3.mean"},
            "models": ["B"],
        },
    },
}


def specification(folder=Path("out"), **parts):
    return make_specification({**FILE, **parts}, folder)


def test_runs_are_all_models_of_each_condition_with_each_seed():
    runs = specification(overrides=["x=1"]).runs
    assert [(run.condition, run.model, run.seed) for run in runs] == [
        *(("All", "A", 1), ("All", "A", 2), ("All", "B", 1), ("All", "B", 2)),
        *(("Few", "B", 1), ("Few", "B", 2)),
    ]
    assert runs[1].overrides == ["x=1", "model.dropout=0", "common.seed=2"]
    assert runs[-1].data == Path("out/bin.few")
    assert len({run.folder for run in runs}) == len(runs)


def test_a_condition_may_have_seeds_of_its_own():
    conditions = {"All": {"data": "bin", "seeds": [7]}, "Few": "bin.few"}
    runs = specification(conditions=conditions).runs
    seeds = {name: {run.seed for run in runs if run.condition == name} for name in conditions}
    assert seeds == {"All": {7}, "Few": {1, 2}}


def test_a_measurement_has_a_command_and_models():
    test, covariance = specification().measurements
    assert (test.models, covariance.models) == (["A", "B"], ["B"])
    assert test.conditions == ["All", "Few"]
    assert covariance.command == ["alpha-covariance", "x", "--counts", "3"]


def test_names_may_be_numbers():
    """YAML reads 2000 as a number."""
    found = specification(
        conditions={2000: "bin"},
        models={64: ["x=1"]},
        measurements={1: {"command": ["correct", "x"], "columns": {"Correct": "correct.share"}}},
        scales={"mini": {"models": {64: ["x=2"]}, "arguments": {1: ["--beam", 1]}}},
    )
    run, measurement = found.runs[0], found.measurements[0]
    assert run.condition in measurement.conditions and run.model in measurement.models
    assert run.overrides[:2] == ["x=1", "x=2"]
    assert measurement.command[-2:] == ["--beam", "1"]


SCALES = {
    "mini": {
        "overrides": ["x=2"],
        "seeds": [5],
        "models": {"B": ["model.wide=1"]},
        "arguments": {"test": ["--beam", 1]},
    },
    "paper": {"overrides": ["x=3"]},
}


def test_a_scale_adds_to_what_is_common():
    parts = {**FILE, "overrides": ["x=1"], "scales": SCALES}
    mini = make_specification(parts, Path("out"), scale="mini")
    paper = make_specification(parts, Path("out"), scale="paper")
    overrides = {(run.condition, run.model): run.overrides for run in mini.runs}
    assert overrides["All", "A"] == ["x=1", "x=2", "model.dropout=0", "common.seed=5"]
    assert overrides["Few", "B"] == ["x=1", "x=2", "model.wide=1", "common.seed=5"]
    assert [m.command[-2:] for m in mini.measurements] == [["--beam", "1"], ["--counts", "3"]]
    assert {run.seed for run in paper.runs} == {1, 2}
    assert paper.runs[-1].overrides == ["x=1", "x=3", "common.seed=2"]
    assert paper.measurements[0].command == ["correct", "x"]
    with pytest.raises(UserError, match="no scale 'medium' under 'scales', only mini, paper"):
        make_specification(parts, Path("out"), scale="medium")


@pytest.mark.parametrize(
    "scale, words",
    [
        ({"command": ["x"]}, "'command' in the scale 'mini'"),
        ({"models": {"C": ["x"]}}, "'C' in models of the scale 'mini', where only A, B"),
        ({"arguments": {"best": ["x"]}}, "'best' in arguments of the scale 'mini'"),
        ({"arguments": {"test": "x"}}, "arguments of the scale 'mini' at 'test'"),
        ({"seeds": []}, "seeds of the scale mini"),
        ([], "a mapping as the scale 'mini'"),
    ],
)
def test_scales_that_cannot_be_meant_are_refused(scale, words):
    with pytest.raises(UserError, match=f"The file .*{words}"):
        specification(scales={"mini": scale})


@pytest.mark.parametrize(
    "parts, words",
    [
        ({"seed": [1]}, "'seed' in the file"),
        ({"seeds": 1}, "seeds"),
        ({"seeds": []}, "seeds"),
        ({"seeds": ["one"]}, "seeds"),
        ({"overrides": "a=1"}, "overrides"),
        ({"heading": ["Data"]}, "two words under 'heading'"),
        ({"conditions": {}}, "'conditions'"),
        ({"conditions": {"a": 1}}, "the condition 'a'"),
        ({"conditions": {"a": {"models": ["A"]}}}, "data of the condition 'a'"),
        ({"conditions": {"a": {"data": "bin", "models": "A"}}}, "models of the condition 'a'"),
        ({"conditions": {"a": {"data": "bin", "models": ["C"]}}}, "'a' for the model 'C'"),
        ({"conditions": {"a": {"data": "bin", "model": ["A"]}}}, "'model' in the condition 'a'"),
        ({"conditions": {"a b": "bin", "a_b": "bin"}}, "would share a folder"),
        ({"models": {"A": None, "B": []}}, "the model 'A'"),
        ({"models": {"A": "model.x=1", "B": []}}, "the model 'A'"),
        ({"models": {"A": [{"x": 1}], "B": []}}, "the model 'A'"),
        ({"measurements": ["test"]}, "measurements"),
        ({"measurements": {"test": ["correct"]}}, "the measurement 'test'"),
        ({"measurements": {"test": {"columns": {"x": "y"}}}}, "command of the measurement 'test'"),
        ({"measurements": {"test": {"command": ["x"]}}}, "columns of the measurement 'test'"),
        ({"measurements": {"a/b": {"command": ["x"], "columns": {"x": "y"}}}}, "'a/b'"),
        ({"measurements": {"training": {"columns": {"x": 3}}}}, "what the column 'x' shows"),
        ({"measurements": {"training": {"columns": {"x": {"y": "z"}}}}}, "what the column 'x'"),
        (
            {"measurements": {"training": {"columns": {"x": "y"}, "models": ["C"]}}},
            "'training' for the model 'C'",
        ),
        (
            {"measurements": {"training": {"columns": {"x": "y"}, "conditions": ["Many"]}}},
            "'training' for the condition 'Many'",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(parts, words):
    with pytest.raises(UserError, match=f"The file .*{words}"):
        specification(**parts)


@pytest.mark.parametrize(
    "text, message",
    [
        ("conditions: {a: bin}\nmodels: {m: []}", "measurements"),
        ("just text", "'just text' in the file"),
        ("", "a mapping as the file"),
        ("a: [", "is not YAML"),
    ],
)
def test_bad_files_are_refused(tmp_path, text, message):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        read_specification(str(path), tmp_path)


@pytest.mark.parametrize("task", ["prop", "ltl"])
def test_shipped_ablations_have_the_19_patterns(task):
    path = ROOT / "examples" / task / "ablation.yaml"
    runs = read_specification(str(path), Path("out")).runs
    for run in runs:
        assert f"model.stream_attention={run.model}" in run.overrides
    assert len({AttentionPattern.parse(run.model) for run in runs}) == 19
    assert len({run.model for run in runs}) == 19


def test_all_shipped_files_can_be_read():
    paths = list(ROOT.glob("examples/*/*.yaml"))
    assert len(paths) >= 7
    for path in paths:
        assert read_specification(str(path), Path("out")).runs


@pytest.mark.parametrize("scale", ["mini", "medium", "paper"])
@pytest.mark.parametrize("task", ["prop", "ltl"])
def test_tables_of_the_paper_have_all_scales(task, scale):
    """Five models under three conditions and more, 19 patterns; each seed of each is a run."""
    for table, least in (("results", 3 * 5 + 1), ("ablation", 19)):
        path = ROOT / "examples" / task / f"{table}.yaml"
        found = read_specification(str(path), Path("out"), scale)
        seeds = {run.seed for run in found.runs}
        assert len(seeds) == (1 if scale == "paper" else 3)
        assert len(found.runs) >= least * len(seeds)
        assert {m.name for m in found.measurements} >= {"test", "more", "heat_map"}
        commands = {m.name: " ".join(m.command) for m in found.measurements}
        if scale == "paper":
            assert "--max-len-b 100" in commands["test"]
            assert f"--max-len-b {22 if task == 'prop' else 128}" in commands["heat_map"]


def test_table_shows_mean_and_spread_and_what_was_not_measured():
    def result(share, mean=None):
        found = {"test": {"correct": {"share": share}}}
        return {**found, "covariance": {"3": {"mean": mean}}} if mean is not None else found

    results = [
        result(0.5),
        result(0.7),
        result(0.25, 1.0),
        None,
        result(0.1, 0.0),
        result(0.1, 0.5),
    ]
    assert experiments_table(specification(), results) == [
        ["Data", "Model", "Correct", "3 AP"],
        ["All", "A", "60.00 ± 14.14 %", "—"],
        ["All", "B", "25.00 %", "100.00 %"],  # one of two seeds failed
        ["Few", "B", "10.00 ± 0.00 %", "25.00 ± 35.36 %"],
    ]


def test_numbers_of_weights_are_whole():
    measurements = {"training": {"columns": {"Parameters": {"number": "parameters"}}}}
    parts = {"conditions": {"All": "bin"}, "models": {"A": []}, "measurements": measurements}
    results = [{"training": {"parameters": 2906496}}] * 2
    assert experiments_table(specification(**parts), results)[1][2:] == ["2,906,496"]


def test_a_plain_number_is_no_percentage():
    measurements = {"training": {"columns": {"CPU min": {"number": "cpu_minutes"}}}}
    parts = {"conditions": {"All": "bin"}, "models": {"A": []}, "measurements": measurements}
    results = [{"training": {"cpu_minutes": minutes}} for minutes in (2.0, 4.0)]
    assert experiments_table(specification(**parts), results)[1][2:] == ["3.00 ± 1.41"]


@pytest.mark.parametrize("path", ["correct.shares", "correct", "word", "right", "correct.share.x"])
def test_a_column_that_the_measurement_lacks_is_named(path):
    result = {"correct": {"share": 0.5}, "word": "x", "right": True}
    with pytest.raises(UserError, match=f"'{path}'"):
        value_at(result, path)


def test_validation_is_read_from_the_log_of_training(tmp_path):
    log = tmp_path / "train.log"
    log.write_text(
        "a warning\n"
        '[2026][train_inner][INFO] - {"correct": "1", "num_updates": "500"}\n'
        '[2026][valid][INFO] - {"valid_loss": "2.1", "valid_corr'  # killed, and started again
        '\n[2026][valid][INFO] - {"valid_loss": "2.1", "valid_correct": "54.5", "valid_exact": '
        '"48", "valid_timeout": "0", "valid_num_updates": "500"}\n'
        '[2026][valid][INFO] - {"valid_correct": "60", "valid_num_updates": "1000"}\n'
    )
    assert read_validation(log) == {
        "500": {"correct": 0.545, "exact": 0.48, "timeout": 0.0},
        "1000": {"correct": 0.6},
        "last": {"correct": 0.6},
    }


def test_weights_are_counted_in_the_log_of_training(tmp_path):
    log = tmp_path / "train.log"
    log.write_text("[INFO] - num. shared model params: 2,906,496 (num. trained: 2,906,496)\n")
    assert read_parameters(log) == 2906496
    log.write_text("killed")
    assert read_parameters(log) is None


class FakeProcesses(Processes):
    """Writes what the commands would, and keeps account of them."""

    def __init__(self, folder):
        super().__init__(folder, {})
        self.folder, self.calls = folder, []

    def call(self, log, program, *arguments):
        words = list(map(str, arguments))
        self.calls.append(log.stem)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(" ".join(words))
        if "--result" in words:
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
    log = folder / "runs" / "All" / "A" / "seed1" / "test.log"
    assert "evaluate correct x --restart --path" in log.read_text()
    other = {**FILE["measurements"], "test": {**FILE["measurements"]["test"], "command": ["y"]}}
    assert carry_out(folder, measurements=other) == ["test", "test"]
    assert carry_out(folder, measurements=other) == []


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


def test_at_least_one_job(folder):
    with pytest.raises(UserError, match="--jobs 0"):
        run_experiments(specification(folder), folder / "mini.yaml", folder, "some", 0)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL", "SIGINT"])
def test_commands_end_with_the_process_that_asked_for_them(tmp_path, name):
    log = tmp_path / "log"
    program = (
        "import os, pathlib, signal, sys, types\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        # A shell starts what runs in the background deaf to it.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        # Importing fairseq would take most of the time.
        "package = sys.modules['sit_fairseq'] = types.ModuleType('sit_fairseq')\n"
        f"package.__path__ = [{str(PACKAGE)!r}]\n"
        "from sit_fairseq.evaluation.experiments.processes import Processes\n"
        "processes = Processes(pathlib.Path('.'), os.environ)\n"
        "words = ['-c', 'import os, time; print(os.getpid(), flush=True); time.sleep(600)']\n"
        "with ThreadPoolExecutor(1) as executor:\n"
        f"    future = executor.submit(processes.call, {str(log)!r}, sys.executable, *words)\n"
        "    try:\n        future.result()\n    finally:\n        processes.stop()\n"
    )
    runner = subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        while not (log.exists() and log.read_text().endswith("\n")):
            assert runner.poll() is None
            time.sleep(0.05)
        runner.send_signal(getattr(signal, name))
        runner.wait(30)
        assert gone(int(log.read_text()))
    finally:
        runner.kill()
        runner.wait()


def test_a_command_that_fails_names_its_log(tmp_path):
    commands = Processes(tmp_path, os.environ)
    failing = (sys.executable, "-S", "-c", "print('why', flush=True); raise SystemExit(3)")
    with pytest.raises(subprocess.CalledProcessError) as error:
        commands.call(tmp_path / "log", *failing)
    assert (error.value.returncode, error.value.output) == (3, str(tmp_path / "log"))
    assert (tmp_path / "log").read_text() == "why\n"
    commands.stop()
    with pytest.raises(subprocess.CalledProcessError):
        commands.call(tmp_path / "log", sys.executable, "-c", "print('never')")
    assert (tmp_path / "log").read_text() == "why\n"
