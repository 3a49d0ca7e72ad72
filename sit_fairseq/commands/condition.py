"""Makes the training conditions of the paper from existing data.

    sit condition renamed data/train data/renamed
    sit condition reduced data/train data/reduced --size 80000
    sit condition supplemented data/train data/more data/supplemented

Each reads ``IN.src`` and ``IN.tgt`` and writes ``OUT.src`` and ``OUT.tgt``, of formulas with
assignments, formulas with traces or strings to be copied. Symbols are all tokens that are no
operators, constants or punctuation of traces.

* renamed (section on dataset perturbations): in each pair the symbols of the answer become
  a, b, c, ... (p0, p1, ... if some pair has more than 26) in the order in which they appear
  there, and those that only the source has follow in the order in which they appear in it.
  No two symbols of a pair become one.
* reduced (the same section): a random sample of the pairs, in their order.
* supplemented (appendix on imbalance in the LTL data): the pairs of IN, followed by those of
  EXTRA whose source has no or one symbol and has not occurred before. With ``--figure FILE.png``
  the histograms of the numbers of symbols are drawn before and after, as in the paper.
"""

import argparse

from sit_fairseq.datasets.conditions import (
    by_first_appearance,
    numbers_of_symbols,
    random_pairs,
    report_supplement,
    supplement,
)
from sit_fairseq.datasets.pair_files import read_pairs, write_pairs
from sit_fairseq.evaluation import plots
from sit_fairseq.evaluation.imbalance import draw_histograms


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    conditions = parser.add_subparsers(dest="condition", required=True)
    for name, prefixes in (
        ("renamed", ["IN", "OUT"]),
        ("reduced", ["IN", "OUT"]),
        ("supplemented", ["IN", "EXTRA", "OUT"]),
    ):
        condition = conditions.add_parser(name)
        for prefix in prefixes:
            verb = "write" if prefix == "OUT" else "read"
            condition.add_argument(prefix, help=f"{verb} {prefix}.src and {prefix}.tgt")
        if name == "reduced":
            add = condition.add_argument
            add("--size", type=int, default=80000, help="number of pairs (default: %(default)s)")
            add("--seed", type=int, default=42, help="(default: %(default)s)")
        if name == "supplemented":
            condition.add_argument(
                "--figure", metavar="FILE", help="draw how many pairs have how many symbols, as PNG"
            )


def main(args: argparse.Namespace) -> None:
    """Makes the condition.

    Raises:
        UserError: an option or a file cannot be used.
    """
    figure = getattr(args, "figure", None)
    if figure is not None:
        plots.require_matplotlib()
    pairs = read_pairs(args.IN)
    if args.condition == "renamed":
        made = by_first_appearance(pairs)
    elif args.condition == "reduced":
        made = random_pairs(pairs, args.size, args.seed)
    else:
        made = supplement(pairs, read_pairs(args.EXTRA))
        print(report_supplement(pairs, made))
    write_pairs(args.OUT, made)
    if figure is not None:
        draw_histograms(
            {"before": numbers_of_symbols(pairs), "after": numbers_of_symbols(made)}, figure
        )
    print(f"{len(made)} pairs in {args.OUT}.src and .tgt, made from {len(pairs)}")
