"""Pairs that a model finds itself and a judge accepts, from formulas without labels."""

from collections import Counter
from typing import Any, Dict, List, Optional, Sequence, Tuple

from sit_fairseq.datasets.pair_files import source_file, write_pairs
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.evaluation.run import EvaluationRun
from sit_fairseq.evaluation.settings import Checkpoint, Judging
from sit_fairseq.judging.judge import Judge
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.logic.syntax import MalformedFormula, read_sentences, tokenize

# Lengths that share a column of the table.
_BAND = 10

# Lines named where some cannot be answered.
_NAMED = 20


def measure_harvest(sizes: Sequence[Tuple[int, int]], found: Sequence[bool]) -> Dict[str, Any]:
    """Counts formulas with a verified answer.

    Args:
        sizes: number of symbols and length of each formula.
        found: whether it has one.

    Returns:
        The proportion ``verified`` of all, and the counts of each number of symbols and length.
    """
    count, verified = Counter(sizes), Counter(size for size, ok in zip(sizes, found) if ok)
    cells = [
        {"symbols": k, "length": n, "count": count[k, n], "verified": verified[k, n]}
        for k, n in sorted(count)
    ]
    return {"verified": Proportion(sum(found), len(found)), "cells": cells}


def harvest_table(result: Dict[str, Any]) -> List[List[Any]]:
    """The rows of a table for people: numbers of symbols by bands of lengths.

    Args:
        result: of :func:`measure_harvest`.

    Returns:
        The cells, the head first.
    """
    tried, verified = Counter(), Counter()
    for cell in result["cells"]:
        for k in (cell["symbols"], "all"):
            for band in ((cell["length"] - 1) // _BAND, "all"):
                tried[k, band] += cell["count"]
                verified[k, band] += cell["verified"]
    bands = sorted({band for _, band in tried if band != "all"})
    numbers = sorted({k for k, _ in tried if k != "all"})
    head = [f"{band * _BAND + 1} to {(band + 1) * _BAND} tokens" for band in bands]
    rows: List[List[Any]] = [["symbols", *head, "all", "share and 95 % interval"]]
    for k in (*numbers, "all"):
        cells = [f"{verified[k, b]} of {tried[k, b]}" for b in (*bands, "all")]
        rows.append([k, *cells, Proportion(verified[k, "all"], tried[k, "all"])])
    return rows


def _refused(lines: Sequence[str], judge: Judge, decoder: Any) -> Dict[int, str]:
    """Why lines cannot be answered or judged, by their number from 1."""

    def fault(line: str) -> Optional[str]:
        try:
            judge.check(line)
        except MalformedFormula as error:
            return str(error)
        return decoder.refusal(line)

    reasons = ((n, fault(line)) for n, line in enumerate(lines, 1))
    return {number: reason for number, reason in reasons if reason is not None}


def _complaint(path: str, lines: int, refused: Dict[int, str]) -> UserError:
    """Names the lines that were refused, the first ones if they are many."""
    named = ", ".join(map(str, list(refused)[:_NAMED]))
    more = ", ..." if len(refused) > _NAMED else ""
    number, reason = next(iter(refused.items()))
    others = ", all others were" if len(refused) < lines else ""
    return UserError(
        f"{len(refused)} of {lines} lines of {path} cannot be answered and judged{others}: lines "
        f"{named}{more} (line {number}: {reason})."
    )


def harvest(
    run: EvaluationRun, formulas: str, out: str, checkpoint: Checkpoint, judging: Judging
) -> None:
    """Writes the pairs that a model finds and a judge accepts.

    Args:
        run: writes the result file and prints the table.
        formulas: a file with one formula a line, or the prefix of a data set.
        out: the pairs go to ``out.src`` and ``out.tgt``.
        checkpoint: the model, with options that verify.
        judging: who confirms each answer once more.

    Raises:
        UserError: a file or an option cannot be used; or, when all is written, formulas could not
            be read.
    """
    path = source_file(formulas)
    lines = read_sentences(path)
    run.uses_file(path)
    with judging.open(run) as judges:
        decoder = checkpoint.load(run)
        refused = _refused(lines, judges.judge, decoder)
        if refused and len(refused) == len(lines):
            raise _complaint(path, len(lines), refused)
        sources = [line for number, line in enumerate(lines, 1) if number not in refused]
        answered = run.answer(decoder, sources, judges)
    found = [entry.verdicts[0] is Verdict.satisfied for entry in answered]
    write_pairs(
        out,
        (
            (source, entry.answers[0])
            for source, entry, verified in zip(sources, answered, found)
            if verified
        ),
    )
    tokens = [tokenize(source) for source in sources]
    sizes = [(len(set(filter(decoder.is_symbol, words))), len(words)) for words in tokens]
    result = {**measure_harvest(sizes, found), "invalid": refused}
    run.finish(result, len(sources), harvest_table(result))
    if refused:
        raise _complaint(path, len(lines), refused)
