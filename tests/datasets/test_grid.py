"""The files of a grid, and grids of the user's own pairs."""

import json
from collections import Counter

import pytest
from command_line import sit

from sit_fairseq.datasets.grid import Grid
from sit_fairseq.errors import UserError

MANIFEST = {
    "seed": 7,
    "options": {"size": 2},
    "cells": [
        {"symbols": 0, "length": 1, "first": 0, "count": 1},
        {"symbols": 1, "length": 1, "first": 1, "count": 0, "timeout": 4},
        {"symbols": 1, "length": 2, "first": 1, "count": 2, "unsatisfiable": 1},
    ],
}


@pytest.fixture
def grid():
    grid = Grid([], [], [], {"size": 2}, 7)
    grid.add(0, 1, [("1", "{ 1 }")])
    grid.add(1, 1, [], {"timeout": 4})
    grid.add(1, 2, [("! a", ""), ("X q1", "1 ; { q1 }")], {"unsatisfiable": 1})
    return grid


def test_what_is_written_is_read(tmp_path, grid):
    folder = tmp_path / "new" / "grid"
    grid.write(str(folder))
    assert Grid.read(str(folder)) == grid
    assert (folder / "grid.src").read_bytes() == b"1\n! a\nX q1\n"
    assert (folder / "grid.tgt").read_bytes() == b"{ 1 }\n\n1 ; { q1 }\n"
    assert json.loads((folder / "manifest.json").read_text()) == MANIFEST
    assert len(list(folder.iterdir())) == 3


def manifest(*cells):
    """A manifest with other cells: symbols, length, first, count."""
    names = ("symbols", "length", "first", "count")
    return json.dumps({**MANIFEST, "cells": [dict(zip(names, cell)) for cell in cells]})


@pytest.mark.parametrize(
    "name, text, words",
    [
        ("manifest.json", "{", "not the manifest"),
        ("manifest.json", json.dumps({**MANIFEST, "cells": [3]}), "not the manifest"),
        ("manifest.json", manifest((0, 1, 0, float("inf"))), "not the manifest"),
        ("manifest.json", "[" * 100000, "not the manifest"),
        ("manifest.json", manifest((0, 1, 0, 2)), "is of 2 lines, not 3"),
        ("manifest.json", manifest((0, 1, 0, 2), (1, 2, 1, 1)), "do not follow each other"),
        ("manifest.json", manifest((0, 1, 0, 4), (0, 2, 4, -1)), "do not follow each other"),
        ("grid.src", "1\n", "grid.src has 1 lines but .tgt has 3"),
    ],
)
def test_damaged_files(tmp_path, grid, name, text, words):
    grid.write(str(tmp_path))
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=words):
        Grid.read(str(tmp_path))


def test_unusable_folder(tmp_path, grid):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="file is a file; name a folder"):
        grid.write(str(tmp_path / "file"))
    with pytest.raises(UserError, match="manifest.json"):
        Grid.read(str(tmp_path))


@pytest.fixture
def own(tmp_path):
    """Options of a grid of queries over tables, 30 of each of three cells and one of another."""
    sources = [f"join T{i} T{i + 1}" for i in range(30)]
    sources += [f"T{i}" for i in range(30)] + [f"join T{i} T{i}" for i in range(30)] + ["all of it"]
    (tmp_path / "own.src").write_text("".join(f"{source}\n" for source in sources))
    (tmp_path / "own.tgt").write_text("".join(f"result of {source}\n" for source in sources))
    folder = tmp_path / "grid"
    return ["grid", folder, "--from", tmp_path / "own", "--symbols", "T[0-9]+"]


def test_a_grid_of_own_pairs(own, tmp_path, capsys):
    sit(*own, "--per-cell", 20)
    assert "61 samples, 20 in 3 of 4 cells" in capsys.readouterr().out
    grid = Grid.read(str(tmp_path / "grid"))
    sizes = [(0, 3, 1), (1, 1, 20), (1, 3, 20), (2, 3, 20)]
    assert [(cell.symbols, cell.length, cell.count) for cell in grid.cells] == sizes
    assert grid.targets == [f"result of {source}" for source in grid.sources]
    assert max(Counter(grid.sources).values()) == 1
    for cell in grid.cells:
        own_sources = grid.sources[cell.first : cell.first + cell.count]
        for tokens in map(str.split, own_sources):
            assert len(tokens) == cell.length
            assert len({token for token in tokens if token[0] == "T"}) == cell.symbols
    assert grid.options["symbols"] == "T[0-9]+" and grid.seed == 42


def test_a_grid_of_own_pairs_is_a_random_choice_of_a_seed(own, tmp_path):
    grids = []
    for seed in (1, 1, 2):
        sit(*own, "--per-cell", 20, "--seed", seed)
        grids.append(Grid.read(str(tmp_path / "grid")))
    assert grids[0] == grids[1]
    assert grids[0].sources != grids[2].sources and grids[0].cells == grids[2].cells
    sit(*own)  # all, as there are fewer than 100
    assert len(Grid.read(str(tmp_path / "grid")).sources) == 91


@pytest.mark.parametrize(
    "options, message",
    [
        (["grid", "--from", "own"], "--symbols"),
        (["grid", "--from", "own", "--symbols", "("], "regular expression"),
        (["grid", "--from", "nowhere", "--symbols", "T"], "nowhere.src"),
        (["grid", "--from", "own", "--symbols", "T", "--max-length", 3], "change --max-length"),
        (["grid", "--from", "own", "--symbols", "T", "--restart"], "change --restart"),
        (["grid", "--symbols", "T"], "--from"),
        (["copy", "grid", "--symbols", "T"], "change --symbols"),
    ],
)
def test_options_that_cannot_be_used(own, options, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=message):
        sit("grid", *options)
    assert not (tmp_path / "grid").exists()
