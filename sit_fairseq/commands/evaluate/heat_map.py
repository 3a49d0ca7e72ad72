r"""Counts correct answers by number of symbols and length.

    sit evaluate heat-map data/grid --path model/checkpoint_best.pt --semantics prop \
        --result results/grid.json

writes a JSON file and a figure beside it, and prints a table, as ``sit evaluate correct``. No
model is needed with ``--generated FILE``, answers to the lines of ``data/grid/grid.src``.
"""

import argparse

from sit_fairseq.commands.evaluate import _options as options
from sit_fairseq.evaluation.heat_map import evaluate_heat_map


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    parser.add_argument("folder", metavar="FOLDER", help="has grid.src, grid.tgt, manifest.json")
    options.add_grid_options(parser)
    options.add_answers(parser)
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
            options.answers(args),
            options.judging(args),
            options.box(args),
            args.full_brightness,
        )
