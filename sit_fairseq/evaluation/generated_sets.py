"""What ``fairseq-generate`` answered to several test sets and to renamed copies of them."""

import glob
import os
import re
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.alpha_covariance import alpha_covariance
from sit_fairseq.evaluation.correct import correct_table, measure_correct
from sit_fairseq.evaluation.generate_output import Sentence, read_generate_output
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.evaluation.result_file import markdown_table
from sit_fairseq.judging.judge import make_judge
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.symbols.pattern import SymbolPattern
from sit_fairseq.symbols.renaming import Renaming


@dataclass(frozen=True)
class Agreement:
    """How answers to renamed sentences agree with those to the sentences.

    Attributes:
        covariance: the mean alpha-covariance.
        equal: renamed sentences whose answer is the renamed one, with the same score to the
            last printed digit.
    """

    covariance: float
    equal: Proportion


def measure_agreement(
    originals: Sequence[Sentence], copies: Sequence[Sequence[Sentence]]
) -> Agreement:
    """Compares answers with those to renamed copies.

    Args:
        originals: sentences with their answers.
        copies: at least one copy of them, each sentence under a renaming of its own.

    Returns:
        How they agree.

    Raises:
        UserError: a copy is not one of these sentences.
    """
    covariances, equal = [], 0
    for number, (original, *renamed) in enumerate(zip(originals, *copies), start=1):
        answers = [original.best.text]
        for copy in renamed:
            try:
                undo = Renaming.between(original.source, copy.source).inverse()
            except ValueError as error:
                raise UserError(f"Sentence {number} of a renamed copy is no renaming: {error}.")
            answers.append(undo(copy.best.text))
            equal += (answers[-1], copy.best.score) == (answers[0], original.best.score)
        covariances.append(alpha_covariance(answers))
    return Agreement(
        sum(covariances) / len(covariances), Proportion(equal, len(originals) * len(copies))
    )


@dataclass(frozen=True)
class GeneratedSet:
    """The answers to a test set.

    Attributes:
        result: of :func:`~sit_fairseq.evaluation.correct.measure_correct`.
        sentences: with their answers.
        copies: renamed copies of the sentences, with theirs.
        agreement: how the copies were answered; None if there are none.
        seconds: the time for decoding, as ``fairseq-generate`` reports it.
    """

    result: Dict[str, Any]
    sentences: List[Sentence]
    copies: List[List[Sentence]]
    agreement: Optional[Agreement]
    seconds: Optional[str]


def read_generated_set(
    folder: str, name: str, semantics: str, symbols: Optional[str] = None
) -> GeneratedSet:
    """Reads the answers to a test set.

    Args:
        folder: has ``NAME.txt``, the output of ``fairseq-generate --scoring semantic``; maybe
            ``NAME.renamed1.txt`` and so on, those on renamed copies; and ``NAME.log``, its log.
        name: of the test set.
        semantics: what sentences mean.
        symbols: matches symbols in full; None for the leaves of formulas.

    Returns:
        The answers and their measures.

    Raises:
        UserError: a file cannot be read, or lacks an answer or a verdict.
    """
    prefix = os.path.join(folder, name)
    sentences = _read_answers(f"{prefix}.txt")
    paths = sorted(glob.glob(f"{glob.escape(prefix)}.renamed*.txt"))
    copies = [_read_answers(path) for path in paths]
    for copy in copies:
        if len(copy) != len(sentences):
            raise UserError(
                f"{prefix}.txt has {len(sentences)} sentences, but a renamed copy {len(copy)}; "
                "generate both again."
            )
    result = measure_correct(
        make_judge(semantics),
        [sentence.source for sentence in sentences],
        [sentence.target for sentence in sentences],
        [sentence.best.text for sentence in sentences],
        [Verdict(sentence.best.verdict) for sentence in sentences],
        None if symbols is None else SymbolPattern(symbols).is_symbol,
    )
    agreement = measure_agreement(sentences, copies) if copies else None
    return GeneratedSet(result, sentences, copies, agreement, _decoding_time(f"{prefix}.log"))


def _read_answers(path: str) -> List[Sentence]:
    """Reads an output of ``fairseq-generate`` that has a verdict on each best answer."""
    sentences = read_generate_output(path)
    verdicts = {verdict.value for verdict in Verdict}
    if not sentences or any(
        not sentence.hypotheses or sentence.best.verdict not in verdicts for sentence in sentences
    ):
        raise UserError(
            f"{path} does not have a judged answer to every sentence; generate with --scoring "
            "semantic."
        )
    return sentences


def _decoding_time(log: str) -> Optional[str]:
    """The seconds that ``fairseq-generate`` reports; None if there is no such log."""
    try:
        with open(log, encoding="utf-8", errors="replace") as file:
            found = re.search(r"Translated .* in ([\d.]+)s", file.read())
    except OSError:
        return None
    return found and found.group(1)


def generated_table(sets: Mapping[str, GeneratedSet]) -> List[List[Any]]:
    """The rows of a table for people.

    Args:
        sets: the test sets, by what is said above their columns.

    Returns:
        The cells, the head first.
    """
    rows = correct_table({label: found.result for label, found in sets.items()})
    covariance, equal, seconds = ["alpha-covariance"], ["renamed alike"], ["seconds"]
    for found in sets.values():
        agreement = found.agreement
        covariance += ["", "—" if agreement is None else f"{100 * agreement.covariance:.2f} %"]
        equal += ["", "—"] if agreement is None else [agreement.equal.count, agreement.equal]
        seconds += ["", found.seconds or "—"]
    return [*rows, covariance, equal, seconds]


def report_generated(
    folder: str, labels: Mapping[str, str], semantics: str, symbols: Optional[str] = None
) -> str:
    """What the answers to test sets are worth, for people.

    Args:
        folder: where ``fairseq-generate`` left them, see :func:`read_generated_set`.
        labels: what is said of each test set, by its name.
        semantics: what sentences mean.
        symbols: matches symbols in full; None for the leaves of formulas.

    Returns:
        The table; if there are renamed copies also how many of their answers agree, and one
        sentence of the first test set with a copy, so that it can be seen.

    Raises:
        UserError: a file cannot be used.
    """
    sets = {
        label: read_generated_set(folder, name, semantics, symbols)
        for name, label in labels.items()
    }
    text = markdown_table(generated_table(sets))
    compared = [found for found in sets.values() if found.agreement is not None]
    if not compared:
        return text
    count, total = (
        sum(getattr(found.agreement.equal, part) for found in compared)
        for part in ("count", "total")
    )
    text += f"\n\n{count} of {total} renamed sentences got the renamed answer with the same score."
    sentences, (copy, *_) = compared[0].sentences, compared[0].copies
    example = max(
        range(len(sentences)), key=lambda place: len(set(sentences[place].best.text.split()))
    )
    text += "\n\nAn example, and the same renamed:"
    for sentence in (sentences[example], copy[example]):
        text += f"\n  source  {sentence.source}"
        text += f"\n  answer  {sentence.best.text}  ({sentence.best.verdict})"
    return text
