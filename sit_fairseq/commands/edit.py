"""Makes the training data of the paper's tables from existing pairs.

    sit edit renamed data/train data/renamed
    sit edit reduced data/train data/reduced --size 80000
    sit edit supplemented data/train data/more data/supplemented

Each reads ``IN.src`` and ``IN.tgt`` and writes ``OUT.src`` and ``OUT.tgt``. Symbols are all tokens
that are no operators, constants or punctuation of traces.

* renamed (section on dataset perturbations): in each pair of a formula and its answer the symbols
  become a, b, c, ... (p0, p1, ... if some pair has more than 26) as they appear in the answer and
  then in the source. Other data are refused.
* reduced (the same section): a random sample of the pairs, in their order.
* supplemented (appendix on imbalance in the LTL data): the pairs of IN, followed by those of EXTRA
  whose source has at most one symbol and has not occurred before.
"""

import argparse
from random import Random

from sit_fairseq.commands._options import at_least
from sit_fairseq.datasets.edits import by_first_appearance, numbers_of_symbols, supplement
from sit_fairseq.datasets.pair_files import random_pairs, read_pairs, write_pairs
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation import plots


def add_arguments(parser: argparse.ArgumentParser) -> None:
    edits = parser.add_subparsers(dest="edit", required=True)
    for name, reads in {"renamed": "IN", "reduced": "IN", "supplemented": "IN EXTRA"}.items():
        add = edits.add_parser(name).add_argument
        for prefix in reads.split():
            add(prefix, help=f"read {prefix}.src and {prefix}.tgt")
        add("OUT", help="write OUT.src and OUT.tgt")
        if name == "reduced":
            size_help = "number of pairs (default: %(default)s)"
            add("--size", type=at_least(1), default=80000, help=size_help)
            add("--seed", type=int, default=42, help="(default: %(default)s)")
        if name == "supplemented":
            figure_help = "draw histograms of the numbers of symbols, as PNG"
            add("--figure", metavar="FILE", help=figure_help)


def main(args: argparse.Namespace) -> None:
    figure = getattr(args, "figure", None)
    if figure is not None:
        plots.require_matplotlib()
    pairs = read_pairs(args.IN)
    if args.edit == "renamed":
        made = by_first_appearance(pairs)
    elif args.edit == "supplemented":
        made = supplement(pairs, read_pairs(args.EXTRA))
    elif args.size > len(pairs):
        raise UserError(f"there are {len(pairs)} pairs, not {args.size}", "size")
    else:
        made = random_pairs(pairs, args.size, Random(args.seed))
    write_pairs(args.OUT, made)
    print(f"{len(made)} pairs in {args.OUT}.src and .tgt, made from {len(pairs)}")
    if args.edit == "supplemented":
        before, after = numbers_of_symbols(pairs), numbers_of_symbols(made)
        counts = (f"{number}: {before[number]} -> {after[number]}" for number in sorted(after))
        print("pairs by number of symbols:", ", ".join(counts))
        if figure is not None:
            plots.draw_histograms({"before": before, "after": after}, figure)
