"""Generates English sentences about entities, with their meaning in a formal notation.

    sit generate entities data/train --symbols '<ent0>..<ent4>' --size 10000

writes ``data/train.src`` (``<ent3> met <ent0> in <ent1> after <ent0> called <ent2>``) and
``data/train.tgt`` (``before ( call ( <ent0> , <ent2> ) , meet ( <ent3> , <ent0> , <ent1> )
)``). The entities are interchangeable; who did what to whom is not. No sentence is a renaming
of another, nor of one in the files of ``--exclude``; there are some 18,000 such sentences.
"""

import argparse

from sit_fairseq.commands.generate._options import (
    add_distinct_option,
    add_exclude_option,
    parse_distinct,
)
from sit_fairseq.datasets.entities import MOST_ENTITIES, generate_entities
from sit_fairseq.datasets.names import parse_names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    add = parser.add_argument
    add("out_prefix", metavar="OUT_PREFIX", help="write OUT_PREFIX.src and OUT_PREFIX.tgt")
    add("--symbols", default="<ent0>..<ent4>", help="names of entities (default: %(default)s)")
    add_distinct_option(parser)
    add("--size", type=int, default=10000, help="number of sentences (default: %(default)s)")
    add("--seed", type=int, default=42, help="(default: %(default)s)")
    add_exclude_option(parser)


def main(args: argparse.Namespace) -> None:
    """Generates the data.

    Raises:
        UserError: an option or a file cannot be used.
    """
    names = parse_names(args.symbols)
    distinct = parse_distinct(args, len(names), MOST_ENTITIES)
    drawn = generate_entities(names, distinct, args.size, args.seed, args.exclude, args.out_prefix)
    print(
        f"{args.size} sentences in {args.out_prefix}.src and .tgt; dropped "
        f"{drawn.skipped['duplicates']} duplicates and {drawn.skipped['excluded']} excluded "
        "sentences"
    )
