"""Judges answers: one verdict per line, in order, and their counts at the end.

    sit judge --semantics prop formulas.txt answers.txt
    sit judge --semantics ltl formulas.txt traces.txt
    sit judge --semantics copy strings.txt copies.txt
    sit judge --semantics exact references.txt answers.txt
    sit judge --semantics alpha problems.txt answers.txt --references right.txt --symbols '[a-z]'

With exact an answer is right if it equals its reference, and the references take the place of the
problems; with alpha, if it does up to the names of the symbols that its problem lacks. Exact and
copies get their mean edit distance, too, at the end of the last line. What it took goes to standard
error: answers per second, the start of the processes not included, and what a judge needs for half
and for 99 in 100 of the answers.
"""

import argparse
import sys
import time
from typing import List

from sit_fairseq.commands._options import add_judge
from sit_fairseq.errors import UserError
from sit_fairseq.judging.judge import Judge, make_judge
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.report import fault, speed
from sit_fairseq.judging.verdict import Verdict, VerdictCounts
from sit_fairseq.logic.syntax import read_sentences
from sit_fairseq.symbols.pattern import SymbolPattern


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    add = parser.add_argument
    add("formulas", metavar="FORMULAS", help="problems (exact: references), one per line")
    add("answers", metavar="ANSWERS", help="an answer to each, one per line")
    add_judge(parser)
    add("--references", metavar="FILE", help="alpha: a right answer to each")
    add("--symbols", metavar="REGEX", help="alpha: matches the interchangeable tokens in full")
    add(
        "--memory",
        type=float,
        default=4.0,
        help="GiB for each process; an answer that takes more is an error (default: %(default)s)",
    )
    add(
        "--workers",
        type=int,
        default=2,
        help="processes; 0 judges in this one, without limits (default: %(default)s)",
    )


def main(args: argparse.Namespace) -> None:
    """Prints the verdicts.

    Raises:
        UserError: an option or a file cannot be used; or, at the end, a formula is malformed.
    """
    if args.timeout <= 0 or args.workers < 0:
        raise UserError(
            f"--timeout {args.timeout} --workers {args.workers}: "
            "the time-out must be positive and the number of workers not negative."
        )
    if args.memory <= 0:
        raise UserError(f"--memory {args.memory}: it must be positive.")
    judge = make_judge(args.semantics, args.judge)
    formulas, answers = read_sentences(args.formulas), read_sentences(args.answers)
    if len(formulas) != len(answers):
        raise UserError(
            f"{args.formulas} has {len(formulas)} lines but {args.answers} has {len(answers)}: "
            "give one answer, possibly empty, for each formula."
        )
    formulas = _judged_against(args, judge, formulas)
    counts = VerdictCounts()
    complaint = None
    judging: List[float] = []
    entered = time.monotonic()
    with JudgePool(judge, args.workers, args.timeout, args.memory) as pool:
        pool.start()
        started = time.monotonic()
        judged = pool.imap_timed(zip(formulas, answers))
        for number, (formula, (verdict, seconds)) in enumerate(zip(formulas, judged), start=1):
            print(verdict.value)
            counts[verdict] += 1
            judging.append(seconds)
            if verdict is Verdict.error and complaint is None:
                reason = fault(judge, formula)
                if reason is not None:
                    complaint = f"Line {number} of {args.formulas} is malformed: {reason}."
        elapsed = time.monotonic() - started
    for formula, answer in zip(formulas, answers):
        counts.add_distance(judge.distance(formula, answer))
    print(counts)
    print(speed(judging, elapsed, started - entered), file=sys.stderr)
    if complaint is not None:
        raise UserError(complaint)


def _judged_against(args: argparse.Namespace, judge: Judge, problems: List[str]) -> List[str]:
    """What the judge compares answers with, where that is not the problems alone.

    Raises:
        UserError: an option is missing, superfluous or of no use.
    """
    if args.semantics != "alpha":
        if args.references is not None or args.symbols is not None:
            raise UserError("--references and --symbols are for --semantics alpha; leave them out.")
        return problems
    if args.references is None or args.symbols is None:
        raise UserError("--semantics alpha needs --references FILE and --symbols REGEX.")
    references = read_sentences(args.references)
    if len(references) != len(problems):
        raise UserError(
            f"{args.formulas} has {len(problems)} lines but {args.references} has "
            f"{len(references)}: give one reference for each problem."
        )
    judge.symbols = SymbolPattern(args.symbols).text
    return judge.problems(problems, references)
