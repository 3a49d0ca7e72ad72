"""Files of experiments: the runs that they mean, what cannot be meant, and the table."""

from pathlib import Path

import pytest
from command_line import ROOT
from experiment_content import experiments

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.experiments import experiments_table, make_runs, read_experiments

OUT = Path("out")


def test_runs_are_all_models_of_each_condition_with_one_seed_after_another():
    runs = make_runs(experiments(overrides="x=1"), OUT)
    assert [(run.condition, run.model, run.seed) for run in runs] == [
        *(("All", "A", 1), ("All", "B", 1), ("Few", "B", 1)),
        *(("All", "A", 2), ("All", "B", 2), ("Few", "B", 2)),
    ]
    assert runs[3].overrides == ["x=1", "model.dropout=0", "y=a b", "common.seed=2"]
    assert runs[-1].data == Path("out/bin.few")
    assert len({run.folder for run in runs}) == len(runs)


def test_a_condition_may_have_seeds_of_its_own():
    runs = make_runs(experiments(conditions={"All": {"data": "bin", "seeds": [7]}}), OUT)
    assert {run.seed for run in runs} == {7}


def test_a_model_may_be_a_checkpoint():
    runs = make_runs(experiments(models={}, checkpoints={"A": "a.pt", "B": "/b.pt"}), OUT)
    assert {run.checkpoint for run in runs} == {Path("out/a.pt"), Path("/b.pt")}


@pytest.mark.parametrize(
    "parts, words",
    [
        ({"seed": [1]}, "'seed'"),
        ({"seeds": ["one"]}, "'one'"),
        ({"conditions": {"a": {"models": ["A"]}}}, "data"),
        ({"conditions": {"a": {"data": "bin", "models": ["C"]}}}, "no models or conditions C"),
        ({"conditions": {"a": {"data": "bin", "model": ["A"]}}}, "'model'"),
        ({"models": ["A"]}, "ListConfig"),
        ({"measurements": {"test": ["correct"]}}, "ListConfig|measurements"),
        ({"measurements": {"test": {"models": ["C"]}}}, "no models or conditions C"),
        ({"measurements": {"test": {"conditions": ["A b"]}}}, "no models or conditions A b"),
        ({"conditions": {"All": {"data": "bin"}}, "models": {}, "measurements": {}}, "nothing to"),
        ({"seeds": []}, "nothing to train or to measure"),
        ({"measurements": {"test": {"columns": {}}}}, "no command for the measurement test"),
        ({"measurements": {"training": {"columns": {"X": {"count": "a"}}}}}, "the column X is no"),
        ({"measurements": {"training": {"columns": {"X": {"number": 3}}}}}, "the column X is no"),
        ({"heading": ["${oc.env:HOME}", "Model"]}, r"has '\$\{oc.env:HOME\}', which hydra would"),
        ({"models": {"A": "a=${oc.env:HOME}", "B": ""}}, "which hydra would replace"),
        ({"conditions": {"..": {"data": "bin"}}}, "'..' of its conditions cannot be the name"),
        ({"models": {"../A": "", "B": ""}}, "'../A' of its models cannot be"),
        ({"checkpoints": {"/elsewhere/x": "a.pt"}}, "'/elsewhere/x' of its checkpoints cannot be"),
        (
            {"measurements": {"/elsewhere/x": {"command": "prop x"}}},
            "of its measurements cannot be",
        ),
        ({"measurements": {"x": {"command": "prop 'x"}}}, "mend its quotes"),
        ({"overrides": "a='b"}, "mend its quotes"),
        (
            {"measurements": {"x": {"command": "prop x --quest=/elsewhere/x"}}},
            "writes files of its own",
        ),
        ({"models": {"A": ["x"], "B": ""}}, "made of texts"),
        ({"checkpoints": {"C": {}}}, "made of texts"),
        ({"hydra": [["a.yaml"]]}, "made of texts"),
        ({"models": {"A": "", "B": "", "\x1b[2K": ""}}, "cannot be the name"),
        ({"models": {"A": "", "B": "", "\ud800": ""}}, "cannot be the name"),
        ({"models": {"A": "", "B": "", "x y": "", "x_y": ""}}, "has the folder of another run"),
        ({"checkpoints": {"A": "a.pt"}}, "has the folder of another run"),
        ({"seeds": [1, 1]}, "has the folder of another run"),
        ({"conditions": {"a": "x" * 2000}}, "x{100,300} in conditions.a"),
        ({"seeds": list(range(10_000))}, "means 30000 runs, more than 10000"),
    ],
)
def test_what_cannot_be_meant_is_refused(parts, words):
    with pytest.raises(UserError, match=f"some.yaml.*({words})"):
        experiments(**parts)


LAUGHS = "a0: &a0 [x]\n" + "".join(
    f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 30)
)


@pytest.mark.parametrize(
    "text",
    [
        *("just text", "a: [", None, LAUGHS, "a: &a [*a]", "[" * 10**5, "x" * 10**6),
        *("a: !!bool x", "a: !!timestamp x", "a: !!int ''", "a: !!set {_target_: 1}"),
        *("a: !!python/object/apply:os.getcwd []", "a: \ud800", "a: ${x}", "a: {_target_: x}"),
    ],
)
def test_files_that_cannot_be_read_are_named(tmp_path, text):
    path = tmp_path / "some.yaml"
    if text is not None:
        path.write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(UserError, match="some.yaml"):
        read_experiments(str(path))


@pytest.mark.parametrize("example", ["binding", "entities"])
def test_shipped_files_and_their_configurations_can_be_read(example):
    found = read_experiments(str(ROOT / "examples" / example / "results.yaml"))
    assert make_runs(found, OUT) and all(Path(path).is_file() for path in found.hydra)


def result(share, mean=None):
    found = {"test": {"correct": {"share": share}}}
    return {**found, "covariance": {"3": {"mean": mean}}} if mean is not None else found


def test_table_shows_mean_and_range_and_what_was_not_measured():
    some = experiments()
    runs = make_runs(some, OUT)
    first = [result(0.5), result(0.25, 1.0), result(0.1, 0.0)]
    assert experiments_table(some, runs, first) == [
        ["Data", "Model", "Correct", "3 AP"],
        ["All", "A", "50.00 %", "—"],
        ["All", "B", "25.00 %", "100.00 %"],
        ["Few", "B", "10.00 %", "0.00 %"],
    ]
    results = [*first, result(0.7), None, result(0.1, 0.5)]
    assert experiments_table(some, runs, results)[1:] == [
        ["All", "A", "60.00 % (50.00–70.00)", "—"],
        ["All", "B", "25.00 %", "100.00 %"],  # one of two seeds failed
        ["Few", "B", "10.00 % (10.00–10.00)", "25.00 % (0.00–50.00)"],
    ]


@pytest.mark.parametrize(
    "values, cell", [([2906496, 2906496], "2,906,496"), ([2.0, 4.0], "3.00 (2.00–4.00)")]
)
def test_plain_numbers_are_no_percentages(values, cell):
    measurements = {"training": {"columns": {"Number": {"number": "number"}}}}
    some = experiments(
        conditions={"All": {"data": "bin"}}, models={"A": ""}, measurements=measurements
    )
    results = [{"training": {"number": value}} for value in values]
    assert experiments_table(some, make_runs(some, OUT), results)[1][2:] == [cell]


@pytest.mark.parametrize("path", ["correct.shares", "correct", "word", "right", "correct.share.x"])
def test_a_column_that_the_measurement_lacks_is_named(path):
    some = experiments(measurements={"test": {"command": "x", "columns": {"Correct": path}}})
    found = [{"test": {"correct": {"share": 0.5}, "word": "x", "right": True}}]
    with pytest.raises(UserError, match=f"'{path}'"):
        experiments_table(some, make_runs(some, OUT), found)
