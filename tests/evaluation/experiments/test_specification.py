"""Experiments as a file says them: runs, measurements, scales, and what cannot be meant."""

from pathlib import Path

import pytest
from command_line import ROOT
from experiment_file import FILE, specification

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.experiments.specification import (
    make_specification,
    read_specification,
)
from sit_fairseq.models.config import AttentionPattern


def test_runs_are_all_models_of_each_condition_with_one_seed_after_another():
    runs = specification(overrides=["x=1"]).runs
    assert [(run.condition, run.model, run.seed) for run in runs] == [
        *(("All", "A", 1), ("All", "B", 1), ("Few", "B", 1)),
        *(("All", "A", 2), ("All", "B", 2), ("Few", "B", 2)),
    ]
    assert runs[3].overrides == ["x=1", "model.dropout=0", "common.seed=2"]
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
        ("a: [", "is no YAML that can be used"),
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
