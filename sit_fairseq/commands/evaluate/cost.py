"""Measures time and memory against the number of symbols.

    sit evaluate cost --path model/checkpoint_best.pt --result results/cost.json

writes a JSON file and a figure beside it, and prints a table.
"""

import argparse

from sit_fairseq.commands.evaluate import _options as options
from sit_fairseq.evaluation.cost import evaluate_cost


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    add = parser.add_argument
    add(
        "--counts",
        type=options.numbers,
        default="1,2,5,10,20",
        help="numbers of symbols (default: %(default)s)",
    )
    add("--samples", type=int, default=64, help="sentences for each (default: %(default)s)")
    add("--repetitions", type=int, default=5, help="measurements (default: %(default)s)")
    add("--length", type=int, help="tokens per sentence (default: 35, more if symbols need it)")
    options.add_path(parser)
    options.add_beam(parser)
    options.add_result_options(parser)
    options.add_checkpoint_options(parser)


def main(args: argparse.Namespace) -> None:
    """Does what the verb says.

    Raises:
        UserError: an option or a file cannot be used, or the run was interrupted.
    """
    with options.evaluation_run("cost", args) as run:
        evaluate_cost(
            run,
            options.checkpoint(args, args.beam),
            counts=args.counts,
            samples=args.samples,
            repetitions=args.repetitions,
            length=args.length,
            seed=args.seed,
        )
