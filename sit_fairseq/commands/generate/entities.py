"""Generates English sentences about entities, with their meaning in a formal notation.

    sit generate entities data/train --symbols '<ent0>..<ent4>' --size 10000

writes ``data/train.src`` (``<ent3> met <ent0> in <ent1> after <ent0> called <ent2>``) and
``data/train.tgt`` (``before ( call ( <ent0> , <ent2> ) , meet ( <ent3> , <ent0> , <ent1> )
)``). The entities are interchangeable; who did what to whom is not. No sentence is a renaming
of another, nor of one in the files of ``--exclude``; there are some 18,000 such sentences.
"""

import argparse

from sit_fairseq.commands.generate._options import add_options, recipe, report
from sit_fairseq.domains.copying.toy_languages import generate_entities


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("out_prefix", help="write OUT_PREFIX.src and OUT_PREFIX.tgt")
    add_options(parser, named=True, symbols="<ent0>..<ent4>", distinct_symbols=None)
    add_options(parser, size=10000, seed=42, exclude=[])


def main(args: argparse.Namespace) -> None:
    report(args, generate_entities(recipe(args)))
