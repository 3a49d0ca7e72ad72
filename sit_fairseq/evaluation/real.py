"""Correct and verified answers to formulas that people wrote (:mod:`sit_fairseq.domains.formulas.held_out`)."""

from typing import Any, Dict, List, Mapping, Optional, Sequence

from sit_fairseq.domains.formulas.syntax import formula_symbols
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.decoding import ModelAnswerer
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.symbols.renaming import Renaming

# What is measured of each set: the first answer of the beam, and that of the verified search.
MEASURES = ("correct", "verified")

# The results of one model: set -> measure -> proportion.
Results = Dict[str, Dict[str, Proportion]]


def readable_sources(asked: ModelAnswerer, formulas: Sequence[str]) -> List[Optional[str]]:
    """What a model is asked for each formula, over names that it has; None if it has too few."""
    sources: List[Optional[str]] = []
    for formula in formulas:
        symbols = formula_symbols(formula.split())
        try:
            names = asked.symbol_names(len(symbols))
        except UserError:
            sources.append(None)
            continue
        sources.append(Renaming(dict(zip(symbols, names)))(formula))
    return sources


def measure_real(
    sets: Mapping[str, Sequence[str]],
    correct: Sequence[Optional[Verdict]],
    verified: Sequence[Optional[Verdict]],
) -> Results:
    """Counts right answers in each set.

    Args:
        sets: the formulas, by the name of their set.
        correct: verdicts on the first answers of the beam, for the formulas of all sets in order;
            None where the model cannot be asked, which counts as wrong.
        verified: the same of the verified search.
    """
    results, first = {}, 0
    for name, formulas in sets.items():
        part = slice(first, first + len(formulas))
        first = part.stop
        results[name] = {
            measure: Proportion(verdicts[part].count(Verdict.satisfied), len(formulas))
            for measure, verdicts in zip(MEASURES, (list(correct), list(verified)))
        }
    return results


def real_table(results: Results, beam: int) -> List[List[Any]]:
    """The rows of a table for people, the head first."""
    rows: List[List[Any]] = [["set", "formulas", f"correct (beam {beam})", "verified"]]
    for name, found in results.items():
        shares = [found[measure] for measure in MEASURES]
        rows.append([name.replace("_", " "), found["correct"].total, *shares])
    return rows
