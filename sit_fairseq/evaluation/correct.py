"""Correct and exact answers (the first two columns of numbers in the paper's Table 1)."""

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from sit_fairseq.datasets.pair_files import read_pairs
from sit_fairseq.evaluation.exact_match import EXACT_MODULO_ORDER, exact
from sit_fairseq.evaluation.given_answers import answering
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.evaluation.run import EvaluationRun
from sit_fairseq.evaluation.settings import Checkpoint, Judging
from sit_fairseq.judging.judge import JUDGES, Judge
from sit_fairseq.judging.verdict import Verdict, VerdictCounts
from sit_fairseq.logic.syntax import formula_symbols, tokenize
from sit_fairseq.symbols.pattern import SymbolPattern


def measure_correct(
    judge: Judge,
    sources: Sequence[str],
    targets: Sequence[str],
    answers: Sequence[str],
    verdicts: Sequence[Verdict],
    is_symbol: Optional[Callable[[str], bool]] = None,
) -> Dict[str, Any]:
    """Counts right answers, and answers that equal their reference.

    Args:
        judge: what gave the verdicts; it may know distances too.
        sources: the problems.
        targets: a reference for each.
        answers: the best answer to each.
        verdicts: of these answers.
        is_symbol: whether a token of a problem is a symbol; None for the leaves of formulas that
            are no constants, which may be known of formulas and strings only.

    Returns:
        The counts of all verdicts and the proportions ``correct``, ``exact`` and, where the
        order of something means nothing, ``exact_modulo_order``, all out of all sentences;
        ``mean_edit_distance`` where there is one right answer only; ``correct_by_symbols`` by
        the number of different symbols of the problem, where symbols are known.
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
    if is_symbol is not None or (judge.semantics in JUDGES and not judge.on_references):
        result["correct_by_symbols"] = _by_symbols(sources, verdicts, is_symbol)
    problems = judge.problems(sources, targets)
    distances = [judge.distance(problem, answer) for problem, answer in zip(problems, answers)]
    known = [distance for distance in distances if distance is not None]
    if known:
        result["mean_edit_distance"] = sum(known) / len(known)
    return result


def _by_symbols(
    sources: Sequence[str],
    verdicts: Sequence[Verdict],
    is_symbol: Optional[Callable[[str], bool]],
) -> Dict[str, Proportion]:
    correct: Dict[int, List[bool]] = {}
    for source, verdict in zip(sources, verdicts):
        tokens = tokenize(source)
        symbols = formula_symbols(tokens) if is_symbol is None else set(filter(is_symbol, tokens))
        correct.setdefault(len(symbols), []).append(verdict is Verdict.satisfied)
    return {str(k): Proportion(sum(own), len(own)) for k, own in sorted(correct.items())}


def correct_table(results: Mapping[str, Dict[str, Any]]) -> List[List[Any]]:
    """The rows of a table for people: two columns for each test set, numbers and shares.

    Args:
        results: of :func:`measure_correct`, by what is said above the numbers; all of one
            semantics.

    Returns:
        The cells, the head first.
    """
    found = list(results.values())
    rows = [[""], ["all"]]
    for head, result in results.items():
        rows[0] += [head, "share and 95 % interval"]
        rows[1] += [result["correct"].total, ""]

    def add(name: str, shares: Sequence[Proportion]) -> None:
        rows.append([name, *(cell for share in shares for cell in (share.count, share))])

    for name in ("correct", "exact", "exact_modulo_order"):
        if name in found[0]:
            add(name.replace("_", " "), [result[name] for result in found])
    by_symbols = [result.get("correct_by_symbols", {}) for result in found]
    for k in sorted({int(k) for shares in by_symbols for k in shares}):
        row: List[Any] = [f"correct of those with {k} symbol{'s' * (k != 1)}"]
        for share in (shares.get(str(k)) for shares in by_symbols):
            row += ["", ""] if share is None else [f"{share.count} of {share.total}", share]
        rows.append(row)
    if "mean_edit_distance" in found[0]:
        distances = [f"{result['mean_edit_distance']:.3f}" for result in found]
        rows.append(["mean edit distance", *(cell for d in distances for cell in ("", d))])
    for verdict in (verdict.value for verdict in Verdict):
        counts = [result["verdicts"][verdict] for result in found]
        if any(counts):
            totals = [result["correct"].total for result in found]
            add(verdict, list(map(Proportion, counts, totals)))
    return rows


def evaluate_correct(
    run: EvaluationRun, prefix: str, answers: Union[Checkpoint, str], judging: Judging
) -> None:
    """Measures how many answers are right.

    Args:
        run: writes the result file and prints the table.
        prefix: the sentences are in ``prefix.src``, their references in ``prefix.tgt``.
        answers: the model to ask, or a file of answers.
        judging: who judges.

    Raises:
        UserError: a file or an option cannot be used.
    """
    pairs = read_pairs(prefix)
    for side in ("src", "tgt"):
        run.uses_file(f"{prefix}.{side}")
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    with judging.open(run) as judges:
        answered = run.answer(answering(run, answers), sources, judges, targets)
    is_symbol = None
    if run.symbols is not None:
        is_symbol = SymbolPattern(run.symbols).is_symbol
    result = measure_correct(
        judges.judge,
        sources,
        targets,
        [entry.answers[0] for entry in answered],
        [entry.verdicts[0] for entry in answered],
        is_symbol,
    )
    run.finish(result, len(sources), correct_table({"sentences": result}))
