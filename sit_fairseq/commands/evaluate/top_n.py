r"""Counts sentences that have a correct answer among the first n.

    sit evaluate top-n data/test --path model/checkpoint_best.pt --semantics prop \
        --result results/top.json

writes a JSON file and a figure beside it, and prints a table, as ``sit evaluate correct``. For
a grid, named by its folder, the figure has a heat map for each n, as in the paper, and the table
the shares within and beyond the sizes of the training data:

    sit evaluate top-n data/grid --path model/checkpoint_best.pt --semantics prop --n 3,10,25 \
        --result results/top.json
"""

import argparse
import os
from itertools import chain

from sit_fairseq.commands._options import numbers
from sit_fairseq.commands.evaluate import _options as options
from sit_fairseq.datasets.grid import Grid
from sit_fairseq.datasets.pair_files import read_pairs
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation import plots, top_n
from sit_fairseq.evaluation.heat_map import Box
from sit_fairseq.logic.syntax import read_sentences


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("prefix", metavar="PREFIX", help="problems in PREFIX.src, or a grid")
    help_ = "the beam is as wide as the largest (default: %(default)s)"
    add("--n", type=numbers, default="1,3,10,25", help=help_)
    help_ = "share of the first colour of heat maps (default: %(default)s, as in the paper)"
    add("--lowest", type=float, default=0.8, help=help_)
    options.add_box(parser)
    options.add_model(parser, beam=False)
    options.add_judging(parser)
    options.add_result(parser)


def main(args: argparse.Namespace) -> None:
    plots.require_matplotlib()
    if not 0.0 <= args.lowest < 1.0:
        raise UserError(f"{args.lowest} is no share below 1", "lowest")
    args.beam = args.nbest = max(args.n)
    grid, targets, files = None, None, [f"{args.prefix}.src"]
    if os.path.isdir(args.prefix):
        grid, files = Grid.read(args.prefix), options.grid_files(args.prefix)
        sources, targets = grid.sources, grid.targets
    else:
        sources = read_sentences(files[0])
        if os.path.exists(f"{args.prefix}.tgt"):
            targets = [target for _, target in read_pairs(args.prefix)]
            files.append(f"{args.prefix}.tgt")
    judge, _, answered = options.judged(args, sources, targets)
    verdicts = [entry.verdicts for entry in answered]
    if grid is None:
        result = top_n.measure_top_n(verdicts, args.n)
        table = top_n.top_n_table(result)
        plots.draw_top_n(result, options.figure(args))
    else:
        box = Box(args.training_symbols, args.training_length)
        result = top_n.measure_top_n_by_cell(grid.cells, verdicts, args.n, box)
        table = top_n.top_n_grid_table(result)
        titles = {f"Correct among the first {n}": found for n, found in result.items()}
        plots.draw_heat_maps(titles, options.figure(args), args.lowest)
    seconds, every = [entry.seconds for entry in answered], chain.from_iterable(verdicts)
    options.report(args, "top-n", files, result, table, seconds, judge, every)
