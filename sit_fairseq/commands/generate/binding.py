"""Generates nested applications with their A-normal form, in which inner ones have names.

    sit generate binding data/train --variables 1-4 --binders 0-3
    sit generate binding data/more --variables 5-10 --binders 4-6 --exclude data/train

writes ``data/train.src`` (``f ( g ( a , b ) , h ( a ) )``) and ``data/train.tgt`` (``let c = g a b
; let d = h a ; f c d``). Binders are symbols that the term lacks; they get the first names of
``--symbols`` that are left. Variables are drawn among all of them. No term is a renaming of
another, nor of one in the files of ``--exclude``.
"""

import argparse

from sit_fairseq.commands.generate._options import add_options, recipe, report
from sit_fairseq.domains.copying.toy_languages import BindingRecipe, generate_binding


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("out_prefix", help="write OUT_PREFIX.src and OUT_PREFIX.tgt")
    names = "a,b,c,d,e,i,j,k,l,m,n,o,p,q,r,s,t,u,v,w,x,y,z"
    add_options(parser, named=True, symbols=names, variables="1-4", binders="0-3", arguments=3)
    add_options(parser, size=100000, seed=42, exclude=[])


def main(args: argparse.Namespace) -> None:
    report(args, generate_binding(recipe(args, BindingRecipe)))
