"""Judges answers: prints one verdict per line, in order, and their counts at the end.

    python scripts/judge.py --semantics prop formulas.txt answers.txt
    python scripts/judge.py --semantics ltl formulas.txt traces.txt
    python scripts/judge.py --semantics copy strings.txt copies.txt

Copies get their mean edit distance, too, at the end of the last line.
What it took goes to standard error: answers per second, the start of the processes not
included, and what a judge needs for half and for 99 in 100 of the answers.
"""

import argparse
import sys
import time
from typing import List, Optional, Sequence

import numpy

from sit_fairseq.errors import UserError
from sit_fairseq.judging.judge import JUDGES, Judge, make_judge
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict, VerdictCounts
from sit_fairseq.logic.syntax import MalformedFormula, read_sentences


def fault(judge: Judge, formula: str) -> Optional[str]:
    """Says what is wrong with a formula.

    Args:
        judge: the judge to ask.
        formula: the formula.

    Returns:
        The reason it cannot be read, None if it can.
    """
    try:
        judge.check(formula)
    except MalformedFormula as error:
        return str(error)
    return None


def speed(judging: Sequence[float], seconds: float, start: float) -> str:
    """Says how long judging took.

    Args:
        judging: the seconds that the judge worked on each answer.
        seconds: all in all, from the first answer on.
        start: the seconds before that, until every process was ready.

    Returns:
        One line.
    """
    text = f"{len(judging)} answers in {seconds:.2f} s"
    if judging:
        median, slow = 1000 * numpy.percentile(judging, [50, 99])
        text += (
            f": {len(judging) / seconds:.0f} per second; judging one took p50 {median:.3g} ms, "
            f"p99 {slow:.3g} ms"
        )
    return f"{text}; the start of {start:.2f} s is not included"


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    """Reads the command line."""
    choices = "; ".join(f"{semantics}: {', '.join(names)}" for semantics, names in JUDGES.items())
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("formulas", metavar="FORMULAS", help="problems, one per line")
    add("answers", metavar="ANSWERS", help="an answer to each, one per line")
    add("--semantics", required=True, help=f"what they mean ({', '.join(JUDGES)})")
    add("--judge", help=f"who decides, by default the first ({choices})")
    add("--timeout", type=float, default=30.0, help="seconds per answer (default: %(default)s)")
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
    return parser.parse_args(argv)


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Runs the script.

    Args:
        argv: the command line, without the program's name; None for the real one.

    Returns:
        The exit status: 1 if a formula was malformed, else 0.

    Raises:
        UserError: an option or a file cannot be used.
    """
    args = parse_args(argv)
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
    if complaint is None:
        return 0
    print(complaint, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
