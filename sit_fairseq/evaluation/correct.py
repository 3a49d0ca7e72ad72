"""Correct and exact answers (the first two columns of numbers in the paper's Table 1)."""

from statistics import fmean
from typing import Any, Dict, List, Sequence

from sit_fairseq.domains.by_name import domain_of
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.judging.judge import Judge, Problem
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.symbols.pattern import SymbolPattern


def measure_correct(
    judge: Judge,
    problems: Sequence[Problem],
    answers: Sequence[str],
    verdicts: Sequence[Verdict],
) -> Dict[str, Any]:
    """Counts right answers, and answers that equal their reference.

    Args:
        judge: of the verdicts.
        problems: with references and one pattern of symbols, without which symbols are those of the
            judge's domain.
        answers: the best answer to each.
        verdicts: of these answers.

    Returns:
        The counts of all ``verdicts``; out of all sentences the proportions ``correct``, ``exact``
        and, where the order of something means nothing, ``exact_modulo_order``;
        ``correct_by_symbols`` by number of different symbols, where they are known;
        ``mean_edit_distance`` where the judge has one.
    """
    references = [problem.reference for problem in problems]
    total = len(answers)
    result: Dict[str, Any] = {
        "verdicts": {verdict.value: verdicts.count(verdict) for verdict in Verdict},
        "correct": _correct(verdicts),
        "exact": Proportion(
            sum(a.split() == r.split() for a, r in zip(answers, references)), total
        ),
    }
    domain = domain_of(judge)
    if domain is not None and domain.equal is not None:
        equal = sum(map(domain.equal, answers, references))
        result["exact_modulo_order"] = Proportion(equal, total)
    symbols = problems[0].symbols or (None if domain is None else domain.symbols)
    if symbols is not None:
        symbols_of = SymbolPattern(symbols).symbols
        numbers = [len(symbols_of(problem.split())) for problem in problems]
        result["correct_by_symbols"] = {
            str(number): _correct([v for n, v in zip(numbers, verdicts) if n == number])
            for number in sorted(set(numbers))
        }
    distances = [d for d in map(judge.distance, problems, answers) if d is not None]
    if distances:
        result["mean_edit_distance"] = fmean(distances)
    return result


def _correct(verdicts: Sequence[Verdict]) -> Proportion:
    return Proportion(verdicts.count(Verdict.satisfied), len(verdicts))


def correct_table(result: Dict[str, Any]) -> List[List[Any]]:
    """The rows of a table for people, the head first."""
    total = result["correct"].total
    rows = [["", "sentences", "share and 95 % interval"], ["all", total, ""]]
    for name in ("correct", "exact", "exact_modulo_order"):
        if name in result:
            rows.append([name.replace("_", " "), result[name].count, result[name]])
    for number, share in result.get("correct_by_symbols", {}).items():
        name = f"correct of those with {number} symbol{'s' * (number != '1')}"
        rows.append([name, f"{share.count} of {share.total}", share])
    if "mean_edit_distance" in result:
        rows.append(["mean edit distance", "", f"{result['mean_edit_distance']:.3f}"])
    for verdict, count in result["verdicts"].items():
        if count:
            rows.append([verdict, count, Proportion(count, total)])
    return rows
