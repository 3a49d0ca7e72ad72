"""Correct and exact answers (the first two columns of numbers in the paper's Table 1)."""

from typing import Any, Dict, List, Sequence

from sit_fairseq.evaluation.exact_match import EXACT_MODULO_ORDER, exact
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.judging.judge import Judge
from sit_fairseq.judging.verdict import Verdict, VerdictCounts


def measure_correct(
    judge: Judge,
    sources: Sequence[str],
    targets: Sequence[str],
    answers: Sequence[str],
    verdicts: Sequence[Verdict],
) -> Dict[str, Any]:
    """Counts right answers, and answers that equal their reference.

    Args:
        judge: what gave the verdicts; it may know distances too.
        sources: the problems.
        targets: a reference for each.
        answers: the best answer to each.
        verdicts: of these answers.

    Returns:
        The counts of all verdicts and the proportions ``correct``, ``exact`` and, where the
        order of something means nothing, ``exact_modulo_order``, all out of all sentences;
        ``mean_edit_distance`` where there is one right answer only.
    """
    counts = VerdictCounts(verdicts)
    total = len(answers)
    result: Dict[str, Any] = {
        "verdicts": {verdict.value: counts[verdict] for verdict in Verdict},
        "correct": Proportion(counts.correct, total),
        "exact": Proportion(sum(map(exact, answers, targets)), total),
    }
    rule = EXACT_MODULO_ORDER.get(judge.semantics)
    if rule is not None:
        result["exact_modulo_order"] = Proportion(sum(map(rule, answers, targets)), total)
    distances = [judge.distance(source, answer) for source, answer in zip(sources, answers)]
    known = [distance for distance in distances if distance is not None]
    if known:
        result["mean_edit_distance"] = sum(known) / len(known)
    return result


def correct_table(result: Dict[str, Any]) -> List[List[Any]]:
    """The rows of a table for people."""
    rows = [["", "sentences", "share and 95 % interval"]]
    for name in ("correct", "exact", "exact_modulo_order"):
        if name in result:
            rows.append([name.replace("_", " "), result[name].count, result[name]])
    if "mean_edit_distance" in result:
        rows.append(["mean edit distance", "", f"{result['mean_edit_distance']:.3f}"])
    for verdict, count in result["verdicts"].items():
        rows.append([verdict, count, Proportion(count, result["correct"].total)])
    return rows
