"""Measures time and memory against the number of symbols.

    sit evaluate cost --path model/checkpoint_best.pt --result results/cost.json

writes a JSON file and a figure beside it, and prints a table.
"""

import argparse
import random

import torch

from sit_fairseq.commands._options import at_least, numbers
from sit_fairseq.commands.evaluate import _options as options
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation import plots
from sit_fairseq.evaluation.cost import cost_series, cost_table, measure_cost, synthetic_sentences


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add, count = parser.add_argument, {"type": at_least(1), "metavar": "N"}
    help_ = "numbers of symbols (default: %(default)s)"
    add("--counts", type=numbers, default="1,2,5,10,20", help=help_)
    add("--samples", **count, default=64, help="sentences for each (default: %(default)s)")
    add("--repetitions", **count, default=5, help="measurements (default: %(default)s)")
    help_ = "tokens per sentence (default: 35, more if symbols need it)"
    add("--length", **count, help=help_)
    options.add_model(parser)
    options.add_result(parser, kept=False)
    options.add_seed(parser)


def main(args: argparse.Namespace) -> None:
    plots.require_matplotlib()
    least = 2 * max(args.counts) - 1
    args.length = args.length or max(35, least)
    if args.length < least:
        raise UserError(f"{max(args.counts)} symbols need at least {least} tokens", "length counts")
    with options.run(args):
        asked = options.answerer(args)
        names, rng = asked.symbol_names(max(args.counts)), random.Random(args.seed)
        size = (args.length, args.samples, rng)
        sentences = {
            count: synthetic_sentences(names[:count], asked.base_tokens, *size)
            for count in args.counts
        }
        result = measure_cost(asked, sentences, args.repetitions, torch.device(args.device))
    plots.draw_cost(args.counts, cost_series(result), options.figure(args))
    seconds = args.samples * [sum(found["seconds"]) for found in result.values()]
    options.report(args, "cost", [], result, cost_table(result), seconds)
