"""Generates test data: so many samples for each number of symbols and each length.

    sit generate grid data/prop-grid --semantics prop
    sit generate grid data/ltl-grid --semantics ltl
    sit generate grid data/copy-grid --semantics copy --step 10
    sit generate grid data/my-grid --from data/test --symbols 'T[0-9]+'

OUT_DIR gets ``grid.src``, ``grid.tgt`` and ``manifest.json``, see ``sit_fairseq/datasets/grid.py``.

With ``--semantics`` the grid is that of the paper's heat maps (section on vocabulary and length
generalisation, appendix on copying). Samples of a cell are drawn from the distribution of ``sit
generate prop``, of Spot's ``randltl`` or of strings, under the condition that they have the cell's
length and number of symbols, which is exact and rejects nothing. Left out after that are

* prop: formulas that are unsatisfiable or tautologies, as are all formulas without symbols;
* ltl: formulas that are unsatisfiable, or that Spot rewrites to a shorter one. (The published grid
  has the rewritten ones in their cells, which have about twice as many constants);
* all: renamings of a sample of the cell, and of what is in the files of ``--exclude``.

The k symbols are the first k, in any order. Labels are smallest assignments, traces of Spot, the
string itself. A cell has fewer samples than asked for if thousands of draws in a row brought no new
one. The manifest counts the candidates of each cell, and those left out by reason (``timeout`` and
``error`` of Spot among them). The data of a seed depend neither on the number of workers nor on
interruptions, after which the same command goes on, as long as no formula comes close to the
time-out.

With ``--from`` the samples are your own pairs, of any task: for each number of symbols (of all
sorts) and length in PREFIX.src a random choice of at most ``--per-cell`` pairs.
"""

import argparse
from collections import Counter

from sit_fairseq.commands._options import add_pattern, at_least
from sit_fairseq.commands.generate._options import add_options, recipe
from sit_fairseq.datasets.generation import GridRecipe, generate_grid
from sit_fairseq.datasets.grid import grid_of_pairs
from sit_fairseq.datasets.pair_files import read_pairs
from sit_fairseq.errors import UserError
from sit_fairseq.symbols.pattern import SymbolPattern

# Most symbols, tokens and samples of a cell of the published grids.
_PUBLISHED = {"prop": (10, 50, 100), "ltl": (10, 50, 100), "copy": (160, 160, 20)}
_SIZES = ("max_symbols", "max_length", "per_cell")
# Options of drawn samples, with their defaults.
_BOUNDS = {"max_symbols": None, "max_length": None, "step": 1}
_DRAWING = {"exclude": [], "workers": 2, "timeout": 10.0, "restart": False}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="OUT_DIR", help="write the files of the grid there")
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument("--semantics", choices=list(_PUBLISHED), help="draw samples of this meaning")
    kind.add_argument("--from", dest="prefix", metavar="PREFIX", help="take PREFIX.src and .tgt")
    add = parser.add_argument
    add_pattern(parser, "the symbols of the pairs of --from")
    add("--per-cell", type=at_least(1), help="most samples of a cell (default: 100, for copy 20)")
    add_options(parser, seed=42)
    drawn = parser.add_argument_group("options of drawn samples")
    symbols_help = "most symbols: a, b, ..., or p0, p1, ... (default: 10, for copy 160)"
    drawn.add_argument("--max-symbols", type=at_least(0), help=symbols_help)
    length_help = "most tokens (default: 50, for copy 160)"
    drawn.add_argument("--max-length", type=at_least(1), help=length_help)
    step_help = "only numbers of symbols and lengths that it divides (default: %(default)s)"
    drawn.add_argument("--step", type=at_least(1), default=1, help=step_help)
    add_options(drawn, **_DRAWING)


def main(args: argparse.Namespace) -> None:
    unused, reason = {**_BOUNDS, **_DRAWING}, "pairs of a file are not drawn"
    if args.prefix is None:
        unused, reason = {"symbols": None}, "drawn samples have symbols of their own"
    for name, default in unused.items():
        if getattr(args, name) != default:
            raise UserError(reason, name)
    for name, value in zip(_SIZES, _PUBLISHED[args.semantics or "prop"]):
        if getattr(args, name) is None:
            setattr(args, name, value)
    if args.prefix is None:
        grid = generate_grid(recipe(args, GridRecipe))
    elif args.symbols is None:
        raise UserError("pairs of --from need --symbols, a regular expression of their symbols")
    else:
        own = {"from": args.prefix, "symbols": args.symbols, "per_cell": args.per_cell}
        pairs, symbols_of = read_pairs(args.prefix), SymbolPattern(args.symbols).symbols
        grid = grid_of_pairs(pairs, symbols_of, own, args.per_cell, args.seed)
        grid.write(args.folder)
    counts = sum((Counter(cell.extra) for cell in grid.cells), Counter())
    full = sum(cell.count == args.per_cell for cell in grid.cells)
    print(
        f"{args.folder}: {len(grid.sources)} samples, {args.per_cell} in {full} of "
        f"{len(grid.cells)} cells"
        + "".join(f"; {number} {name}" for name, number in counts.items())
    )
