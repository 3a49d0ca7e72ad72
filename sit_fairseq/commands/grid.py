"""Makes a test set with N samples per number of symbols and length.

    sit grid prop data/prop-grid
    sit grid ltl data/ltl-grid
    sit grid copying data/copy-grid --step 10
    sit grid --from data/test data/my-grid --symbols 'T[0-9]+'

OUT_DIR gets ``grid.src``, ``grid.tgt`` and ``manifest.json``, see ``sit_fairseq/datasets/grid.py``.

The grid of a domain is that of the paper's heat maps (section on vocabulary and length
generalisation, appendix on copying). Samples of a cell are drawn from the distribution of ``sit
generate`` under the condition that they have the cell's length and its symbols, the first k in any
order. Left out are problems without an answer, those that the domain refuses, such as tautologies
and formulas that have a shorter form, and renamings of a sample of the cell or of ``--exclude``.

A cell stays short of samples if thousands of draws in a row brought no new one. The manifest counts
each cell's candidates, and by reason those left out. The same command goes on after an interruption.
A seed gives the same data with any number of workers, if no problem comes close to the time-out.

``--from`` makes a grid of your own pairs, of any task: at most ``--per-cell`` random pairs of
PREFIX.src and .tgt for each number of symbols (of all sorts) and length of the source.
"""

import argparse
import os
from collections import Counter
from dataclasses import fields

from sit_fairseq.commands._options import add_pattern
from sit_fairseq.datasets.generation import GridRecipe, generate_grid
from sit_fairseq.datasets.grid import FILES, Grid, grid_of_pairs
from sit_fairseq.datasets.options import add_options, default_of, from_options
from sit_fairseq.datasets.pair_files import read_pairs
from sit_fairseq.domains import find, names
from sit_fairseq.errors import UserError
from sit_fairseq.storage.files import refuse_same
from sit_fairseq.symbols.pattern import SymbolPattern


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    help_ = f"draw samples of a domain: {', '.join(names())}, or MODULE:OBJECT, your own"
    add("domain", metavar="NAME", nargs="?", help=help_).completer = lambda **_: names()
    add("folder", metavar="OUT_DIR", help="write the files of the grid there")
    add("--from", dest="prefix", metavar="PREFIX", help="or take PREFIX.src and .tgt")
    add_pattern(parser, "the symbols of the pairs of --from")
    add_options(parser, GridRecipe)


def main(args: argparse.Namespace) -> None:
    if (args.domain is None) == (args.prefix is None):
        raise UserError("name a domain, or pairs of your own by --from")
    grid = _grid_of_pairs(args) if args.domain is None else _drawn(args)
    counts = sum((Counter(cell.extra) for cell in grid.cells), Counter())
    full = sum(cell.count == args.per_cell for cell in grid.cells)
    cells = f"{args.per_cell} in {full} of {len(grid.cells)} cells"
    left_out = "".join(f"; {number} {name}" for name, number in counts.items())
    print(f"{args.folder}: {len(grid.sources)} samples, {cells}{left_out}")


def _drawn(args: argparse.Namespace) -> Grid:
    if args.symbols is not None:
        raise UserError("only pairs of --from take a pattern of symbols", "symbols")
    domain = find(args.domain, "domain")
    if domain.cells is None:
        raise UserError(f"{domain.name} draws no problems by length; make a grid by --from")
    for name, usual in zip(("max_symbols", "max_length", "per_cell"), domain.cells.usual):
        if getattr(args, name) is None:
            setattr(args, name, usual)
    return generate_grid(domain, from_options(GridRecipe, args), args.folder)


def _grid_of_pairs(args: argparse.Namespace) -> Grid:
    for one in fields(GridRecipe):
        if one.name not in ("per_cell", "seed") and getattr(args, one.name) != default_of(one):
            raise UserError("a grid of --from does not draw samples", one.name)
    if args.symbols is None:
        raise UserError("pairs of --from need --symbols, a regular expression of their symbols")
    read = [f"{args.prefix}.{side}" for side in ("src", "tgt")]
    refuse_same(read, (os.path.join(args.folder, name) for name in FILES), "")
    args.per_cell = args.per_cell or 100
    own = {"from": args.prefix, "symbols": args.symbols, "per_cell": args.per_cell}
    pairs, symbols_of = read_pairs(args.prefix), SymbolPattern(args.symbols).symbols
    grid = grid_of_pairs(pairs, symbols_of, own, args.per_cell, args.seed)
    grid.write(args.folder)
    return grid
