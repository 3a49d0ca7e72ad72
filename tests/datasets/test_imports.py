"""The import of published data, run as users run it."""

import json
import os
import pickle
from pathlib import Path

import pytest
from command_line import sit
from conftest import needs_spot

from sit_fairseq.datasets.grid import Cell, Grid
from sit_fairseq.errors import UserError

LTL = "&!ab\n&!ab;{1}\nU1Xc\nc;1;{c;!c}\n"
PROP = "<->a!b\na0b1\nxorab\na1b0\n&ab\na1\n"


def main(*arguments):
    """Runs the verb in this process."""
    sit("import", *arguments)


def read(prefix):
    """The lines of PREFIX.src and PREFIX.tgt."""
    return [Path(f"{prefix}.{end}").read_text().splitlines() for end in ("src", "tgt")]


@needs_spot
def test_splits_of_a_folder(tmp_path, capsys):
    folder, out = tmp_path / "ltl-35", tmp_path / "new" / "data"
    folder.mkdir()
    (folder / "train.txt").write_bytes(LTL.encode() * 3)
    (folder / "val.txt").write_bytes(LTL.replace("\n", "\r\n").encode())  # from Windows
    (folder / "notes.txt").write_text("?")
    main("pairs", "--semantics", "ltl", folder, out, "--check", 2)
    sources = ["& ! a b", "U 1 X c"]
    targets = ["& ! a b ; { 1 }", "c ; 1 ; { c ; ! c }"]
    assert read(out / "train") == [sources * 3, targets * 3]
    assert read(out / "val") == [sources, targets]
    assert len(list(out.iterdir())) == 4
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("6 samples of") and "of the first 2, 2/2 correct" in first
    assert second.startswith("2 samples of") and "of the first 2, 2/2 correct" in second


def test_one_file(tmp_path, capsys):
    (tmp_path / "data.txt").write_text(PROP)
    main("pairs", "--semantics", "prop", tmp_path / "data.txt", tmp_path / "out", "--check", 9)
    right = [["<-> a ! b", "xor a b", "& a b"], ["a 0 b 1", "a 1 b 0", "a 1"]]
    assert read(tmp_path / "out") == right
    said = capsys.readouterr().out
    assert "3 samples" in said and "of the first 3, 2/3 correct; satisfied 2, violated 1" in said


def test_malformed_lines_stop_or_are_listed(tmp_path, capsys):
    path, out = tmp_path / "data.txt", tmp_path / "out"
    path.write_text(PROP + "?a\na1\n" + PROP + "&a\n")
    options = ["pairs", "--semantics", "prop", path, out]
    with pytest.raises(UserError, match="^Line 7 of .*data.txt is malformed: .*--skip-malformed"):
        main(*options)
    assert list(tmp_path.iterdir()) == [path]
    main(*options, "--skip-malformed")
    assert len(read(out)[0]) == 6 and read(out)[0][:3] == read(out)[0][3:]
    listed = [line.split("\t") for line in (tmp_path / "out.skipped").read_text().splitlines()]
    assert [(number, text) for number, _, text in listed] == [
        ("7", "?a"),
        ("8", "a1"),
        ("15", "&a"),
    ]
    assert "left out 3 malformed lines, see" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["pairs", "--semantics", "ltl", "none", "out"], "Cannot read none"),
        (["pairs", "--semantics", "ltl", ".", "out"], "no train.txt, val.txt or test.txt"),
        (["pairs", "--semantics", "prop", "ltl.txt", "out", "--skip-malformed"], "--semantics"),
        (["pairs", "--semantics", "ltl", "empty", "out"], "no sample"),
        (["pairs", "--semantics", "ltl", "ltl.txt", "empty/out"], "Cannot write empty/out"),
        (["heatmap", "ltl.txt", "out"], "Line 1 of ltl.txt is malformed: it is not JSON"),
        (["pickle", "ltl.txt", "out"], "damaged, or no pickle"),
        (["pickle", "none", "out"], "Cannot read none"),
    ],
)
def test_mistakes_are_told(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    Path("ltl.txt").write_text(LTL.replace("U", "X"))
    Path("empty").write_text("")
    before = sorted(os.listdir())
    with pytest.raises(UserError) as error:
        main(*arguments)
    assert words in str(error.value)
    assert sorted(os.listdir()) == before


@needs_spot
def test_pickled_heat_map_to_grid(tmp_path, capsys):
    cells = {
        (2, 4): [("&!ab;{1}", "&!ab"), ("1;{b}", "UaXb")],
        (0, 1): [("{1}", "1")],
        (1, 4): [],
        (2, 3): [("{b}", "Uab")],
    }
    (tmp_path / "map.pkl").write_bytes(pickle.dumps(cells))
    main("pickle", tmp_path / "map.pkl", tmp_path / "map.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "map.jsonl").read_text().splitlines()]
    assert len(lines) == 4
    assert lines[0] == {"symbols": 2, "length": 4, "formula": "&!ab", "trace": "&!ab;{1}"}
    main("heatmap", tmp_path / "map.jsonl", tmp_path / "grid", "--check", 4)
    assert "4 samples" in capsys.readouterr().out.splitlines()[-1]
    grid = Grid.read(str(tmp_path / "grid"))
    assert grid.cells == [Cell(0, 1, 0, 1), Cell(2, 3, 1, 1), Cell(2, 4, 2, 2)]
    assert grid.sources == ["1", "U a b", "& ! a b", "U a X b"]
    assert grid.targets == ["{ 1 }", "{ b }", "& ! a b ; { 1 }", "1 ; { b }"]
    assert grid.options == {"semantics": "ltl", "imported": "map.jsonl"} and grid.seed is None


def test_propositional_heat_map_with_a_bad_line(tmp_path, capsys):
    (tmp_path / "map.pkl").write_bytes(pickle.dumps({(2, 5): [("a1b0", "xorab"), ("a", "&ab")]}))
    main("pickle", tmp_path / "map.pkl", tmp_path / "map.jsonl", "--semantics", "prop")
    options = ["heatmap", tmp_path / "map.jsonl", tmp_path / "grid", "--semantics", "prop"]
    with pytest.raises(UserError, match="^Line 2 of .*map.jsonl is malformed: .* has 3 tokens"):
        main(*options)
    assert not (tmp_path / "grid").exists()
    main(*options, "--skip-malformed", "--check", 5)
    assert Grid.read(str(tmp_path / "grid")).cells == [Cell(2, 3, 0, 1)]  # xor is one token
    assert "1/1 correct" in capsys.readouterr().out.splitlines()[-1]
    assert (tmp_path / "grid" / "grid.skipped").read_text().startswith("2\t")


class Payload:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


def test_pickles_are_not_run(tmp_path):
    (tmp_path / "map.pkl").write_bytes(pickle.dumps({(1, 1): [Payload(tmp_path / "made")]}))
    with pytest.raises(UserError, match="map.pkl is not the pickle of a heat map: it asks for"):
        main("pickle", tmp_path / "map.pkl", tmp_path / "map.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["map.pkl"]
