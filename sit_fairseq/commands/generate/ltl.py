r"""Generates LTL formulas with traces that satisfy them.

The set-up is that of LTLRandom35 (Hahn et al. 2021): formulas of Spot's ``randltl`` over
``! & X U`` and the constants, as many of each length, satisfiable, each labelled with an
accepting run of its automaton, or with ``--labels depth-first`` as in
:mod:`sit_fairseq.logic.tableau`. ``OUT_PREFIX.src`` gets the formulas in prefix notation
(``U a & b X c``) and ``OUT_PREFIX.tgt`` the traces (``a ; & b c ; { 1 }``), one per line.
``OUT_PREFIX.timeouts`` lists the formulas that Spot was stopped at or failed on.

    sit generate ltl data/train --symbols 5 --size 800000
    sit generate ltl data/test --symbols 10 --size 10000 --seed 7 \
        --exclude data/train

No formula is a renaming of another, nor of one in the files of ``--exclude``. As many as there
are of a length, up to its share, are among the data; what short lengths lack is shared by the
others. With ``--distinct-symbols`` only lengths in which so many symbols have room are among
the data, and formulas are drawn from the distribution of ``randltl`` under the condition that
they have so many different symbols; what Spot would rewrite to a shorter one is left out (see
``sit generate grid``).

    sit generate ltl data/all --operators 'F G X U W R M ! & | -> <-> xor' --labels depth-first
    sit generate ltl data/written --written --symbols 16 --max-length 48 --labels depth-first

have other formulas: random ones over the given operators, as many of each length, left as they are
drawn; or formulas as people write them (:mod:`sit_fairseq.datasets.written`), of any length.

The data of a seed depend neither on the number of workers nor on interruptions, as long
as no formula comes close to the time-out or to the memory a worker may use.
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
from sit_fairseq.datasets.ltl import LtlRecipe, generate_ltl
from sit_fairseq.datasets.names import parse_symbols
from sit_fairseq.logic.syntax import ARITY


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    add = parser.add_argument
    add("out_prefix", metavar="OUT_PREFIX", help="write OUT_PREFIX.src, .tgt and .timeouts")
    add_sampling_options(parser)
    add(
        "--timeout",
        type=float,
        default=120.0,
        help="seconds for the label of a formula (default: %(default)s)",
    )
    add_distinct_option(parser)
    add_form_options(parser, tuple(ARITY))
    add_exclude_option(parser)
    add(
        "--labels",
        choices=["spot", "depth-first"],
        default="spot",
        help="accepting run of Spot's automaton, the rule of LTLRandom35 (default), or the trace "
        "that a walk through the formula finds first, which is learnt faster (Spot's where a short "
        "walk finds none, one in some thousand)",
    )
    add("--resume", action="store_true", help="go on where a run was interrupted, if one was")


def main(args: argparse.Namespace) -> None:
    """Generates the data.

    Raises:
        UserError: an option or a file cannot be used.
    """
    symbols = parse_symbols(args.symbols, least=0)
    check_sampling_options(args)
    distinct = parse_distinct_in_formulas(args, len(symbols), least=0)
    recipe = LtlRecipe(
        symbols,
        args.min_length,
        args.max_length,
        args.size,
        args.seed,
        args.timeout,
        args.exclude,
        args.distinct_symbols,
        args.labels,
        parse_operators(args, tuple(ARITY)),
        args.written,
    )
    drawn = generate_ltl(recipe, distinct, args.out_prefix, args.workers, args.resume)
    skipped = drawn.skipped
    print(
        f"{args.size} samples in {args.out_prefix}.src and .tgt; "
        f"{skipped['timeout']} time-outs and {skipped['error']} crashes of Spot in "
        f"{args.out_prefix}.timeouts; dropped {skipped['duplicates']} duplicates, "
        f"{skipped['excluded']} excluded and {skipped['unsatisfiable']} unsatisfiable formulas, "
        f"and {skipped['zero_in_trace']} with a 0 in the trace; "
        f"{length_summary(drawn.lengths)}"
    )
