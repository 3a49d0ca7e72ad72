"""Counts sentences that have a correct answer among the first n.

    sit evaluate top-n data/test --path model/checkpoint_best.pt --semantics prop \
        --result results/top.json

writes a JSON file and a figure beside it, and prints a table, as ``sit evaluate correct``.
"""

import argparse

from sit_fairseq.commands.evaluate import _options as options
from sit_fairseq.evaluation.top_n import evaluate_top_n


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    parser.add_argument("prefix", metavar="PREFIX", help="problems in PREFIX.src, text")
    parser.add_argument(
        "--n",
        type=options.numbers,
        default="1,3,10,25",
        help="the beam is as wide as the largest (default: %(default)s)",
    )
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
        evaluate_top_n(run, args.prefix, model, options.judging(args), args.n)
