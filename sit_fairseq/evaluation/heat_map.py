"""Accuracy by number of symbols and length (Figure "Heatmaps", section 5.4 of the paper)."""

import math
from typing import Any, Dict, List, Mapping, NamedTuple, Sequence, Union

import numpy

from sit_fairseq.datasets.grid import MANIFEST, Cell, Grid
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation import plots
from sit_fairseq.evaluation.given_answers import answering
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.evaluation.run import EvaluationRun
from sit_fairseq.evaluation.settings import Checkpoint, Judging
from sit_fairseq.judging.verdict import Verdict

_COLORS = "RdYlGn"


class Box(NamedTuple):
    """The part of the grid that training data come from.

    Attributes:
        symbols: most symbols.
        length: most tokens.
    """

    symbols: int
    length: int


def measure_heat_map(
    cells: Sequence[Cell], verdicts: Sequence[Verdict], box: Box
) -> Dict[str, Any]:
    """Counts right answers in each cell.

    Args:
        cells: of the grid.
        verdicts: of the best answer to each of its lines.
        box: what was trained on.

    Returns:
        The cells, and the proportions ``overall``, ``inside_box`` and ``outside_box``: all
        right answers out of all sentences, whichever cell they are in.
    """
    found = []
    for cell in cells:
        own = verdicts[cell.first : cell.first + cell.count]
        found.append(
            {
                "symbols": cell.symbols,
                "length": cell.length,
                "count": cell.count,
                "correct": own.count(Verdict.satisfied),
            }
        )

    def is_inside(cell: Dict[str, int]) -> bool:
        return cell["symbols"] <= box.symbols and cell["length"] <= box.length

    return {
        "overall": _total(found),
        "inside_box": _total([cell for cell in found if is_inside(cell)]),
        "outside_box": _total([cell for cell in found if not is_inside(cell)]),
        "box": box._asdict(),
        "cells": found,
    }


def _total(cells: Sequence[Dict[str, int]]) -> Proportion:
    return Proportion(sum(c["correct"] for c in cells), sum(c["count"] for c in cells))


def heat_map_table(result: Dict[str, Any]) -> List[List[Any]]:
    """The rows of a table for people: one for each number of symbols, then the totals."""
    rows = [["symbols", "sentences", "correct and 95 % interval"]]
    for symbols in sorted({cell["symbols"] for cell in result["cells"]}):
        own = _total([cell for cell in result["cells"] if cell["symbols"] == symbols])
        rows.append([symbols, own.total, own])
    for name in ("inside_box", "outside_box", "overall"):
        rows.append([name.replace("_", " "), result[name].total, result[name]])
    return rows


def heat_map_image(
    cells: Sequence[Dict[str, int]], full: int, lowest: float = 0.0
) -> numpy.ndarray:
    """The colours of the cells.

    A grid of every fourth number of symbols and tokens (``sit generate grid --step 4``) has its
    cells drawn four wide and four high, up to their numbers.

    Args:
        cells: with ``symbols``, ``length``, ``count`` and ``correct``.
        full: number of samples that have full brightness; fewer are darker in proportion,
            none are black.
        lowest: the share that has the first colour, as smaller ones do.

    Returns:
        (K + 1, L, 3) red, green and blue in [0, 1], for 0 .. K symbols and 1 .. L tokens.
    """
    shape = (1 + max(cell["symbols"] for cell in cells), max(cell["length"] for cell in cells))
    accuracy, brightness = numpy.zeros(shape), numpy.zeros(shape)
    height, width = (_step([cell[name] for cell in cells]) for name in ("symbols", "length"))
    for cell in cells:
        top, right = cell["symbols"] + 1, cell["length"]
        place = slice(max(0, top - height), top), slice(max(0, right - width), right)
        accuracy[place] = _total([cell]).share
        brightness[place] = min(1.0, cell["count"] / full)
    colors = plots.color_map(_COLORS)(numpy.clip((accuracy - lowest) / (1.0 - lowest), 0.0, 1.0))
    return colors[..., :3] * brightness[..., None]


def _step(numbers: Sequence[int]) -> int:
    """The distance of an axis' numbers, 1 where there is but one."""
    return math.gcd(*(number - numbers[0] for number in numbers)) or 1


def draw_heat_map(result: Dict[str, Any], path: str, full: int) -> None:
    """Draws the figure.

    Args:
        result: of :func:`measure_heat_map`, with at least one cell.
        path: the PNG file to write.
        full: see :func:`heat_map_image`.
    """
    draw_heat_maps({f"correct overall: {result['overall']}": result}, path, full)


def draw_heat_maps(
    results: Mapping[str, Dict[str, Any]], path: str, full: int, lowest: float = 0.0
) -> None:
    """Draws heat maps, one below the other.

    Args:
        results: of :func:`measure_heat_map` by title, all of one grid.
        path: the PNG file to write.
        full: see :func:`heat_map_image`.
        lowest: see there.
    """
    figure = plots.new_figure(11, 0.2 + 3.0 * len(results))
    for place, (title, result) in enumerate(results.items(), start=1):
        axes = figure.add_subplot(len(results), 1, place)
        _draw_cells(axes, result, full, lowest)
        axes.set_title(title)
    label = f"correct (full brightness: {full} samples)"
    plots.add_color_bar(figure, figure.axes, _COLORS, label, lowest)
    plots.save_png(figure, path)


def _draw_cells(axes, result: Dict[str, Any], full: int, lowest: float) -> None:
    """Draws the cells of one heat map and the box of the training data."""
    image = heat_map_image(result["cells"], full, lowest)
    rows, columns, _ = image.shape
    # Cells are centred on their numbers.
    axes.imshow(image, origin="lower", aspect="auto", extent=(0.5, columns + 0.5, -0.5, rows - 0.5))
    box = result["box"]
    right, top = box["length"] + 0.5, box["symbols"] + 0.5
    axes.plot([0.5, right, right, 0.5, 0.5], [-0.5, -0.5, top, top, -0.5], "w--", clip_on=False)
    axes.set_xlim(0.5, max(columns + 0.5, right))
    axes.set_ylim(-0.5, max(rows - 0.5, top))
    axes.set_facecolor("black")
    axes.set_xlabel("length (tokens)")
    axes.set_ylabel("symbols")
    axes.locator_params(axis="y", integer=True, nbins=12)


def read_grid(run: EvaluationRun, folder: str, full: int) -> Grid:
    """Reads what a heat map is drawn of, when it can be drawn.

    Args:
        run: takes note of the files.
        folder: of the grid.
        full: see :func:`heat_map_image`.

    Returns:
        The grid.

    Raises:
        UserError: there is no grid, the number is too small, or nothing can be drawn.
    """
    plots.require_matplotlib()
    if full < 1:
        raise UserError(f"--full-brightness {full}: it must be at least 1.")
    grid = Grid.read(folder)
    for name in ("grid.src", "grid.tgt", MANIFEST):
        run.uses_file(f"{folder}/{name}")
    return grid


def evaluate_heat_map(
    run: EvaluationRun,
    folder: str,
    answers: Union[Checkpoint, str],
    judging: Judging,
    box: Box,
    full: int,
) -> None:
    """Measures a model on a grid of test data.

    Args:
        run: writes the result file, the figure and the table.
        folder: of the grid.
        answers: the model to ask, or a file of answers.
        judging: who judges.
        box: what was trained on.
        full: see :func:`heat_map_image`.

    Raises:
        UserError: a file or an option cannot be used.
    """
    grid = read_grid(run, folder, full)
    with judging.open(run) as judges:
        answered = run.answer(answering(run, answers), grid.sources, judges, grid.targets)
    verdicts = [entry.verdicts[0] for entry in answered]
    result = measure_heat_map(grid.cells, verdicts, box)
    draw_heat_map(result, run.beside(".png"), full)
    run.finish(result, len(verdicts), heat_map_table(result))
