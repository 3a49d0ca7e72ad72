"""Alpha-covariance: do renamed inputs give renamed outputs?"""

from dataclasses import replace
from typing import Any, Dict, List, Optional, Sequence, Union

from sit_fairseq.evaluation.given_answers import answering
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.evaluation.renamed_problems import (
    Choice,
    RenamedProblem,
    symbols_without_a_model,
)
from sit_fairseq.evaluation.run import EvaluationRun
from sit_fairseq.evaluation.settings import Checkpoint
from sit_fairseq.logic.syntax import read_sentences
from sit_fairseq.symbols.pattern import SymbolPattern


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
        covariances[problem.num_symbols].append(alpha_covariance(problem.undone(own)))
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
    answers: Union[Checkpoint, str],
    choice: Choice,
    symbols: Optional[str] = None,
) -> None:
    """Measures whether renamed problems are answered alike.

    Args:
        run: writes the result file and prints the table.
        prefix: the problems are in ``prefix.src``.
        answers: the model to ask, or a file of answers to what
            :func:`~sit_fairseq.evaluation.renamed_problems.write_questions` writes.
        choice: which problems and renamings.
        symbols: see ``symbols_without_a_model``; a model knows its own.

    Raises:
        UserError: a file or an option cannot be used.
    """
    sources = read_sentences(f"{prefix}.src")
    run.uses_file(f"{prefix}.src")
    decoder = answering(run, answers)
    given = isinstance(answers, str)
    is_symbol = symbols_without_a_model(symbols) if given else decoder.is_symbol
    problems = choice.of(sources, is_symbol)
    if not given and decoder.fresh_symbols:
        pattern = SymbolPattern(decoder.symbols)
        problems = [replace(problem, fresh=pattern) for problem in problems]
    names = list(choice.names_in(sources, is_symbol))
    run.uses_options(names=names, max_renamings=choice.max_renamings)
    renamed = [source for problem in problems for source in problem.sources]
    answered = run.answer(decoder, renamed)
    given_to = [entry.answers[0] for entry in answered]
    result = measure_alpha_covariance(problems, given_to, choice.counts)
    run.finish(result, len(renamed), alpha_covariance_table(result))
