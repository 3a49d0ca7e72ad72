"""Heat maps and the accuracy of the first n answers."""

import pytest

from sit_fairseq.datasets.grid import Cell
from sit_fairseq.evaluation import plots
from sit_fairseq.evaluation.correct import (
    Box,
    heat_map_table,
    measure_heat_map,
    measure_top_n,
    top_n_table,
)
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.judging.verdict import Verdict

GOOD, BAD, VACUOUS = Verdict.satisfied, Verdict.violated, Verdict.vacuous


def test_cells_and_totals_of_a_heat_map():
    cells = [Cell(0, 1, 0, 1), Cell(1, 1, 1, 4), Cell(1, 3, 5, 0), Cell(2, 3, 5, 2)]
    verdicts = [BAD, GOOD, GOOD, GOOD, BAD, VACUOUS, GOOD]
    result = measure_heat_map(cells, verdicts, Box(symbols=1, length=2))
    assert [cell["correct"] for cell in result["cells"]] == [0, 3, 0, 1]
    # Out of all sentences: the mean over cells would be another number.
    assert result["overall"] == Proportion(4, 7)
    assert result["inside_box"] == Proportion(3, 5)
    assert result["outside_box"] == Proportion(1, 2)
    totals = [["inside box", 5], ["outside box", 2], ["overall", 7]]
    rows = [row[:2] for row in heat_map_table(result)[1:]]
    assert rows == [[0, 1], [1, 4], [2, 2], *totals]


def test_one_right_answer_among_the_first_n():
    verdicts = [
        [GOOD, BAD, BAD],
        [BAD, GOOD, GOOD],
        [VACUOUS, BAD, GOOD],
        [VACUOUS, VACUOUS, BAD],
        [BAD],  # fewer answers than asked for
    ]
    result = measure_top_n(verdicts, [1, 2, 3])
    assert result == {"1": Proportion(1, 5), "2": Proportion(2, 5), "3": Proportion(3, 5)}
    assert [row[:2] for row in top_n_table(result)[1:]] == [["1", 5], ["2", 5], ["3", 5]]


def test_right_answers_among_the_first_n_of_each_cell():
    cells = [Cell(1, 1, 0, 2), Cell(6, 11, 2, 2)]
    verdicts = [[GOOD, BAD], [BAD, GOOD], [VACUOUS, BAD], [BAD, GOOD]]
    result = measure_top_n(verdicts, [1, 2], cells, Box(5, 35))
    found = {n: [cell["correct"] for cell in own["cells"]] for n, own in result.items()}
    assert found == {"1": [1, 0], "2": [2, 1]}
    assert top_n_table(result)[1:] == [
        ["1", 4, Proportion(1, 2), Proportion(0, 2), Proportion(1, 4)],
        ["2", 4, Proportion(2, 2), Proportion(1, 2), Proportion(3, 4)],
    ]


@pytest.fixture
def figures(monkeypatch):
    """The figures that are saved."""
    figures, save = [], plots.save_png
    monkeypatch.setattr(plots, "save_png", lambda *args: (figures.append(args[0]), save(*args)))
    return figures


def drawn(figures, tmp_path, cells, *lowest):
    """The axes of a heat map, and its cells as (left, right, lower, upper edge, colour)."""
    result = {
        "cells": [dict(zip(("symbols", "length", "count", "correct"), cell)) for cell in cells],
        "box": {"symbols": 1, "length": 2},
        "overall": Proportion(1, 2),
    }
    plots.draw_heat_maps({"Correct": result}, str(tmp_path / "map.png"), *lowest)
    assert (tmp_path / "map.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    axes, bar = figures[-1].axes
    boxes = [(cell.get_bbox().extents[[0, 2, 1, 3]], cell.get_facecolor()) for cell in axes.patches]
    return axes, bar, [(tuple(edges.round(6)), color) for edges, color in boxes]


def colour(share):
    from matplotlib import colormaps

    return pytest.approx(colormaps["viridis"](share), abs=0.01)


def test_a_cell_shows_its_share_and_its_samples(figures, tmp_path):
    """A cell without samples is not drawn, and the figure is cropped to the others."""
    cells = [(0, 1, 4, 1), (1, 1, 1, 1), (2, 4, 16, 0), (3, 9, 0, 0)]
    axes, bar, found = drawn(figures, tmp_path, cells)
    assert found == [
        ((0.75, 1.25, -0.25, 0.25), colour(0.25)),  # a quarter of the samples: of the area
        ((0.875, 1.125, 0.875, 1.125), colour(1.0)),
        ((3.5, 4.5, 1.5, 2.5), colour(0.0)),
    ]
    assert axes.get_xlim() == (0.5, 4.5) and axes.get_ylim() == (-0.5, 2.5)
    assert axes.get_facecolor() == (1, 1, 1, 1)
    assert axes.get_title() == f"Correct: {Proportion(1, 2)}"
    assert axes.get_ylabel() == "different symbols"
    assert axes.get_xlabel().startswith("length (tokens)\n") and "16 samples" in axes.get_xlabel()
    assert bar.get_ylabel() == "correct (%)" and bar.get_ylim() == (0, 100)
    for line in axes.get_lines():  # the training data
        assert line.get_xydata().tolist() == [[0, 1.5], [2.5, 1.5], [2.5, -1]]


def test_cells_of_a_stepped_grid_touch(figures, tmp_path):
    axes, _, found = drawn(figures, tmp_path, [(4, 4, 1, 1), (4, 8, 1, 0), (8, 8, 1, 1)])
    edges = [edges for edges, _ in found]
    assert edges == [(0.5, 4.5, 0.5, 4.5), (4.5, 8.5, 0.5, 4.5), (4.5, 8.5, 4.5, 8.5)]
    assert axes.get_xlim() == (0.5, 8.5) and axes.get_ylim() == (0.5, 8.5)
