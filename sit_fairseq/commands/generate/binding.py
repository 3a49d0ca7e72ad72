"""Generates nested applications with their A-normal form, in which inner ones have names.

    sit generate binding data/train --variables 1-4 --binders 0-3
    sit generate binding data/more --variables 5-10 --binders 4-6 --exclude data/train

writes ``data/train.src`` (``f ( g ( a , b ) , h ( a ) )``) and ``data/train.tgt`` (``let x = g a b
; let y = h a ; f x y``). Binders are symbols that the term lacks; they get the first names of
``--symbols`` that are left. Variables are drawn among all of them. No term is a renaming of
another, nor of one in the files of ``--exclude``.
"""

import argparse

from sit_fairseq.commands.generate._options import add_exclude_option, parse_range
from sit_fairseq.datasets.binding import BindingRecipe, generate_binding
from sit_fairseq.datasets.drawing import length_summary
from sit_fairseq.datasets.names import parse_names


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    add = parser.add_argument
    add("out_prefix", metavar="OUT_PREFIX", help="write OUT_PREFIX.src and OUT_PREFIX.tgt")
    add(
        "--symbols",
        default="a,b,c,d,e,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z",
        help="names of variables and binders (default: %(default)s)",
    )
    add("--variables", default="1-4", help="different ones of a term (default: %(default)s)")
    add("--binders", default="0-3", help="inner applications of a term (default: %(default)s)")
    add("--arguments", type=int, default=3, help="most of an application (default: %(default)s)")
    add("--size", type=int, default=100000, help="number of terms (default: %(default)s)")
    add("--seed", type=int, default=42, help="(default: %(default)s)")
    add_exclude_option(parser)


def main(args: argparse.Namespace) -> None:
    """Generates the data.

    Raises:
        UserError: an option or a file cannot be used.
    """
    recipe = BindingRecipe(
        names=tuple(parse_names(args.symbols)),
        variables=parse_range(args.variables, "--variables", 1),
        binders=parse_range(args.binders, "--binders", 0),
        arguments=args.arguments,
        seed=args.seed,
    )
    drawn = generate_binding(recipe, args.size, args.exclude, args.out_prefix)
    print(
        f"{args.size} terms in {args.out_prefix}.src and .tgt; dropped "
        f"{drawn.skipped['duplicates']} duplicates and {drawn.skipped['excluded']} excluded "
        f"terms; {length_summary(drawn.lengths)}"
    )
