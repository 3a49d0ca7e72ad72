"""Accuracy by number of symbols and length (Figure "Heatmaps", section 5.4 of the paper)."""

from typing import Any, Dict, List, NamedTuple, Sequence

from sit_fairseq.datasets.grid import Cell
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.judging.verdict import Verdict


class Box(NamedTuple):
    """The most symbols and tokens of the training data."""

    symbols: int
    length: int


def measure_heat_map(
    cells: Sequence[Cell], verdicts: Sequence[Verdict], box: Box
) -> Dict[str, Any]:
    """Counts right answers in each cell of a grid.

    Args:
        cells: of the grid.
        verdicts: of the best answer to each of its lines.
        box: the sizes of the training data.

    Returns:
        The cells, the box, and the proportions ``overall``, ``inside_box`` and ``outside_box`` of
        right answers out of all sentences of those cells.
    """
    found, parts = [], {True: [], False: []}
    for cell in cells:
        right = verdicts[cell.first : cell.first + cell.count].count(Verdict.satisfied)
        sizes = {"symbols": cell.symbols, "length": cell.length}
        found.append({**sizes, "count": cell.count, "correct": right})
        parts[cell.symbols <= box.symbols and cell.length <= box.length].append(found[-1])
    return {
        "overall": _total(found),
        "inside_box": _total(parts[True]),
        "outside_box": _total(parts[False]),
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
