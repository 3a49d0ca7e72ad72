r"""Generates propositional formulas with satisfying partial assignments.

The set-up is that of PropRandom35 (Hahn et al. 2021): random formulas, as many of each
length, satisfiable and no tautologies, each with one partial assignment that implies
it. ``OUT_PREFIX.src`` gets the formulas in prefix notation (``& a ! b``) and
``OUT_PREFIX.tgt`` the assignments (``a 1 b 0``), one per line. ``--labels`` changes the
assignments alone, not the formulas.

    sit generate prop data/train --symbols 5 --size 800000
    sit generate prop data/test --symbols 10 --size 10000 --seed 7 \
        --exclude data/train

No formula is a renaming of another, nor of one in the files of ``--exclude``. Lengths are drawn
uniformly and known formulas dropped, so there are few of the shortest: of 1, 2, 3, 4, 5 and 6
tokens there are 1, 1, 19, 51, 737 and 3193. With ``--distinct-symbols`` formulas are drawn under
the condition that they have so many, of the lengths with room for them.

    sit generate prop data/arrows --operators '! & | <-> xor ->' --labels depth-first
    sit generate prop data/written --written --symbols 16 --max-length 60 --labels depth-first

have other formulas: random ones over the given operators, or Boolean functions as people write them
(:mod:`sit_fairseq.domains.formulas.shapes`), of any length.
"""

import argparse

from sit_fairseq.commands.generate._options import add_options, recipe, report
from sit_fairseq.domains.formulas.syntax import OPERATORS
from sit_fairseq.domains.prop.recipe import LABELS, generate_prop


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("out_prefix", help="write OUT_PREFIX.src and OUT_PREFIX.tgt")
    add_options(parser, symbols="5", min_length=1, max_length=35, size=800000)
    add_options(parser, distinct_symbols=None, seed=42, exclude=[], workers=2)
    forms = parser.add_mutually_exclusive_group()
    add_options(forms, logic=OPERATORS, operators=None, written=False)
    parser.add_argument(
        "--labels",
        choices=list(LABELS),
        default="smallest",
        help="a smallest assignment (default), or the first that a walk through the formula finds "
        "(see sit_fairseq/domains/prop/depth_first.py), which is learnt much faster, both renamed with "
        "the formula; or the rule of PropRandom35, hundreds of times slower and not reproducible",
    )


def main(args: argparse.Namespace) -> None:
    report(args, generate_prop(recipe(args)))
