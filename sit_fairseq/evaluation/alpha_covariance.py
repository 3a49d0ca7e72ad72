"""Alpha-covariance: do renamed inputs give renamed outputs?"""

import random
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.judging.equality_judges import without_fresh_names
from sit_fairseq.symbols.pattern import SymbolPattern
from sit_fairseq.symbols.renaming import Renaming, renamings_into


@dataclass
class RenamedProblem:
    """A problem and the renamings under which it is to be answered."""

    source: str
    num_symbols: int  # distinct ones
    renamings: List[Renaming]  # at least two

    @property
    def sources(self) -> List[str]:
        """The problem under each renaming."""
        return [renaming(self.source) for renaming in self.renamings]

    def undone(self, answers: Sequence[str], fresh: Optional[SymbolPattern] = None) -> List[str]:
        """The answers to ``sources``, each with its renaming undone. Symbols that a source lacks may
        have any names in its answer if ``fresh``, the pattern of symbols, is given."""
        if fresh is not None:
            pairs = zip(answers, self.sources)
            answers = [without_fresh_names(answer, source, fresh) for answer, source in pairs]
        # Numbers of fresh symbols begin with a tab, which no other token has.
        tokens = (answer.split() if fresh is None else answer.split(" ") for answer in answers)
        pairs = zip(self.renamings, tokens)
        return [" ".join(renaming.inverse().tokens(words)) for renaming, words in pairs]


def choose_problems(
    sources: Sequence[str],
    pattern: SymbolPattern,
    names: Sequence[str],
    counts: Sequence[int],
    samples: int,
    max_renamings: int,
    seed: int,
) -> List[RenamedProblem]:
    """Chooses problems and renamings as the paper does (section 5.1.1 and Table 1).

    For each number of distinct symbols in ``counts`` these are the first ``samples`` problems. Each
    has all its renamings into ``names`` or, if there are more, ``max_renamings`` at random. A
    UserError if a name is no symbol, there are too few names to rename anything, or no problem.
    """
    others = [name for name in names if not pattern.is_symbol(name)]
    if others:
        raise UserError(f"{others[0]!r} is no symbol", "names symbols")
    rng = random.Random(seed)
    found: Dict[int, List[RenamedProblem]] = {count: [] for count in counts}
    for source in sources:
        symbols = pattern.symbols(source.split())
        chosen = found.get(len(symbols))
        if chosen is not None and len(chosen) < samples:
            renamings = renamings_into(symbols, names, max_renamings, rng, pattern)
            if len(renamings) < 2:
                reason = f"{len(names)} names allow for no two renamings of {source!r}"
                raise UserError(reason, "names counts")
            chosen.append(RenamedProblem(source, len(symbols), renamings))
    problems = [problem for count in counts for problem in found[count]]
    if not problems:
        wanted = ", ".join(map(str, counts))
        raise UserError(f"no sentence has {wanted} distinct symbols", "counts")
    return problems


def alpha_covariance(answers: Sequence[str]) -> float:
    """``1 - (U - 1) / (n - 1)`` for U distinct answers to n > 1 renamings of one problem, each with
    its renaming undone (section 5.1.1, eq. 2): 1 if all agree, 0 if all differ."""
    return 1.0 - (len(set(answers)) - 1) / (len(answers) - 1)


def measure_alpha_covariance(
    problems: Sequence[RenamedProblem],
    answers: Sequence[str],
    counts: Sequence[int],
    fresh: Optional[SymbolPattern] = None,
) -> Dict[str, Dict[str, Any]]:
    """Averages the alpha-covariance of problems with equally many symbols.

    ``answers`` are those to ``sources`` of the first problem, then of the second, ... The result has
    for each number of symbols in ``counts`` the samples, the fewest and the most renamings of one,
    the mean (None without samples) and the proportion of samples whose answers all agree.
    """
    covariances: Dict[int, List[float]] = {count: [] for count in counts}
    renamings: Dict[int, List[int]] = {count: [] for count in counts}
    rest = iter(answers)
    for problem in problems:
        own = problem.undone([next(rest) for _ in problem.renamings], fresh)
        covariances[problem.num_symbols].append(alpha_covariance(own))
        renamings[problem.num_symbols].append(len(problem.renamings))
    return {
        str(count): {
            "samples": len(found),
            "renamings": [min(renamings[count]), max(renamings[count])] if found else None,
            "mean": sum(found) / len(found) if found else None,
            "all_agree": Proportion(found.count(1.0), len(found)),
        }
        for count, found in covariances.items()
    }


def alpha_covariance_table(result: Dict[str, Dict[str, Any]]) -> List[List[Any]]:
    """The rows of a table for people."""
    rows = [["symbols", "samples", "renamings each", "mean alpha-covariance", "all agree"]]
    for count, found in result.items():
        row = [count, found["samples"], "", "", ""]
        if found["samples"]:
            renamings = "–".join(map(str, sorted(set(found["renamings"]))))
            row[2:] = [renamings, f"{100 * found['mean']:.2f} %", found["all_agree"]]
        rows.append(row)
    return rows
