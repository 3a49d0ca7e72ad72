r"""Counts sentences that have a correct answer among the first n.

    sit evaluate top-n data/test --path model/checkpoint_best.pt --semantics prop \
        --result results/top.json

writes a JSON file and a figure beside it, and prints a table, as ``sit evaluate correct``. For
a grid, named by its folder, the figure has a heat map for each n, as in the paper, and the table
the shares within and beyond what was trained on:

    sit evaluate top-n data/grid --path model/checkpoint_best.pt --semantics prop --n 3,10,25 \
        --result results/top.json
"""

import argparse
import os

from sit_fairseq.commands.evaluate import _options as options
from sit_fairseq.evaluation.top_n import evaluate_top_n, evaluate_top_n_grid


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    parser.add_argument("prefix", metavar="PREFIX", help="problems in PREFIX.src, or a grid")
    parser.add_argument(
        "--n",
        type=options.numbers,
        default="1,3,10,25",
        help="the beam is as wide as the largest (default: %(default)s)",
    )
    parser.add_argument(
        "--lowest",
        type=float,
        default=0.8,
        help="the share that has the first colour of heat maps (default: %(default)s, as in the "
        "paper)",
    )
    options.add_grid_options(parser)
    options.add_path(parser)
    options.add_judge_options(parser)
    options.add_result_options(parser)
    options.add_checkpoint_options(parser)


def main(args: argparse.Namespace) -> None:
    """Does what the verb says.

    Raises:
        UserError: an option or a file cannot be used, or the run was interrupted.
    """
    with options.evaluation_run("top-n", args) as run:
        model = options.checkpoint(args, beam=max(args.n), nbest=max(args.n))
        judging = options.judging(args)
        if os.path.isdir(args.prefix):
            drawing = (options.box(args), args.full_brightness, args.lowest)
            evaluate_top_n_grid(run, args.prefix, model, judging, args.n, *drawing)
        else:
            evaluate_top_n(run, args.prefix, model, judging, args.n)
