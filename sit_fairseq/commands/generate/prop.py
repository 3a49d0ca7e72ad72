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
tokens there are 1, 1, 19, 51, 737 and 3193. With ``--distinct-symbols`` a length is drawn among
those in which so many symbols have room, then a formula from the same distribution as without,
under the condition that it has so many different symbols.

    sit generate prop data/arrows --operators '! & | <-> xor ->' --labels depth-first
    sit generate prop data/written --written --symbols 16 --max-length 60 --labels depth-first

have other formulas: random ones over the given operators, or Boolean functions as people write them
(:mod:`sit_fairseq.datasets.written`), of any length.
"""

import argparse

from sit_fairseq.commands.generate._options import (
    add_distinct_option,
    add_exclude_option,
    add_form_options,
    add_sampling_options,
    check_sampling_options,
    parse_distinct_in_formulas,
    parse_operators,
)
from sit_fairseq.datasets.drawing import length_summary
from sit_fairseq.datasets.names import parse_symbols
from sit_fairseq.datasets.prop import LABELS, PropRecipe, generate_prop
from sit_fairseq.logic.propositional import OPERATORS, RANDOM_OPERATORS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    add = parser.add_argument
    add("out_prefix", metavar="OUT_PREFIX", help="write OUT_PREFIX.src and OUT_PREFIX.tgt")
    add_sampling_options(parser)
    add_distinct_option(parser)
    add_form_options(parser, OPERATORS)
    add_exclude_option(parser)
    add(
        "--labels",
        choices=list(LABELS),
        default="smallest",
        help="a smallest assignment (default), or the first that a walk through the formula finds "
        "(see sit_fairseq/logic/depth_first.py), which is learnt much faster, both renamed with "
        "the formula; or the rule of PropRandom35, hundreds of times slower and not reproducible",
    )


def main(args: argparse.Namespace) -> None:
    """Generates the data.

    Raises:
        UserError: an option or a file cannot be used.
    """
    symbols = parse_symbols(args.symbols, least=0)
    check_sampling_options(args)
    distinct = parse_distinct_in_formulas(args, len(symbols))
    recipe = PropRecipe(
        tuple(symbols),
        args.min_length,
        args.max_length,
        args.seed,
        args.labels,
        distinct,
        tuple(parse_operators(args, OPERATORS) or RANDOM_OPERATORS),
        args.written,
    )
    drawn = generate_prop(recipe, args.size, args.exclude, args.out_prefix, args.workers)
    print(
        f"{args.size} samples in {args.out_prefix}.src and .tgt; dropped "
        f"{drawn.skipped['duplicates']} duplicates and {drawn.skipped['excluded']} excluded "
        f"formulas; {length_summary(drawn.lengths)}"
    )
