"""Correct and verified answers to the problems of a domain that people wrote."""

from typing import Any, Dict, List, Mapping, Optional, Sequence

from sit_fairseq.domains import Domain
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.model import Model
from sit_fairseq.symbols.pattern import SymbolPattern
from sit_fairseq.symbols.renaming import Renaming

# Set -> measure (``correct``, of the first answer of the beam; ``verified``) -> proportion.
Results = Dict[str, Dict[str, Proportion]]


def readable_sources(model: Model, domain: Domain, problems: Sequence[str]) -> List[Optional[str]]:
    """The question to a model for each problem, over names that it has; None if it has too few."""
    pattern = SymbolPattern(domain.symbols)
    sources: List[Optional[str]] = []
    for problem in problems:
        symbols = pattern.symbols(problem.split())
        names = symbol_names(model, pattern, len(symbols))
        renamed = None if names is None else Renaming(dict(zip(symbols, names)))(problem)
        sources.append(renamed)
    return sources


def symbol_names(model: Model, pattern: SymbolPattern, count: int) -> Optional[List[str]]:
    """So many names that a model and a domain take for symbols, first those that the model has rows
    for, then a, b, ..., z, p0, p1, ...; None if there are too few."""
    vocabulary = model.core.vocabulary
    names = list(vocabulary.row_tokens)
    if not vocabulary.produces_any_symbol or not vocabulary.one_stream:
        names += [*"abcdefghijklmnopqrstuvwxyz", *(f"p{number}" for number in range(count))]
    known = vocabulary.dictionary.is_symbol
    names = [n for n in dict.fromkeys(names) if known(n) and pattern.is_symbol(n)]
    return None if len(names) < count else names[:count]


def measure_written(
    sets: Mapping[str, Sequence[str]],
    correct: Sequence[Optional[Verdict]],
    verified: Sequence[Optional[Verdict]],
) -> Results:
    """Counts right answers in each set, of verdicts for the problems of all sets in order: on the
    first answers of the beam, and of the verified search. None, where the model cannot be asked,
    counts as wrong."""
    results: Results = {}
    both = {"correct": iter(correct), "verified": iter(verified)}
    for name, problems in sets.items():
        shares = ([next(some) for _ in problems].count(Verdict.satisfied) for some in both.values())
        results[name] = {m: Proportion(share, len(problems)) for m, share in zip(both, shares)}
    return results


def written_table(results: Results, beam: int) -> List[List[Any]]:
    """The rows of a table for people, the head first."""
    rows: List[List[Any]] = [["set", "problems", f"correct (beam {beam})", "verified"]]
    for name, found in results.items():
        rows.append([name.replace("_", " "), found["correct"].total, *found.values()])
    return rows
