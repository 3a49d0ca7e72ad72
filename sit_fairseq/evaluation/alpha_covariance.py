"""Alpha-covariance: do renamed inputs give renamed outputs?"""

import math
import random
from dataclasses import dataclass, replace
from typing import Any, Callable, Dict, List, Optional, Sequence

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.evaluation.run import EvaluationRun
from sit_fairseq.evaluation.settings import Checkpoint
from sit_fairseq.judging.alpha_judge import without_fresh_names
from sit_fairseq.logic.syntax import read_sentences, tokenize
from sit_fairseq.symbols.pattern import SymbolPattern
from sit_fairseq.symbols.renaming import Renaming, renamings_into


def alpha_covariance(answers: Sequence[str]) -> float:
    """Consistency of one problem's answers under renaming (section 5.1.1, eq. 2).

    Args:
        answers: the answer to each of n renamings of one problem, with the renaming
            undone.

    Returns:
        ``1 - (U - 1) / (n - 1)`` for U distinct answers: 1 if all agree, 0 if all differ.

    Raises:
        ValueError: for fewer than two answers, where nothing is compared.
    """
    if len(answers) < 2:
        raise ValueError("alpha-covariance needs the answers to at least two renamings")
    return 1.0 - (len(set(answers)) - 1) / (len(answers) - 1)


@dataclass
class RenamedProblem:
    """A problem and the renamings under which it is to be answered.

    Attributes:
        source: the problem.
        num_symbols: how many distinct symbols it has.
        renamings: at least two.
        fresh: matches symbols, of which those that a source lacks may have any names in its
            answer; None where they may not.
    """

    source: str
    num_symbols: int
    renamings: List[Renaming]
    fresh: Optional[SymbolPattern] = None

    @property
    def sources(self) -> List[str]:
        """The problem under each renaming."""
        return [renaming(self.source) for renaming in self.renamings]

    def covariance(self, answers: Sequence[str]) -> float:
        """The alpha-covariance of the answers to ``sources``."""
        if self.fresh is not None:
            answers = [
                without_fresh_names(answer, source, self.fresh)
                for answer, source in zip(answers, self.sources)
            ]
        undone = [renaming.inverse()(answer) for renaming, answer in zip(self.renamings, answers)]
        return alpha_covariance(undone)


def choose_problems(
    sources: Sequence[str],
    is_symbol: Callable[[str], bool],
    names: Sequence[str],
    counts: Sequence[int],
    samples: int,
    max_renamings: int,
    rng: random.Random,
) -> List[RenamedProblem]:
    """Chooses problems and renamings as the paper does (section 5.1.1 and Table 1).

    Args:
        sources: problems.
        is_symbol: tells which tokens are interchangeable.
        names: the V names that symbols are renamed to.
        counts: problems with exactly so many symbols are wanted.
        samples: how many for each count; the first ones are taken.
        max_renamings: if a problem has more, so many distinct ones are drawn.
        rng: draws them.

    Returns:
        The problems by count, fewer where there are fewer.

    Raises:
        UserError: there are too few names to rename anything, or no problem at all.
    """
    for count in counts:
        if count > len(names) or math.perm(len(names), count) < 2:
            raise UserError(
                f"--counts {count}: {len(names)} names allow for no two renamings of {count} "
                "symbols; add --names, or leave this count out."
            )
    found: Dict[int, List[RenamedProblem]] = {count: [] for count in counts}
    for source in sources:
        symbols = list(dict.fromkeys(filter(is_symbol, tokenize(source))))
        chosen = found.get(len(symbols))
        if chosen is not None and len(chosen) < samples:
            renamings = renamings_into(symbols, names, max_renamings, rng)
            chosen.append(RenamedProblem(source, len(symbols), renamings))
    problems = [problem for count in counts for problem in found[count]]
    if not problems:
        raise UserError(
            f"--counts {','.join(map(str, counts))}: no sentence has so many distinct symbols."
        )
    return problems


def measure_alpha_covariance(
    problems: Sequence[RenamedProblem], answers: Sequence[str], counts: Sequence[int]
) -> Dict[str, Dict[str, Any]]:
    """Averages the alpha-covariance of problems with equally many symbols.

    Args:
        problems: the problems.
        answers: to ``sources`` of the first problem, then to those of the second, ...
        counts: the numbers of symbols to report.

    Returns:
        For each of them the number of samples, of renamings of each sample, the mean (None
        without samples) and the proportion of samples whose answers all agree.
    """
    covariances: Dict[int, List[float]] = {count: [] for count in counts}
    renamings = dict.fromkeys(counts, 0)
    rest = iter(answers)
    for problem in problems:
        own = [next(rest) for _ in problem.renamings]
        covariances[problem.num_symbols].append(problem.covariance(own))
        renamings[problem.num_symbols] = len(problem.renamings)
    return {
        str(count): {
            "samples": len(found),
            "renamings": renamings[count],
            "mean": sum(found) / len(found) if found else None,
            "all_agree": Proportion(found.count(1.0), len(found)),
        }
        for count, found in covariances.items()
    }


def alpha_covariance_table(result: Dict[str, Dict[str, Any]]) -> List[List[Any]]:
    """The rows of a table for people."""
    rows = [["symbols", "samples", "renamings each", "mean alpha-covariance", "all agree"]]
    for count, found in result.items():
        row = [count, found["samples"]]
        if found["samples"]:
            row += [found["renamings"], f"{100 * found['mean']:.2f} %", found["all_agree"]]
        rows.append(row + [""] * (len(rows[0]) - len(row)))
    return rows


def evaluate_alpha_covariance(
    run: EvaluationRun,
    prefix: str,
    checkpoint: Checkpoint,
    *,
    counts: Sequence[int],
    samples: int,
    max_renamings: int,
    names: Optional[Sequence[str]],
    seed: int,
) -> None:
    """Measures whether a model answers renamed problems alike.

    Args:
        run: writes the result file and prints the table.
        prefix: the problems are in ``prefix.src``.
        checkpoint: the model to ask.
        counts: see :func:`choose_problems`.
        samples: see there.
        max_renamings: see there.
        names: see there; None for the symbols in the file.
        seed: of the renamings.

    Raises:
        UserError: a file or an option cannot be used.
    """
    if samples < 1 or max_renamings < 2:
        raise UserError(
            f"--samples {samples} --max-renamings {max_renamings}: at least 1 sample "
            "and 2 renamings are needed."
        )
    sources = read_sentences(f"{prefix}.src")
    run.uses_file(f"{prefix}.src")
    decoder = checkpoint.load(run)
    if names is None:
        names = sorted({t for source in sources for t in source.split() if decoder.is_symbol(t)})
    for name in names:
        if not decoder.is_symbol(name):
            raise UserError(f"--names: {name!r} is no symbol of the model; see --symbols.")
    run.uses_options(names=names, max_renamings=max_renamings)
    problems = choose_problems(
        sources, decoder.is_symbol, names, counts, samples, max_renamings, random.Random(seed)
    )
    if decoder.fresh_symbols:
        pattern = SymbolPattern(decoder.symbols)
        problems = [replace(problem, fresh=pattern) for problem in problems]
    renamed = [source for problem in problems for source in problem.sources]
    answered = run.answer(decoder, renamed)
    result = measure_alpha_covariance(problems, [entry.answers[0] for entry in answered], counts)
    run.finish(result, len(renamed), alpha_covariance_table(result))
