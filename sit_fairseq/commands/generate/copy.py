"""Generates strings to be copied.

The set-up is that of the copying task (Isik et al. 2025, and the paper's appendix on
copying): the length of a string is drawn uniformly, then each token among the symbols,
20 of them unless ``--symbols`` says otherwise. ``OUT_PREFIX.src`` and ``OUT_PREFIX.tgt`` get
the same strings, one per line.

    sit generate copy data/train
    sit generate copy data/valid --size 1000 --seed 7 --exclude data/train

No string is a renaming of another, nor of one in the files of ``--exclude``; so there are few
of the shortest. With ``--distinct-symbols`` a length is drawn among those in which so many have
room, then a string among all of this length that have so many different tokens. For tests on
longer strings and more symbols see ``sit generate grid --semantics copy``.
"""

import argparse

from sit_fairseq.commands.generate._options import (
    add_distinct_option,
    add_exclude_option,
    add_sampling_options,
    check_sampling_options,
    parse_distinct,
)
from sit_fairseq.datasets.copying import CopyRecipe, generate_copies
from sit_fairseq.datasets.drawing import length_summary
from sit_fairseq.datasets.names import parse_symbols


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    parser.add_argument(
        "out_prefix", metavar="OUT_PREFIX", help="write OUT_PREFIX.src and OUT_PREFIX.tgt"
    )
    add_sampling_options(parser)
    add_distinct_option(parser)
    add_exclude_option(parser)
    parser.set_defaults(symbols="20", min_length=20, max_length=80, size=10_000_000)


def main(args: argparse.Namespace) -> None:
    """Generates the data.

    Raises:
        UserError: an option or a file cannot be used.
    """
    symbols = parse_symbols(args.symbols)
    check_sampling_options(args)
    distinct = parse_distinct(args, len(symbols), args.max_length)
    recipe = CopyRecipe(tuple(symbols), args.min_length, args.max_length, args.seed, distinct)
    drawn = generate_copies(recipe, args.size, args.exclude, args.out_prefix, args.workers)
    print(
        f"{args.size} strings in {args.out_prefix}.src and .tgt; dropped "
        f"{drawn.skipped['duplicates']} duplicates and {drawn.skipped['excluded']} excluded "
        f"strings; {length_summary(drawn.lengths)}"
    )
