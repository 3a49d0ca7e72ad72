"""The runner of tables of experiments."""

import runpy
from pathlib import Path

import pytest
from command_line import ROOT

from sit_fairseq.errors import UserError
from sit_fairseq.modules.attention_pattern import AttentionPattern

runner = runpy.run_path(str(ROOT / "scripts" / "run_experiments.py"))

SPECIFICATION = {
    "seeds": [1, 2],
    "heading": ["Data", "Model"],
    "conditions": {"All": "bin", "Few": {"data": "bin.few", "models": ["B"]}},
    "models": {"A": ["model.dropout=0"], "B": []},
    "measurements": {
        "test": {"columns": {"Correct": "correct.share"}},
        "covariance": {"columns": {"3 AP": "3.mean"}, "models": ["B"]},
    },
}


def test_runs_are_all_models_of_each_condition_with_each_seed():
    runs = runner["runs_of"]({**SPECIFICATION, "overrides": ["x=1"]}, Path("out"))
    assert [(run.condition, run.model, run.seed) for run in runs] == [
        *(("All", "A", 1), ("All", "A", 2), ("All", "B", 1), ("All", "B", 2)),
        *(("Few", "B", 1), ("Few", "B", 2)),
    ]
    assert runs[1].overrides == ["x=1", "model.dropout=0", "common.seed=2"]
    assert runs[-1].data == Path("out/bin.few")
    assert len({run.folder for run in runs}) == len(runs)


def test_a_condition_may_have_seeds_of_its_own():
    conditions = {"All": {"data": "bin", "seeds": [7]}, "Few": "bin.few"}
    runs = runner["runs_of"]({**SPECIFICATION, "conditions": conditions}, Path("out"))
    seeds = {name: {run.seed for run in runs if run.condition == name} for name in conditions}
    assert seeds == {"All": {7}, "Few": {1, 2}}


def test_table_shows_mean_and_spread_and_what_was_not_measured():
    runs = runner["runs_of"](SPECIFICATION, Path("out"))

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
    assert runner["table"](SPECIFICATION, runs, results) == [
        ["Data", "Model", "Correct", "3 AP"],
        ["All", "A", "60.00 ± 14.14 %", "—"],
        ["All", "B", "25.00 %", "100.00 %"],  # one of two seeds failed
        ["Few", "B", "10.00 ± 0.00 %", "25.00 ± 35.36 %"],
    ]


def test_a_plain_number_is_no_percentage():
    measurements = {"training": {"columns": {"CPU min": {"number": "cpu_minutes"}}}}
    specification = {"conditions": {"All": "bin"}, "models": {"A": []}, "measurements": measurements}
    runs = runner["runs_of"]({**specification, "seeds": [1, 2]}, Path("out"))
    results = [{"training": {"cpu_minutes": minutes}} for minutes in (2.0, 4.0)]
    assert runner["table"](specification, runs, results)[1][2:] == ["3.00 ± 1.41"]


def test_validation_is_read_from_the_log_of_training(tmp_path):
    log = tmp_path / "train.log"
    log.write_text(
        "a warning\n"
        '[2026][train_inner][INFO] - {"correct": "1", "num_updates": "500"}\n'
        '[2026][valid][INFO] - {"valid_loss": "2.1", "valid_correct": "54.5", "valid_exact": "48", '
        '"valid_timeout": "0", "valid_num_updates": "500"}\n'
        '[2026][valid][INFO] - {"valid_correct": "60", "valid_num_updates": "1000"}\n'
    )
    assert runner["read_validation"](log) == {
        "500": {"correct": 0.545, "exact": 0.48, "timeout": 0.0},
        "1000": {"correct": 0.6},
        "last": {"correct": 0.6},
    }


@pytest.mark.parametrize(
    "text, message",
    [
        ("conditions: {a: bin}\nmodels: {m: []}", "measurements"),
        ("just text", "conditions"),
        ("a: [", "is not YAML"),
    ],
)
def test_bad_specifications_are_refused(tmp_path, text, message):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        runner["read_specification"](str(path))


def test_a_condition_with_an_unknown_model_is_refused():
    wrong = {**SPECIFICATION, "conditions": {"All": {"data": "bin", "models": ["C"]}}}
    with pytest.raises(UserError, match="'All' asks for the model 'C'"):
        runner["runs_of"](wrong, Path("out"))


def test_a_column_that_the_measurement_lacks_is_named():
    with pytest.raises(UserError, match="'correct.shares'"):
        runner["value_at"]({"correct": {"share": 0.5}}, "correct.shares")


@pytest.mark.parametrize("changed", ["configuration", "overrides", "measurement test"])
def test_results_of_other_settings_are_not_taken_over(tmp_path, changed):
    (tmp_path / "mini.yaml").write_text("a: 1")
    measurements = {"test": {"command": ["correct", "x"]}}
    (run,) = runner["runs_of"](
        {"conditions": {"All": "bin"}, "models": {"A": []}, "measurements": measurements}, tmp_path
    )
    check = runner["Runner"](tmp_path, "mini", tmp_path, measurements, 1).check
    check(run)
    check(run)
    measurements["more"] = {"command": ["top-n", "x"]}
    check(run)
    if changed == "configuration":
        (tmp_path / "mini.yaml").write_text("a: 2")
    elif changed == "overrides":
        run.overrides.append("b=1")
    else:
        measurements["test"]["command"] = ["correct", "y"]
    with pytest.raises(UserError, match=f"results of another {changed}"):
        check(run)


@pytest.mark.parametrize("task", ["prop", "ltl"])
def test_shipped_ablations_have_the_19_patterns(task):
    models = runner["read_specification"](str(ROOT / "examples" / task / "ablation.yaml"))["models"]
    assert len(models) == 19
    for name, overrides in models.items():
        assert overrides == [f"model.stream_attention={name}"]
        AttentionPattern.parse(name)
    assert len({AttentionPattern.parse(name) for name in models}) == 19
