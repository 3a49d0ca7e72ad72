"""Judges answers: prints one verdict per line, in order, and their counts at the end.

    python scripts/judge.py --semantics prop formulas.txt answers.txt
    python scripts/judge.py --semantics ltl formulas.txt traces.txt

What it took goes to standard error.
"""

import argparse
import sys
import time
from typing import Optional, Sequence

from sit_fairseq.errors import UserError
from sit_fairseq.logic.syntax import MalformedFormula, read_sentences
from sit_fairseq.validation.judge import JUDGES, Judge, make_judge
from sit_fairseq.validation.pool import JudgePool
from sit_fairseq.validation.verdict import Verdict, VerdictCounts


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
        "--workers",
        type=int,
        default=2,
        help="processes; 0 judges in this one, without time-outs (default: %(default)s)",
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
    judge = make_judge(args.semantics, args.judge)
    formulas, answers = read_sentences(args.formulas), read_sentences(args.answers)
    if len(formulas) != len(answers):
        raise UserError(
            f"{args.formulas} has {len(formulas)} lines but {args.answers} has {len(answers)}: "
            "give one answer, possibly empty, for each formula."
        )
    counts = VerdictCounts()
    complaint = None
    started = time.monotonic()
    with JudgePool(args.semantics, judge, args.workers, args.timeout) as pool:
        verdicts = pool.imap(zip(formulas, answers))
        for number, (formula, verdict) in enumerate(zip(formulas, verdicts), start=1):
            print(verdict.value)
            counts[verdict] += 1
            if verdict is Verdict.error and complaint is None:
                reason = fault(judge, formula)
                if reason is not None:
                    complaint = f"Line {number} of {args.formulas} is malformed: {reason}."
    print(counts)
    seconds = time.monotonic() - started
    print(
        f"{counts.total} answers in {seconds:.1f} s: {counts.total / seconds:.0f} per second, "
        "the start of the workers included",
        file=sys.stderr,
    )
    if complaint is None:
        return 0
    print(complaint, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
