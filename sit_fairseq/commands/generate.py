"""Makes data of a domain at random: problems with their answers.

    sit generate ltl data/train --symbols 5
    sit generate prop data/test --symbols 10 --size 10000 --seed 7 --exclude data/train
    sit generate my.module:DOMAIN data/train
    sit generate ltl data/people --held-out
    sit generate my.module:DOMAIN --show 3
    sit generate my.module:DOMAIN --check

OUT_PREFIX.src gets the problems and OUT_PREFIX.tgt their answers, one a line. No problem is a
renaming of another, nor of a problem in the files of ``--exclude``. A seed gives the same data with
any number of workers, interrupted or not. In domains with a ``--timeout`` the same command goes on
after an interruption, and OUT_PREFIX.timeouts lists the problems that took too long.

``--held-out`` writes test sets of problems that people wrote: SET.src in the folder OUT_PREFIX for
each set of the domain. Keep them out of training data by ``--exclude OUT_PREFIX/*.src``.

``--show`` prints some problems with their answers. ``--check`` draws 20, has the judge of the domain
judge each answer and its grammar read it, and says what does not fit. Both write no file.
"""

import argparse
import inspect
import os
from dataclasses import fields
from typing import Sequence

from sit_fairseq.datasets.generation import generate, samples
from sit_fairseq.datasets.options import add_options, at_least, default_of, from_options
from sit_fairseq.datasets.pair_files import Pair
from sit_fairseq.domains import Domain, find, names
from sit_fairseq.errors import UserError, excerpt
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.search.grammar import refusal
from sit_fairseq.storage.files import replacing
from sit_fairseq.symbols.pattern import SymbolPattern

_CHECKED = 20  # problems


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    help_ = f"a domain: {', '.join(names())}, or MODULE:OBJECT, your own"
    add("domain", metavar="NAME", help=help_).completer = lambda **_: names()
    help_ = "write OUT_PREFIX.src and OUT_PREFIX.tgt"
    add("out_prefix", metavar="OUT_PREFIX", nargs="?", help=help_)
    instead = parser.add_mutually_exclusive_group()
    help_ = "print N problems with their answers instead"
    instead.add_argument("--show", type=at_least(1), metavar="N", help=help_)
    help_ = "try the domain on 20 problems: its labels, judge and grammar"
    instead.add_argument("--check", action="store_true", help=help_)
    help_ = "write the test sets of problems that people wrote, into a folder"
    instead.add_argument("--held-out", action="store_true", help=help_)
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
    if bool(args.show or args.check) == (args.out_prefix is not None):
        raise UserError("name OUT_PREFIX, for data, or give --show or --check without it")
    if args.show or args.check:
        args.size = args.show or _CHECKED
        pairs = samples(domain, from_options(domain.recipe, args))
        for source, target in pairs if args.show else ():
            print(f"problem: {source}\nanswer:  {target}")
        if args.check:
            print(_checked(domain, pairs))
        return
    if args.held_out:
        _write_held_out(domain, args)
        return
    left_out = generate(domain, from_options(domain.recipe, args), args.out_prefix)
    reasons = ", ".join(f"{number} {reason}" for reason, number in left_out.items())
    print(f"{args.size} samples in {args.out_prefix}.src and .tgt; left out: {reasons}")


def _checked(domain: Domain, pairs: Sequence[Pair]) -> str:
    """Says that all fits; a UserError names the first problem where something does not."""
    judge, pattern = domain.judge(), SymbolPattern(domain.symbols)
    grammar = None if domain.grammar is None else domain.grammar()
    for source, target in pairs:
        what = f"on the problem {excerpt(source)} with the answer {excerpt(target)}"
        try:
            judge.check(source)
            (problem,) = judge.problems([source], [target], pattern.text)
            verdict = judge.verify(problem, target)
            refused = grammar and refusal(grammar, pattern, source, target)
        except Exception as error:  # whatever their code raises
            kind = type(error).__name__
            raise UserError(f"{domain.name} fails {what} ({kind}: {error}); mend it")
        if verdict is not Verdict.satisfied:
            raise UserError(f"the judge says {verdict.value} {what}; mend {domain.name}")
        if refused:
            raise UserError(f"the grammar refuses {refused}, {what}; mend {domain.name}")
    both = "judge" if grammar is None else "judge and its grammar"
    return f"{domain.versioned}: {len(pairs)} problems drawn and answered, each answer accepted by its {both}"


def _write_held_out(domain: Domain, args: argparse.Namespace) -> None:
    if domain.held_out is None:
        raise UserError(f"the domain {args.domain} has no sets that people wrote", "held_out")
    for one in fields(domain.recipe) if domain.recipe else ():
        if getattr(args, one.name, default_of(one)) != default_of(one):
            raise UserError("held-out sets are fixed, not drawn", f"{one.name} held_out")
    sets = domain.held_out()
    paths = [os.path.join(args.out_prefix, f"{name}.src") for name in sets]
    with replacing(*paths) as files:
        for file, path, problems in zip(files, paths, sets.values()):
            file.writelines(f"{problem}\n" for problem in problems)
            print(f"{path}: {len(problems)} problems")
