"""Generates a grid of test data: so many samples for each number of symbols and each length.

The grid is that of the paper's heat maps (section on vocabulary and length generalisation):
up to 10 symbols, 1 to 50 tokens, at most 100 formulas per cell. For copying (appendix on
copying) it is up to 160 symbols, 1 to 160 tokens, at most 20 strings per cell. OUT_DIR gets
``grid.src``, ``grid.tgt`` and ``manifest.json``, see ``sit_fairseq/data/grid.py``.

    python scripts/generate_grid.py data/prop-grid --semantics prop
    python scripts/generate_grid.py data/ltl-grid --semantics ltl
    python scripts/generate_grid.py data/copy-grid --semantics copy --step 10

A formula of a cell is drawn from the distribution of ``generate_prop.py`` or of Spot's
``randltl``, over as many symbols as the grid has at most, under the condition that it has
just the cell's length and number of symbols. This is exact, and rejects nothing however rare
such formulas are (see ``sit_fairseq/data/sampling.py``). What is rejected after that:

* prop: formulas that are unsatisfiable or tautologies, as in ``generate_prop.py``;
* ltl: what Spot rewrites to a shorter formula (most of these are never drawn), and what is
  unsatisfiable. Drawing from ``randltl`` until all cells are full, as for the published grid,
  also brings formulas that are as short as they are only because longer ones were rewritten;
  these have about twice as many constants;
* all: renamings of a sample of the cell, and of what is in the files of ``--exclude``.

The k symbols are the first k, in any order. Labels are those of the generators: smallest
assignments, traces of Spot, the string itself. Only the grid of LTL begins with formulas
without symbols: in propositional logic these are tautologies or unsatisfiable, and the
published figure has no such row either. A cell has fewer samples than asked for if thousands
of draws in a row brought no new one. For each cell the manifest says how many candidates were
drawn and how many of them dropped for which reason; ``timeout`` and ``error`` count formulas
that Spot was stopped at or failed on.

The data of a seed depend neither on the number of workers nor on interruptions, as long
as no formula comes close to the time-out.
"""

import argparse
import json
import os
import platform
from collections import Counter
from contextlib import ExitStack
from functools import partial
from typing import Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

from tqdm import tqdm

from sit_fairseq import __version__
from sit_fairseq.data.generated_files import add_exclude_option, check_same_options, in_order
from sit_fairseq.data.grid import Cell, Grid
from sit_fairseq.data.grid_cells import (
    KINDS,
    FilledCell,
    Kind,
    LtlKind,
    Recipe,
    all_cells,
    excluded,
    fill,
    fill_quickly,
    quick_kind,
)
from sit_fairseq.data.sampling import LONGEST_FORMULA
from sit_fairseq.errors import UserError
from sit_fairseq.files import whole_lines
from sit_fairseq.judging.labelling import LabelPool, SpotLabeller
from sit_fairseq.judging.spot_judge import INSTALL_HINT, spot_installed, spot_version
from sit_fairseq.logic.propositional import MAX_VARIABLES


class Defaults(NamedTuple):
    """The published grid."""

    max_symbols: int
    max_length: int
    per_cell: int


GRIDS = {
    "prop": Defaults(10, 50, 100),
    "ltl": Defaults(10, 50, 100),
    "copy": Defaults(160, 160, 20),
}


class Journal:
    """The cells that are finished, one per line, while others are not.

    Args:
        path: the file.
        recipe: what the data depend on.
    """

    def __init__(self, path: str, recipe: Recipe) -> None:
        self.path = path
        self._recipe = recipe

    def resume(self, cells: Sequence[Tuple[int, int]]) -> List[FilledCell]:
        """Reads what an interrupted run has left, and cuts off what it had not finished.

        Args:
            cells: all cells in order.

        Returns:
            The first of them that are finished; none if there was no such run, or it
            had only just begun.

        Raises:
            UserError: that run had other options, or the file is damaged.
        """
        if not os.path.exists(self.path):
            return []
        with open(self.path, "rb") as file:
            whole = whole_lines(file.read())
        if not whole:
            return []
        try:
            theirs, *entries = [json.loads(line) for line in whole.splitlines()]
            check_same_options(theirs, self._recipe._asdict())
            finished = [FilledCell(**entry) for entry in entries]
            damaged = [(cell.symbols, cell.length) for cell in finished] != cells[: len(finished)]
        except (ValueError, KeyError, TypeError):
            damaged = True
        if damaged:
            raise UserError(f"{self.path} is damaged: omit --resume.")
        os.truncate(self.path, len(whole))
        return finished

    def write(self, results: Iterable[FilledCell], new: bool) -> Iterator[FilledCell]:
        """Passes cells on once they are written.

        Args:
            results: cells that follow those in the file.
            new: whether to begin the file.

        Yields:
            The cells.
        """
        with open(self.path, "w" if new else "a", encoding="utf-8") as file:
            if new:
                print(json.dumps(self._recipe._asdict()), file=file, flush=True)
            for cell in results:
                print(json.dumps(cell._asdict()), file=file, flush=True)
                yield cell


def make_grid(filled: Sequence[FilledCell], recipe: Recipe) -> Grid:
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


def generate(recipe: Recipe, folder: str, workers: int, resume: bool) -> Grid:
    """Generates a grid and writes it.

    Args:
        recipe: what to generate.
        folder: where to.
        workers: number of processes.
        resume: whether to go on where a run was interrupted.

    Returns:
        The grid.
    """
    os.makedirs(folder, exist_ok=True)
    journal = Journal(os.path.join(folder, "grid.part"), recipe)
    with ExitStack() as stack:
        if recipe.semantics == "ltl":
            pool = stack.enter_context(LabelPool(SpotLabeller(), workers, recipe.timeout))
            kind: Kind = LtlKind(recipe.max_symbols, pool)
        else:
            kind = quick_kind(recipe.semantics, recipe.max_symbols)
        cells = all_cells(recipe, kind)
        filled = journal.resume(cells) if resume else []
        rest = cells[len(filled) :]
        if recipe.semantics == "ltl":
            results = (fill(kind, recipe, *cell) for cell in rest)
        else:
            results = in_order(partial(fill_quickly, recipe), rest, workers)
        stack.callback(results.close)
        bar = stack.enter_context(tqdm(total=len(cells), initial=len(filled), unit=" cells"))
        for cell in journal.write(results, new=not filled):
            filled.append(cell)
            bar.update()
    grid = make_grid(filled, recipe)
    grid.write(folder)
    os.remove(journal.path)
    return grid


def check_options(recipe: Recipe, workers: int) -> None:
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


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )

    def published(name):
        return ", ".join(f"{key} {getattr(grid, name)}" for key, grid in GRIDS.items())

    add = parser.add_argument
    add("folder", metavar="OUT_DIR", help="write the files of the grid there")
    add("--semantics", choices=list(GRIDS), required=True, help="what the data mean")
    add(
        "--max-symbols",
        type=int,
        help="most symbols; they are a, b, ..., for more than 26 p0, p1, ... "
        f"(default: {published('max_symbols')})",
    )
    add("--max-length", type=int, help=f"most tokens (default: {published('max_length')})")
    add("--per-cell", type=int, help=f"most samples of a cell (default: {published('per_cell')})")
    add(
        "--step",
        type=int,
        default=1,
        help="only numbers of symbols and lengths that it divides (default: %(default)s)",
    )
    add("--seed", type=int, default=42, help="(default: %(default)s)")
    add(
        "--workers",
        type=int,
        default=2,
        help="processes; the data do not depend on their number (default: %(default)s)",
    )
    add(
        "--timeout",
        type=float,
        default=10.0,
        help="seconds for the label of an LTL formula (default: %(default)s)",
    )
    add_exclude_option(parser)
    add("--resume", action="store_true", help="go on where a run was interrupted, if one was")
    args = parser.parse_args(argv)
    for name, value in GRIDS[args.semantics]._asdict().items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    return args


def main(argv: Optional[Sequence[str]] = None) -> None:
    """Runs the script.

    Args:
        argv: the command line, without the program's name; None for the real one.

    Raises:
        UserError: an option or a file cannot be used.
    """
    args = parse_args(argv)
    recipe = Recipe(**{name: getattr(args, name) for name in Recipe._fields})
    check_options(recipe, args.workers)
    excluded(tuple(recipe.exclude), recipe.semantics)
    try:
        grid = generate(recipe, args.folder, args.workers, args.resume)
    except OSError as error:
        raise UserError(f"Cannot write a grid to {args.folder}: {error.strerror}.")
    full = sum(cell.count == recipe.per_cell for cell in grid.cells)
    total: Counter = Counter()
    for cell in grid.cells:
        total.update(cell.extra)
    candidates = total.pop("candidates")
    dropped = ", ".join(f"{number} {name}" for name, number in total.items())
    print(
        f"{len(grid.sources)} samples in {args.folder}; {full} of {len(grid.cells)} cells have "
        f"{recipe.per_cell}; of {candidates} candidates {dropped} were dropped"
    )


if __name__ == "__main__":
    main()
