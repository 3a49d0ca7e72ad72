"""Makes grids of test data: all cells, as many at once as there are processes.

``sit generate grid --help`` says what the data are.
"""

import os
import platform
from contextlib import ExitStack
from functools import partial
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

from tqdm import tqdm

from sit_fairseq import __version__
from sit_fairseq.datasets.drawing import in_order
from sit_fairseq.datasets.formula_sampling import LONGEST_FORMULA
from sit_fairseq.datasets.grid import Cell, Grid
from sit_fairseq.datasets.grid_cells import (
    KINDS,
    FilledCell,
    GridRecipe,
    Kind,
    LtlKind,
    all_cells,
    excluded,
    fill,
    fill_quickly,
    quick_kind,
)
from sit_fairseq.datasets.interruptions import open_journal, read_entries, read_sides
from sit_fairseq.errors import UserError
from sit_fairseq.judging.labelling import LabelPool, SpotLabeller
from sit_fairseq.judging.spot_judge import INSTALL_HINT, spot_installed, spot_version
from sit_fairseq.logic.propositional import MAX_VARIABLES
from sit_fairseq.storage.journal import Journal


class GridSize(NamedTuple):
    """Of a published grid; see the fields of the same names in :class:`GridRecipe`."""

    max_symbols: int
    max_length: int
    per_cell: int


PUBLISHED = {
    "prop": GridSize(10, 50, 100),
    "ltl": GridSize(10, 50, 100),
    "copy": GridSize(160, 160, 20),
}


def _check(recipe: GridRecipe, workers: int) -> None:
    """Refuses options that cannot be met.

    Args:
        recipe: the data wanted.
        workers: number of processes.

    Raises:
        UserError: one cannot.
    """
    least = {"max_symbols": KINDS[recipe.semantics].fewest, "timeout": 0.001}
    values = {**recipe._asdict(), "workers": workers}
    for name in ("max_symbols", "max_length", "step", "per_cell", "timeout", "workers"):
        if values[name] < least.get(name, 1):
            raise UserError(
                f"--{name.replace('_', '-')} {values[name]}: {recipe.semantics} needs at least "
                f"{least.get(name, 1)}."
            )
    if recipe.semantics == "prop" and recipe.max_symbols > MAX_VARIABLES:
        raise UserError(
            f"--max-symbols {recipe.max_symbols}: truth tables end at {MAX_VARIABLES} symbols."
        )
    if recipe.semantics != "copy" and recipe.max_length > LONGEST_FORMULA:
        raise UserError(
            f"--max-length {recipe.max_length}: formulas can have at most {LONGEST_FORMULA} tokens."
        )
    if recipe.semantics == "ltl" and not spot_installed():
        raise UserError(f"LTL data need Spot: {INSTALL_HINT}.")


def _joined(filled: Sequence[FilledCell], recipe: GridRecipe) -> Grid:
    """Puts cells together.

    Args:
        filled: the cells in order.
        recipe: what they depend on.

    Returns:
        The grid.
    """
    options = recipe._asdict()
    seed = options.pop("seed")
    options["versions"] = {"sit_fairseq": __version__, "python": platform.python_version()}
    if recipe.semantics == "ltl":
        options["versions"]["spot"] = spot_version()
    if recipe.semantics == "prop":
        options["left_out"] = "no symbols: such formulas are tautologies or unsatisfiable"
    grid = Grid([], [], [], options, seed)
    for cell in filled:
        first, count = len(grid.sources), len(cell.sources)
        grid.cells.append(Cell(cell.symbols, cell.length, first, count, cell.extra))
        grid.sources += cell.sources
        grid.targets += cell.targets
    return grid


def generate_grid(recipe: GridRecipe, folder: str, workers: int, resume: bool) -> Grid:
    """Generates a grid and writes it.

    Args:
        recipe: what to generate.
        folder: where to.
        workers: number of processes.
        resume: whether to go on where a run was interrupted.

    Returns:
        The grid.

    Raises:
        UserError: that cannot be done, or a file cannot be used.
    """
    _check(recipe, workers)
    excluded(tuple(recipe.exclude), recipe.semantics)
    try:
        return _generate(recipe, folder, workers, resume)
    except OSError as error:
        raise UserError(f"Cannot write a grid to {folder}: {error.strerror}.")


def _finished(journal: Journal, cells: Sequence[Tuple[int, int]]) -> List[FilledCell]:
    """The cells that are in a journal, which are the first of all."""
    places = iter(cells)

    def read(entry: Dict[str, Any]) -> FilledCell:
        cell = FilledCell(**entry)
        read_sides(entry)
        if (cell.symbols, cell.length) != next(places, None):
            raise ValueError("another cell")
        if not all(isinstance(number, int) for number in cell.extra.values()):
            raise TypeError("not counts")
        return cell

    return list(read_entries(journal, read))


def _generate(recipe: GridRecipe, folder: str, workers: int, resume: bool) -> Grid:
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "grid.part")
    with ExitStack() as stack:
        journal = stack.enter_context(open_journal(path, "cells", recipe, resume, "OUT_DIR"))
        if recipe.semantics == "ltl":
            pool = stack.enter_context(LabelPool(SpotLabeller(), workers, recipe.timeout))
            kind: Kind = LtlKind(recipe.max_symbols, pool)
        else:
            kind = quick_kind(recipe.semantics, recipe.max_symbols)
        cells = all_cells(recipe, kind)
        filled = _finished(journal, cells)
        rest = cells[len(filled) :]
        if recipe.semantics == "ltl":
            results = (fill(kind, recipe, *cell) for cell in rest)
        else:
            results = in_order(partial(fill_quickly, recipe), rest, workers)
        stack.callback(results.close)
        bar = stack.enter_context(tqdm(total=len(cells), initial=len(filled), unit=" cells"))
        for cell in results:
            journal.append(cell._asdict())
            filled.append(cell)
            bar.update()
        grid = _joined(filled, recipe)
        grid.write(folder)
        journal.remove()
    return grid
