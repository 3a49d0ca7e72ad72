"""What the replies of a language model are worth, and what they took."""

from collections import Counter
from typing import Any, Dict, Optional, Sequence

from sit_fairseq.evaluation.alpha_covariance import (
    RenamedProblem,
    alpha_covariance_table,
    measure_alpha_covariance,
)
from sit_fairseq.evaluation.correct import correct_table, measure_correct
from sit_fairseq.evaluation.llm import expense
from sit_fairseq.evaluation.llm.dialect import Dialect, readable
from sit_fairseq.evaluation.llm.endpoint import Reply
from sit_fairseq.evaluation.llm.problems import Sample
from sit_fairseq.evaluation.result_file import markdown_table
from sit_fairseq.judging.judge import Problem, make_judge
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.logic.syntax import formula_symbols, tokenize


def read_replies(dialect: Dialect, replies: Dict[str, Reply]) -> Dict[str, str]:
    """Reads replies.

    Args:
        dialect: how they are written.
        replies: the replies by formula.

    Returns:
        The answers by formula, in the notation of the data; where there is none, a text that
        is invalid for every judge and equals no other.
    """
    return dict(zip(replies, readable((reply.content for reply in replies.values()), [dialect])))


def measure(semantics: str, samples: Sequence[Sample], answers: Dict[str, str]) -> Dict[str, Any]:
    """Measures how good answers are, and how consistent under renaming.

    Args:
        semantics: what problems and answers mean.
        samples: the problems.
        answers: by formula.

    Returns:
        The numbers for the result file.
    """
    asked = [Problem(sample.source, sample.target) for sample in samples]
    sources = [sample.source for sample in samples]
    judge = make_judge(semantics)
    with JudgePool(judge) as pool:
        verdicts = pool.verify_all((source, answers[source]) for source in sources)
    given = [answers[source] for source in sources]
    found = measure_correct(judge, asked, given, verdicts)
    # Nothing can be compared where there is only one name.
    problems = [
        RenamedProblem(source, len(formula_symbols(tokenize(source))), renamings)
        for source, _, renamings in samples
        if len(renamings) > 1
    ]
    if problems:
        found["alpha_covariance"] = measure_alpha_covariance(
            problems,
            [answers[source] for problem in problems for source in problem.sources],
            sorted({problem.num_symbols for problem in problems}),
        )
    return found


def expenses(
    replies: Sequence[Reply], input_price: Optional[float], output_price: Optional[float]
) -> Dict[str, Any]:
    """What replies took.

    Args:
        replies: at least one.
        input_price: price of a million tokens read, None if it is unknown.
        output_price: price of a million tokens written.

    Returns:
        The numbers for the result file.
    """
    counts = expense.tokens(replies)
    return {
        "latency": expense.seconds(replies),
        "tokens": counts,
        "cost": expense.cost(counts, input_price, output_price),
        "models": sorted({str(reply.model) for reply in replies}),
        "finish_reasons": dict(Counter(str(reply.finish_reason) for reply in replies)),
        "retries": sum(reply.retries for reply in replies),
    }


def report(found: Dict[str, Any]) -> str:
    """The numbers of the result file that matter most, for people.

    Args:
        found: what :func:`measure` and :func:`expenses` have found.
    """
    parts = [markdown_table(correct_table(found))]
    if "alpha_covariance" in found:
        parts.append(markdown_table(alpha_covariance_table(found["alpha_covariance"])))
    latency, tokens = found["latency"], found["tokens"]
    times = (f"{latency[name]:.2f}" for name in ("mean", "p50", "p95"))
    parts.append(markdown_table([["", "mean", "p50", "p95"], ["seconds per answer", *times]]))
    cost = "unknown" if found["cost"] is None else f"{found['cost']:.4f}"
    parts.append(
        f"tokens: {tokens['prompt']} read, {tokens['completion']} written, unknown for "
        f"{tokens['unknown']} answers; cost: {cost}"
    )
    return "\n\n".join(parts)
