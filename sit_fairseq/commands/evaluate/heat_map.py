"""Counts correct answers by number of symbols and length.

    sit evaluate heat-map data/grid --path model/checkpoint_best.pt --semantics prop \
        --result results/grid.json

writes a JSON file and a figure beside it, and prints a table, as ``sit evaluate correct``.
"""

import argparse

from sit_fairseq.commands.evaluate import _options as options
from sit_fairseq.evaluation.heat_map import Box, evaluate_heat_map


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    add = parser.add_argument
    add("folder", metavar="FOLDER", help="has grid.src, grid.tgt, manifest.json")
    add("--training-symbols", type=int, default=5, help="most in training (default: %(default)s)")
    add("--training-length", type=int, default=35, help="longest there (default: %(default)s)")
    add(
        "--full-brightness",
        type=int,
        default=100,
        help="samples of a cell of full brightness (default: %(default)s)",
    )
    options.add_path(parser)
    options.add_judge_options(parser)
    options.add_beam(parser)
    options.add_result_options(parser)
    options.add_checkpoint_options(parser)


def main(args: argparse.Namespace) -> None:
    """Does what the verb says.

    Raises:
        UserError: an option or a file cannot be used, or the run was interrupted.
    """
    with options.evaluation_run("heat-map", args) as run:
        evaluate_heat_map(
            run,
            args.folder,
            options.checkpoint(args, args.beam),
            options.judging(args),
            Box(args.training_symbols, args.training_length),
            args.full_brightness,
        )
