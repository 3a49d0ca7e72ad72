r"""Generates LTL formulas with traces that satisfy them.

The set-up is that of LTLRandom35 (Hahn et al. 2021): formulas of Spot's ``randltl`` over
``! & X U`` and the constants, as many of each length, satisfiable, each labelled with an
accepting run of its automaton, or with ``--labels depth-first`` as in
:mod:`sit_fairseq.domains.ltl.tableau`. ``OUT_PREFIX.src`` gets the formulas in prefix notation
(``U a & b X c``) and ``OUT_PREFIX.tgt`` the traces (``a ; & b c ; { 1 }``), one per line.
``OUT_PREFIX.timeouts`` lists the formulas that Spot was stopped at or failed on.

    sit generate ltl data/train --symbols 5 --size 800000
    sit generate ltl data/test --symbols 10 --size 10000 --seed 7 \
        --exclude data/train

No formula is a renaming of another, nor of one in the files of ``--exclude``; what short lengths
lack is shared by the others. With ``--distinct-symbols`` formulas are drawn under the condition
that they have so many, of the lengths with room for them; what Spot would rewrite to a shorter one
is left out (see ``sit generate grid``).

    sit generate ltl data/all --operators 'F G X U W R M ! & | -> <-> xor' --labels depth-first
    sit generate ltl data/written --written --symbols 16 --max-length 48 --labels depth-first

have other formulas: random ones over the given operators, as many of each length, left as they are
drawn; or formulas as people write them (:mod:`sit_fairseq.domains.formulas.shapes`), of any length.

The data of a seed depend neither on the number of workers nor on interruptions, after which the
same command goes on, as long as no formula comes close to the limits of time or memory.
"""

import argparse

from sit_fairseq.commands.generate._options import add_options, recipe, report
from sit_fairseq.domains.formulas.syntax import ARITY
from sit_fairseq.domains.ltl.recipe import generate_ltl


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("out_prefix", help="write OUT_PREFIX.src, .tgt and .timeouts")
    add_options(parser, least=0, symbols="5", min_length=1, max_length=35, size=800000)
    add_options(parser, least=0, distinct_symbols=None, seed=42, exclude=[], workers=2)
    add_options(parser, timeout=120.0, restart=False)
    forms = parser.add_mutually_exclusive_group()
    add_options(forms, logic=tuple(ARITY), operators=None, written=False)
    parser.add_argument(
        "--labels",
        choices=["spot", "depth-first"],
        default="spot",
        help="accepting run of Spot's automaton, the rule of LTLRandom35 (default), or the trace "
        "that a walk through the formula finds first, which is learnt faster (Spot's where a short "
        "walk finds none: about 0.1 %% of the formulas over ! X U &, 3 to 4 %% over all operators)",
    )


def main(args: argparse.Namespace) -> None:
    report(args, generate_ltl(recipe(args)))
