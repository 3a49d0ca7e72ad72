"""Right answers: all, by size, by cell (section 5.4 of the paper), and among the first n.

The paper decodes anew with a beam of n (appendix "Top-N Accuracy"); here the beam is as wide as the
largest n, and the others are read off its ranking.
"""

from statistics import fmean
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from sit_fairseq.datasets.grid import Cell
from sit_fairseq.domains.by_name import domain_of
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.judging.judge import Judge, Problem
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.symbols.pattern import SymbolPattern


def symbols_of(judge: Judge, symbols: Optional[str]) -> Optional[SymbolPattern]:
    """The pattern of the symbols that are counted: the one given, or else that of the domain."""
    domain = domain_of(judge)
    symbols = symbols or (None if domain is None else domain.symbols)
    return None if symbols is None else SymbolPattern(symbols)


def measure_correct(
    judge: Judge,
    problems: Sequence[Problem],
    answers: Sequence[str],
    verdicts: Sequence[Verdict],
    by: str = "symbols",
    pattern: Optional[SymbolPattern] = None,
) -> Dict[str, Any]:
    """Counts right answers, and answers that equal their reference.

    Problems have references. ``by`` is ``symbols``, for their number of different symbols by a
    ``pattern``, or ``length``, for their number of tokens.

    Returns:
        The counts of all ``verdicts``; out of all sentences the proportions ``correct``, ``exact``
        and, where the order of something means nothing, ``exact_modulo_order``;
        ``correct_by_symbols`` where they are known, or ``correct_by_length``;
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
    sizes = [problem.split() for problem in problems]
    if by == "symbols":
        sizes = [] if pattern is None else list(map(pattern.symbols, sizes))
    if sizes:
        numbers = list(map(len, sizes))
        result[f"correct_by_{by}"] = {
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
    for by, unit in (("symbols", "symbol"), ("length", "token")):
        for number, share in result.get(f"correct_by_{by}", {}).items():
            name = f"correct of those with {number} {unit}{'s' * (number != '1')}"
            rows.append([name, f"{share.count} of {share.total}", share])
    if "mean_edit_distance" in result:
        rows.append(["mean edit distance", "", f"{result['mean_edit_distance']:.3f}"])
    for verdict, count in result["verdicts"].items():
        if count:
            rows.append([verdict, count, Proportion(count, total)])
    return rows


class Box(NamedTuple):
    """The most symbols and tokens of the training data."""

    symbols: int
    length: int


def measure_heat_map(
    cells: Sequence[Cell], verdicts: Sequence[Verdict], box: Box
) -> Dict[str, Any]:
    """Counts right answers in each cell of a grid, of the verdicts on its lines: the cells, the box,
    and the proportions ``overall``, ``inside_box`` and ``outside_box`` of right answers."""
    found, inside = [], []
    for cell in cells:
        right = verdicts[cell.first : cell.first + cell.count].count(Verdict.satisfied)
        sizes = {"symbols": cell.symbols, "length": cell.length}
        found.append({**sizes, "count": cell.count, "correct": right})
        inside.append(cell.symbols <= box.symbols and cell.length <= box.length)
    return {
        "overall": _total(found),
        "inside_box": _total([cell for cell, within in zip(found, inside) if within]),
        "outside_box": _total([cell for cell, within in zip(found, inside) if not within]),
        "box": box._asdict(),
        "cells": found,
    }


def _total(cells: Sequence[Dict[str, int]]) -> Proportion:
    return Proportion(sum(c["correct"] for c in cells), sum(c["count"] for c in cells))


def heat_map_table(result: Dict[str, Any]) -> List[List[Any]]:
    """The rows of a table for people: one for each number of symbols, then the totals."""
    rows = [["symbols", "sentences", "correct and 95 % interval"]]
    for symbols in sorted({cell["symbols"] for cell in result["cells"]}):
        own = _total([cell for cell in result["cells"] if cell["symbols"] == symbols])
        rows.append([symbols, own.total, own])
    for name in ("inside_box", "outside_box", "overall"):
        rows.append([name.replace("_", " "), result[name].total, result[name]])
    return rows


def top_n_table(result: Mapping[str, Any]) -> List[List[Any]]:
    """The rows of a table for people, of the share or the heat map of each n."""
    if all(isinstance(found, Proportion) for found in result.values()):
        rows = [["first n", "sentences", "share and 95 % interval"]]
        return rows + [[n, found.total, found] for n, found in result.items()]
    parts = ("inside_box", "outside_box", "overall")
    rows = [["first n", "sentences", *(part.replace("_", " ") for part in parts)]]
    for n, found in result.items():
        rows.append([n, found["overall"].total, *(found[part] for part in parts)])
    return rows


def measure_top_n(
    verdicts: Sequence[Sequence[Verdict]],
    ns: Sequence[int],
    cells: Optional[Sequence[Cell]] = None,
    box: Optional[Box] = None,
) -> Dict[str, Any]:
    """For each n the share of sentences with a right answer among the first n or, with ``cells`` and
    ``box``, their :func:`measure_heat_map`; of verdicts on answers to each sentence, best first."""
    right = Verdict.satisfied
    best = {
        str(n): [right if right in ranked[:n] else ranked[0] for ranked in verdicts] for n in ns
    }
    if cells is None:
        return {n: _correct(found) for n, found in best.items()}
    return {n: measure_heat_map(cells, found, box) for n, found in best.items()}
