"""Generates nested applications with their A-normal form, in which inner ones have names.

    sit generate binding data/train --variables 1-4 --binders 0-3
    sit generate binding data/more --variables 5-10 --binders 4-6 --exclude data/train

writes ``data/train.src`` (``f ( g ( a , b ) , h ( a ) )``) and ``data/train.tgt`` (``let x = g a b
; let y = h a ; f x y``). Binders are symbols that the term lacks; they get the first names of
``--symbols`` that are left. Variables are drawn among all of them. No term is a renaming of
another, nor of one in the files of ``--exclude``.
"""

import argparse

from sit_fairseq.commands._options import at_least
from sit_fairseq.commands._types import names, range_from
from sit_fairseq.commands.generate._options import add_options, recipe, report
from sit_fairseq.datasets.toy_languages import BindingRecipe, generate_binding


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    parser.add_argument("out_prefix", help="write OUT_PREFIX.src and OUT_PREFIX.tgt")
    add = parser.add_argument
    names_help = "names of variables and binders (default: %(default)s)"
    add(
        "--symbols",
        type=names,
        default="a,b,c,d,e,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z",
        help=names_help,
    )
    variables_help = "number of different variables of a term (default: %(default)s)"
    add("--variables", type=range_from(1), default="1-4", help=variables_help)
    binders_help = "number of inner applications of a term (default: %(default)s)"
    add("--binders", type=range_from(0), default="0-3", help=binders_help)
    arguments_help = "most arguments of an application (default: %(default)s)"
    add("--arguments", type=at_least(1), default=3, help=arguments_help)
    add_options(parser, size=100000, seed=42, exclude=[])


def main(args: argparse.Namespace) -> None:
    """Generates the data.

    Raises:
        UserError: there are too few such terms, or a file cannot be used.
    """
    report(args, generate_binding(recipe(args, BindingRecipe)))
