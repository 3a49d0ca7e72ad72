"""Measures whether renamed problems get renamed answers.

    sit evaluate alpha-covariance data/test --path model/checkpoint_best.pt --names a,b,c,d,e \
        --result results/covariance.json

writes a JSON file and prints a table, as ``sit evaluate correct``.
"""

import argparse

from sit_fairseq.commands.evaluate import _options as options
from sit_fairseq.evaluation.alpha_covariance import evaluate_alpha_covariance


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    add = parser.add_argument
    add("prefix", metavar="PREFIX", help="problems in PREFIX.src, text")
    add(
        "--counts",
        type=options.numbers,
        default="3,4,5",
        help="numbers of distinct symbols (default: %(default)s)",
    )
    add("--samples", type=int, default=1000, help="problems for each (default: %(default)s)")
    add("--names", help="a,b,c,...: rename to these (default: the symbols in PREFIX.src)")
    add(
        "--max-renamings",
        type=int,
        default=120,
        help="draw so many where there are more (default: %(default)s)",
    )
    options.add_path(parser)
    options.add_beam(parser)
    options.add_result_options(parser)
    options.add_checkpoint_options(parser)


def main(args: argparse.Namespace) -> None:
    """Does what the verb says.

    Raises:
        UserError: an option or a file cannot be used, or the run was interrupted.
    """
    with options.evaluation_run("alpha-covariance", args) as run:
        evaluate_alpha_covariance(
            run,
            args.prefix,
            options.checkpoint(args, args.beam),
            counts=args.counts,
            samples=args.samples,
            max_renamings=args.max_renamings,
            names=args.names and list(dict.fromkeys(args.names.split(","))),
            seed=args.seed,
        )
