"""Makes data of a domain at random: problems with their answers.

    sit generate ltl data/train --symbols 5
    sit generate prop data/test --symbols 10 --size 10000 --seed 7 --exclude data/train
    sit generate my.module:DOMAIN data/train
    sit generate ltl data/people --held-out

OUT_PREFIX.src gets the problems and OUT_PREFIX.tgt their answers, one a line. No problem is a
renaming of another, nor of a problem in the files of ``--exclude``. A seed gives the same data with
any number of workers, interrupted or not. In domains with a ``--timeout`` the same command goes on
after an interruption, and OUT_PREFIX.timeouts lists the problems that took too long.

``--held-out`` writes test sets of problems that people wrote: SET.src in the folder OUT_PREFIX for
each set of the domain. Keep them out of training data by ``--exclude OUT_PREFIX/*.src``.
"""

import argparse
import inspect
import os
from dataclasses import fields

from sit_fairseq.datasets.generation import generate
from sit_fairseq.datasets.options import add_options, default_of, from_options
from sit_fairseq.domains import Domain, find, names
from sit_fairseq.errors import UserError
from sit_fairseq.storage.files import replacing


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    help_ = f"a domain: {', '.join(names())}, or MODULE:OBJECT, your own"
    add("domain", metavar="NAME", help=help_).completer = lambda **_: names()
    add("out_prefix", metavar="OUT_PREFIX", help="write OUT_PREFIX.src and OUT_PREFIX.tgt")
    help_ = "write the test sets of problems that people wrote, into a folder"
    add("--held-out", action="store_true", help=help_)
    first = (*parser.words, "--help")[0]
    if first.startswith("-") and first not in ("-h", "--help", "--held-out"):
        raise UserError(
            "name the domain first, which has the options: sit generate NAME OUT_PREFIX"
        )
    if not first.startswith("-"):
        recipe = find(first, "domain").recipe
        if recipe is None and "--held-out" not in parser.words:
            raise UserError(f"the domain {first} draws no problems")
        if recipe is not None:
            parser.description = inspect.cleandoc(recipe.__doc__ or "")
            add_options(parser, recipe)


def main(args: argparse.Namespace) -> None:
    domain = find(args.domain, "domain")
    if args.held_out:
        _write_held_out(domain, args)
        return
    left_out = generate(domain, from_options(domain.recipe, args), args.out_prefix)
    reasons = ", ".join(f"{number} {reason}" for reason, number in left_out.items())
    print(f"{args.size} samples in {args.out_prefix}.src and .tgt; left out: {reasons}")


def _write_held_out(domain: Domain, args: argparse.Namespace) -> None:
    if domain.held_out is None:
        raise UserError(f"the domain {args.domain} has no sets that people wrote", "held_out")
    for one in fields(domain.recipe) if domain.recipe else ():
        if getattr(args, one.name) != default_of(one):
            raise UserError("held-out sets are fixed, not drawn", f"{one.name} held_out")
    sets = domain.held_out()
    paths = [os.path.join(args.out_prefix, f"{name}.src") for name in sets]
    with replacing(*paths) as files:
        for file, path, problems in zip(files, paths, sets.values()):
            file.writelines(f"{problem}\n" for problem in problems)
            print(f"{path}: {len(problems)} problems")
