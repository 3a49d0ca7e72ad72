"""What is said of answers that were judged, beside their verdicts."""

from typing import Optional, Sequence

import numpy

from sit_fairseq.judging.judge import Judge
from sit_fairseq.logic.syntax import MalformedFormula


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
