"""Generates test data: so many samples for each number of symbols and each length.

The grid is that of the paper's heat maps (section on vocabulary and length generalisation):
up to 10 symbols, 1 to 50 tokens, at most 100 formulas per cell. For copying (appendix on
copying) it is up to 160 symbols, 1 to 160 tokens, at most 20 strings per cell. OUT_DIR gets
``grid.src``, ``grid.tgt`` and ``manifest.json``, see ``sit_fairseq/datasets/grid.py``.

    sit generate grid data/prop-grid --semantics prop
    sit generate grid data/ltl-grid --semantics ltl
    sit generate grid data/copy-grid --semantics copy --step 10

A formula of a cell is drawn from the distribution of ``sit generate prop`` or of Spot's
``randltl``, over as many symbols as the grid has at most, under the condition that it has
just the cell's length and number of symbols. This is exact, and rejects nothing however rare
such formulas are (see ``sit_fairseq/datasets/sampling.py``). What is rejected after that:

* prop: formulas that are unsatisfiable or tautologies, as in ``sit generate prop``;
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
from collections import Counter

from sit_fairseq.commands.generate._options import add_exclude_option
from sit_fairseq.datasets.grid_cells import GridRecipe
from sit_fairseq.datasets.grid_generation import PUBLISHED, generate_grid


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""

    def published(name):
        return ", ".join(f"{key} {getattr(grid, name)}" for key, grid in PUBLISHED.items())

    add = parser.add_argument
    add("folder", metavar="OUT_DIR", help="write the files of the grid there")
    add("--semantics", choices=list(PUBLISHED), required=True, help="what the data mean")
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


def main(args: argparse.Namespace) -> None:
    """Generates the data.

    Raises:
        UserError: an option or a file cannot be used.
    """
    for name, value in PUBLISHED[args.semantics]._asdict().items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    recipe = GridRecipe(**{name: getattr(args, name) for name in GridRecipe._fields})
    grid = generate_grid(recipe, args.folder, args.workers, args.resume)
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
