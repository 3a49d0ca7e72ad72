"""Judges answers: one verdict per line, in order, and their counts at the end.

    sit judge prop formulas.txt answers.txt
    sit judge ltl formulas.txt traces.txt
    sit judge copying strings.txt copies.txt
    sit judge exact references.txt answers.txt
    sit judge alpha problems.txt answers.txt --references right.txt --symbols '[a-z]'
    sit judge my.module:MyJudge problems.txt answers.txt

NAME is a domain, exact, alpha, or a domain or judge of your own. By exact an answer is right if it
equals its reference; give references in place of problems. By alpha an answer is right if it equals
its reference up to the names of symbols that its problem lacks. Your judge gets references if it
has ``on_references = True``, and may get the symbols. The last line ends with the mean edit distance
of exact and copying. Standard error gets the time of judging.

``--constrained`` also lists answers that a grammar refuses. A search with this grammar cannot write
them.
"""

import argparse
import sys
import time
from contextlib import closing
from typing import Iterator, List, Optional, Sequence

from sit_fairseq.commands._options import add_pattern, at_least
from sit_fairseq.domains import find, names
from sit_fairseq.domains.by_name import SEMANTICS, domain_named, make_grammar, make_judge
from sit_fairseq.errors import MalformedFormula, UserError
from sit_fairseq.judging.judge import Judge, Problem
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict, VerdictCounts
from sit_fairseq.search.grammar import Grammar, refusal
from sit_fairseq.storage.files import read_sentences
from sit_fairseq.symbols.pattern import SymbolPattern

_SHOWN = 5  # answers that a grammar refuses


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    help_ = f"what sentences mean: {', '.join(SEMANTICS)}, or MODULE:OBJECT, your own"
    add("semantics", metavar="NAME", help=help_)
    add("formulas", metavar="FORMULAS", help="file of problems (exact: references), one per line")
    add("answers", metavar="ANSWERS", help="file of answers, one per line")
    choices = "; ".join(f"{one.name}: {', '.join(one.judges)}" for one in map(find, names()))
    add("--judge", help=f"the judge, by default the first ({choices})")
    seconds = at_least(0.001, float)
    add("--timeout", type=seconds, default=30.0, help="seconds per answer (default: %(default)s)")
    add("--references", metavar="FILE", help="file of right answers (alpha, own judges)")
    add_pattern(parser, "alpha, own judges and grammars: matches the interchangeable tokens")
    help_ = "say which answers a grammar refuses: of a domain, or MODULE:CLASS, one of your own"
    add("--constrained", metavar="GRAMMAR", help=help_)
    help_ = "GiB of each process; a judge that needs more gives an error (default: %(default)s)"
    add("--memory", type=at_least(0.1, float), default=4.0, help=help_)
    help_ = "processes; 0 judges in this one, without limits (default: %(default)s)"
    add("--workers", type=at_least(0), default=2, help=help_)


def main(args: argparse.Namespace) -> None:
    judge, sources = make_judge(args.semantics, args.judge), read_sentences(args.formulas)
    grammar = None if args.constrained is None else make_grammar(args.constrained)
    own = None if grammar is None else args.symbols or _symbols(args.constrained)
    if grammar is not None and own is None:
        raise UserError("a grammar without a domain needs --symbols.")
    if grammar is not None and args.semantics == "exact":
        raise UserError("exact has no problems for a grammar; choose another.")
    problems, answers = _problems(args, judge, sources), _lines(args.answers, args, sources)
    counts, seconds = VerdictCounts(), []
    started = time.monotonic()
    with JudgePool(judge, args.workers, args.timeout, args.memory) as pool:
        with closing(pool.imap_timed(zip(problems, answers))) as judged:
            for verdict, needed in judged:
                print(verdict.value)
                counts[verdict] += 1
                seconds.append(needed)
    elapsed = time.monotonic() - started
    for problem, answer in zip(problems, answers):
        counts.add_distance(judge.distance(problem, answer))
    print(counts, flush=True)
    if grammar is not None:
        for line in _refusals(grammar, own, args, sources, answers):
            print(line, flush=True)
    print(_speed(seconds, elapsed), file=sys.stderr)
    for number, problem in enumerate(problems if counts[Verdict.error] else (), start=1):
        try:
            judge.check(problem)
        except MalformedFormula as error:
            raise UserError(f"Line {number} of {args.formulas} is malformed: {error}.")


def _symbols(name: str) -> Optional[str]:
    """The pattern of a domain's symbols; None if the name is of none."""
    domain = domain_named(name)
    return None if domain is None else domain.symbols


def _refusals(
    grammar: Grammar,
    symbols: str,
    args: argparse.Namespace,
    sources: Sequence[str],
    answers: Sequence[str],
) -> Iterator[str]:
    """Says how many answers a grammar refuses, and names the first one."""
    refusals = []
    for number, (source, answer) in enumerate(zip(sources, answers), start=1):
        try:
            what = refusal(grammar, SymbolPattern(symbols), source, answer)
        except Exception as error:  # whatever their code raises
            place = f"line {number} ({type(error).__name__}: {error})"
            raise UserError(f"{args.constrained} fails on {place}; mend it")
        if what is not None:
            refusals.append(f"Line {number}: {args.constrained} refuses {what}: {answer[:80]}")
    yield f"{args.constrained} refuses {len(refusals)} of {len(answers)} answers"
    yield from refusals[:_SHOWN]


def _lines(path: str, args: argparse.Namespace, sources: Sequence[str]) -> List[str]:
    """Reads a file that must have a line for each problem."""
    lines = read_sentences(path)
    if len(lines) != len(sources):
        counts = f"{args.formulas} has {len(sources)} lines but {path} has {len(lines)}"
        raise UserError(f"{counts}: give one, possibly empty, for each problem.")
    return lines


def _problems(args: argparse.Namespace, judge: Judge, sources: Sequence[str]) -> List[Problem]:
    """The problems that the answers are judged against."""
    semantics = args.semantics
    compares = judge.on_references and semantics != "exact"
    named = semantics == "alpha" or ":" in semantics or args.constrained is not None
    uses = (("references", compares, compares), ("symbols", named, semantics == "alpha"))
    for name, taken, needed in uses:
        given = getattr(args, name) is not None
        if given and not taken:
            raise UserError(f"{semantics} has no use for --{name}; leave it out.")
        if needed and not given:
            raise UserError(f"{semantics} needs --{name}.")
    references = _lines(args.references, args, sources) if compares else sources
    symbols = args.symbols or _symbols(semantics)
    pattern = None if symbols is None else SymbolPattern(symbols).text
    return judge.problems(sources, references if judge.on_references else None, pattern)


def _speed(seconds: Sequence[float], elapsed: float) -> str:
    """Says how long judging took: of each answer, and all in all."""
    text = f"{len(seconds)} answers in {elapsed:.2f} s"
    if not seconds:
        return text
    ordered, speed = sorted(seconds), f"{len(seconds) / elapsed:.0f} per second"
    median, slow = (1000 * ordered[int(share * (len(ordered) - 1))] for share in (0.5, 0.99))
    return f"{text}: {speed}; judging one took p50 {median:.3g} ms, p99 {slow:.3g} ms"
