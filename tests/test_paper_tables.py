"""examples/paper/tables.py: the runs that a file means, files that are refused, and the table."""

from pathlib import Path

import pytest
from command_line import ROOT

from examples.paper.tables import cells, make_runs, make_table, read_yaml, settings
from sit_fairseq.errors import UserError

OUT = Path("out")
CONTENT = {
    "hydra": ["some-hydra.yaml"],
    "seeds": [1, 2],
    "conditions": {"All": {"data": "bin"}, "Few": {"data": "bin.few", "models": ["B"]}},
    "models": {"A": "model.dropout=0 'y=a b'", "B": ""},
    "measurements": {
        "test": {"command": "prop x", "columns": {"Correct": "correct.share"}},
        "covariance": {
            "command": "prop x --renamings 9 --counts 3",
            "columns": {"3 AP": "3.mean"},
            "models": ["B"],
        },
    },
}


def table(folder=Path("."), **parts):
    return make_table({**CONTENT, **parts}, "some.yaml", folder)


def test_runs_are_all_models_of_each_condition_with_one_seed_after_another():
    runs = make_runs(table(overrides="x=1"), OUT)
    assert [(run.condition, run.model, run.seed) for run in runs] == [
        *(("All", "A", 1), ("All", "B", 1), ("Few", "B", 1)),
        *(("All", "A", 2), ("All", "B", 2), ("Few", "B", 2)),
    ]
    assert runs[3].overrides == ["x=1", "model.dropout=0", "y=a b", "common.seed=2"]
    assert runs[-1].data == Path("out/bin.few")
    assert len({run.folder for run in runs}) == len(runs)


def test_a_condition_may_have_seeds_of_its_own_and_a_model_may_be_a_checkpoint():
    runs = make_runs(table(conditions={"All": {"data": "bin{seed}", "seeds": [7]}}), OUT)
    assert {(run.seed, run.data) for run in runs} == {(7, OUT / "bin7")}
    runs = make_runs(table(models={}, checkpoints={"A": "a.pt", "B": "/b.pt"}), OUT)
    assert {run.checkpoint for run in runs} == {Path("out/a.pt"), Path("/b.pt")}


@pytest.mark.parametrize("name", ["..", "../A", "/elsewhere/x", "a/b", "x" * 300])
def test_names_are_no_paths(name):
    models, conditions = {"A": "", "B": "", name: ""}, {name: {"data": "bin"}}
    for run in make_runs(table(models=models, conditions=conditions), OUT):
        inside = run.folder.relative_to(OUT / "runs")
        assert len(inside.parts) == 3 and not {"..", "."} & {*inside.parts}
        assert max(map(len, inside.parts)) <= 100


@pytest.mark.parametrize(
    "parts, words",
    [
        ({"seed": [1]}, "'seed'"),
        ({"seeds": ["one"]}, "'one'"),
        ({"conditions": {"a": {"models": ["A"]}}}, "data"),
        ({"conditions": {"a": {"data": "bin", "models": ["C"]}}}, "conditions C"),
        ({"measurements": {"test": {"models": ["C"]}}}, "conditions C"),
        ({"models": {"A": ["x"], "B": ""}}, "printable"),
        ({"models": {"A": "", "B": "", "\x1b[2K": ""}}, "printable"),
        ({"models": {}, "conditions": {"All": {"data": "bin"}}, "measurements": {}}, "means 0"),
        ({"seeds": list(range(3400))}, "means 10200 runs"),
        ({"seeds": [1, 1]}, "one name"),
        ({"models": {"A": "", "B": "", "x y": "", "x_y": ""}}, "one name"),
        ({"measurements": {"test": {"columns": {}}}}, "no command"),
        ({"measurements": {"training": {"columns": {"X": {"a": "b"}}}}}, "printable"),
        ({"overrides": "a='b"}, "quotes"),
        ({"models": {"A": "a=${oc.env:HOME}", "B": ""}}, "hydra would run"),
    ],
)
def test_a_file_that_means_nothing_or_too_much_is_refused(parts, words):
    with pytest.raises(UserError, match=words):
        table(**parts)


LAUGHS = "a0: &a0 [x]\n" + "".join(
    f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 30)
)


@pytest.mark.parametrize(
    "text",
    [
        *("a: [", None, LAUGHS, "a: &a [*a]", "[" * 10**5, "x" * 10**6),
        *("a: !!bool x", "a: !!timestamp x", "a: !!int ''", "a: !!set {_target_: 1}"),
        *("a: !!python/object/apply:os.getcwd []", "a: \ud800", "a: ${x}", "a: {_target_: x}"),
        *('a: "\\x24{x}"', "hydra: {callbacks: {x: {_target_: subprocess.Popen}}}"),
    ],
)
def test_a_file_that_is_no_data_is_refused(tmp_path, text):
    path = tmp_path / "some.yaml"
    if text is not None:
        path.write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(UserError, match="some.yaml"):
        read_yaml(str(path))


@pytest.mark.parametrize(
    "word, message",
    [
        ("hydra.callbacks.x.a=b", "settings of hydra's own"),
        ("hydra={run: {dir: /tmp}}", "settings of hydra's own"),
        ("a._target_=b", "'_target_'"),
        ("a={_target_: b}", "'_target_'"),
        ("a=[&a [1], *a]", "it has an alias"),
        ("a=[", "a=.* cannot be used"),
    ],
)
def test_overrides_are_data(word, message):
    run = make_runs(table(), OUT)[0]._replace(overrides=[word])
    with pytest.raises(UserError, match=message):
        settings(run, {"common": {"seed": 1}})


def test_overrides_are_read_as_yaml():
    words = ["a.b=1e-3", "c=[0.002]", "d=", 'e="x\\ny"', "f=two words", "g=null", "h={i: 1}"]
    found = settings(make_runs(table(), OUT)[0]._replace(overrides=words), {"a": {"x": 1, "b": 2}})
    assert found == {
        **{"a": {"x": 1, "b": 0.001}, "c": [0.002], "d": None, "e": "x\ny"},
        **{"f": "two words", "g": None, "h": {"i": 1}},
    }


GLOBS = (
    "examples/*/results.yaml",
    "examples/*/longer.yaml",
    "examples/scan/places.yaml",
    "examples/formulas/base*.yaml",
    "examples/planning/growth.yaml",
)
FILES = sorted(path for glob in GLOBS for path in ROOT.glob(glob))


@pytest.mark.parametrize("path", FILES, ids=lambda path: "/".join(path.parts[-2:]))
def test_files_of_the_examples_can_be_read_and_their_pages_name_them(path):
    found = make_table(read_yaml(str(path)), path.name, path.parent)
    base = {}
    for name in found.hydra:
        base.update(read_yaml(name))
    assert all(settings(run, base) for run in make_runs(found, OUT))
    texts = [file.read_text() for end in ("md", "sh") for file in path.parent.rglob(f"*.{end}")]
    command = f"python examples/paper/run.py {path.relative_to(ROOT)} --out"
    assert any(command in text for text in texts)


def result(share, mean=None):
    found = {"test": {"correct": {"share": share}}}
    return {**found, "covariance": {"3": {"mean": mean}}} if mean is not None else found


def test_cells_show_mean_and_range_and_what_was_not_measured():
    some = table()
    runs = make_runs(some, OUT)
    first = [result(0.5), result(0.25, 1.0), result(0.1, 0.0)]
    assert cells(some, runs, first) == [
        ["Data", "Model", "Correct", "3 AP"],
        ["All", "A", "50.00 %", "—"],
        ["All", "B", "25.00 %", "100.00 %"],
        ["Few", "B", "10.00 %", "0.00 %"],
    ]
    results = [*first, result(0.7), None, result(0.1, 0.5)]
    assert cells(some, runs, results)[1:] == [
        ["All", "A", "60.00 % (50.00–70.00)", "—"],
        ["All", "B", "25.00 %", "100.00 %"],  # one of two seeds failed
        ["Few", "B", "10.00 % (10.00–10.00)", "25.00 % (0.00–50.00)"],
    ]


@pytest.mark.parametrize("path", ["correct.shares", "correct", "word", "right", "correct.share.x"])
def test_a_column_that_the_measurement_lacks_is_named(path):
    some = table(measurements={"test": {"command": "prop x", "columns": {"Correct": path}}})
    found = [{"test": {"correct": {"share": 0.5}, "word": "x", "right": True}}]
    with pytest.raises(UserError, match=f"'{path}'"):
        cells(some, make_runs(some, OUT), found)
