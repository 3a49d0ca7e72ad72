"""The files of a grid, and what is said when they are damaged."""

import json

import pytest

from sit_fairseq.datasets.grid import Cell, Grid
from sit_fairseq.errors import UserError

CELLS = [Cell(0, 1, 0, 1), Cell(1, 1, 1, 0, {"timeout": 4}), Cell(1, 2, 1, 2, {"unsatisfiable": 1})]


def make_grid():
    return Grid(list(CELLS), ["1", "! a", "X q1"], ["{ 1 }", "", "1 ; { q1 }"], {"size": 2}, 7)


def test_what_is_written_is_read(tmp_path):
    make_grid().write(str(tmp_path / "new" / "grid"))
    folder = tmp_path / "new" / "grid"
    assert Grid.read(str(folder)) == make_grid()
    assert (folder / "grid.src").read_bytes() == b"1\n! a\nX q1\n"
    assert (folder / "grid.tgt").read_bytes() == b"{ 1 }\n\n1 ; { q1 }\n"
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["seed"] == 7 and manifest["options"] == {"size": 2}
    assert manifest["cells"][1] == {
        "symbols": 1,
        "length": 1,
        "first": 1,
        "count": 0,
        "timeout": 4,
    }
    assert len(list(folder.iterdir())) == 3


@pytest.mark.parametrize(
    "cells",
    [
        [Cell(0, 1, 0, 2)],
        [Cell(0, 1, 0, 4)],
        [Cell(0, 1, 0, 2), Cell(1, 2, 1, 1)],
        [Cell(0, 1, 1, 2)],
        [Cell(0, 1, 0, 4), Cell(0, 2, 4, -1)],
    ],
)
def test_cells_must_cover_the_lines(tmp_path, cells):
    grid = make_grid()
    grid.cells = cells
    with pytest.raises(ValueError):
        grid.write(str(tmp_path))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name, text, words",
    [
        ("manifest.json", "{", "not the manifest"),
        ("manifest.json", '{"seed": 1, "options": {}, "cells": [{"symbols": 1}]}', "not the man"),
        ("manifest.json", '{"seed": 1, "options": {}, "cells": [3]}', "not the manifest"),
        ("manifest.json", "[]", "not the manifest"),
        ("grid.src", "1\n", "cells have 3 lines, but grid.src 1 and grid.tgt 3"),
        ("grid.tgt", "1\n" * 4, "grid.src 3 and grid.tgt 4"),
    ],
)
def test_damaged_files(tmp_path, name, text, words):
    make_grid().write(str(tmp_path))
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=words):
        Grid.read(str(tmp_path))


def test_unusable_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="Cannot write a grid to .*file"):
        make_grid().write(str(tmp_path / "file"))
    with pytest.raises(UserError, match="manifest.json"):
        Grid.read(str(tmp_path))
