"""Generates strings to be copied.

The set-up is that of the copying task (Isik et al. 2025, and the paper's appendix on
copying): the length of a string is drawn uniformly, then each token among the symbols,
20 of them unless ``--symbols`` says otherwise. ``OUT_PREFIX.src`` and ``OUT_PREFIX.tgt`` get
the same strings, one per line.

    sit generate copy data/train
    sit generate copy data/valid --size 1000 --seed 7 --exclude data/train

No string is a renaming of another, nor of one in the files of ``--exclude``; so there are few of
the shortest. With ``--distinct-symbols`` strings have so many different tokens. For tests on longer
strings and more symbols see ``sit generate grid --semantics copy``.
"""

import argparse

from sit_fairseq.commands.generate._options import add_options, recipe, report
from sit_fairseq.domains.copying.toy_languages import generate_copies


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("out_prefix", help="write OUT_PREFIX.src and OUT_PREFIX.tgt")
    add_options(parser, symbols="20", min_length=20, max_length=80, size=10_000_000)
    add_options(parser, distinct_symbols=None, seed=42, exclude=[], workers=2)


def main(args: argparse.Namespace) -> None:
    report(args, generate_copies(recipe(args)))
