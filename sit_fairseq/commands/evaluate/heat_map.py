r"""Counts correct answers by number of symbols and length.

    sit evaluate heat-map data/grid --path model/checkpoint_best.pt --semantics prop \
        --result results/grid.json

writes a JSON file and a figure beside it, and prints a table, as ``sit evaluate correct``.
"""

import argparse

from sit_fairseq.commands.evaluate import _options as options
from sit_fairseq.datasets.grid import Grid
from sit_fairseq.evaluation import plots
from sit_fairseq.evaluation.heat_map import Box, heat_map_table, measure_heat_map


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="has grid.src, grid.tgt, manifest.json")
    options.add_model(parser, given=True)
    options.add_judging(parser)
    options.add_box(parser)
    options.add_result(parser)


def main(args: argparse.Namespace) -> None:
    plots.require_matplotlib()
    grid = Grid.read(args.folder)
    judge, _, answered = options.judged(args, grid.sources, grid.targets)
    box = Box(args.training_symbols, args.training_length)
    verdicts = [entry.verdicts[0] for entry in answered]
    result = measure_heat_map(grid.cells, verdicts, box)
    plots.draw_heat_maps({"Correct": result}, options.figure(args))
    files = options.grid_files(args.folder)
    seconds = [entry.seconds for entry in answered]
    table = heat_map_table(result)
    options.report(args, "heat-map", files, result, table, seconds, judge, verdicts)
