"""Answers that somebody else has given, in files: they are measured without a checkpoint."""

from abc import ABC, abstractmethod
from typing import Collection, Iterator, Optional, Sequence, Union

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.answering import Decoder
from sit_fairseq.evaluation.decoding import Batch
from sit_fairseq.evaluation.generate_output import read_generate_output
from sit_fairseq.evaluation.llm.answer_log import contents_by_formula, is_answer_log
from sit_fairseq.evaluation.llm.dialect import DIALECTS, readable
from sit_fairseq.evaluation.run import EvaluationRun
from sit_fairseq.evaluation.settings import Checkpoint
from sit_fairseq.logic.infix import infix
from sit_fairseq.logic.syntax import MalformedFormula, read_sentences, tokenize

# Sentences at a time: they are judged and recorded together.
_BATCH = 64


class GivenAnswers(ABC):
    """A decoder that has its answers from a file.

    Args:
        path: the file, for messages.
    """

    def __init__(self, path: str) -> None:
        self._path = path

    def decode(self, sources: Sequence[str], skip: Collection[int] = ()) -> Iterator[Batch]:
        """See :class:`~sit_fairseq.evaluation.answering.Decoder`.

        Raises:
            UserError: the file does not answer exactly these sentences.
        """
        answers = self.answers_to(sources)
        rest = [position for position in range(len(sources)) if position not in skip]
        for first in range(0, len(rest), _BATCH):
            batch = rest[first : first + _BATCH]
            yield batch, [[answers[position]] for position in batch]

    @abstractmethod
    def answers_to(self, sources: Sequence[str]) -> Sequence[str]:
        """The answers in the order of some sentences.

        Raises:
            UserError: the file does not answer exactly these sentences.
        """


class ListedAnswers(GivenAnswers):
    """The answers of a text that has one a line.

    Args:
        path: the text.

    Raises:
        UserError: it cannot be read.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._answers = read_sentences(path)

    def answers_to(self, sources: Sequence[str]) -> Sequence[str]:
        if len(self._answers) != len(sources):
            raise UserError(
                f"{self._path} has {len(self._answers)} lines, but there are {len(sources)} "
                "sentences: --generated takes one answer a line, an output of fairseq-generate or "
                "the answer log of sit ask-llm."
            )
        return self._answers


class GeneratedAnswers(GivenAnswers):
    """The answers that ``fairseq-generate`` has printed.

    Args:
        path: its output.

    Raises:
        UserError: the file cannot be read.
    """

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self._sentences = read_generate_output(path)

    def answers_to(self, sources: Sequence[str]) -> Sequence[str]:
        if len(self._sentences) != len(sources):
            raise UserError(
                f"{self._path} has answers to {len(self._sentences)} sentences, but there are "
                f"{len(sources)}; generate again with --required-batch-size-multiple 1, or name "
                "the data it was made from."
            )
        for number, (sentence, source) in enumerate(zip(self._sentences, sources), start=1):
            if not sentence.hypotheses or not _printed_as(source, sentence.source):
                raise UserError(
                    f"{self._path} does not answer line {number}, {source!r}; name the data it "
                    "was made from."
                )
        return [sentence.best.text for sentence in self._sentences]


def _printed_as(source: str, printed: str) -> bool:
    """Whether fairseq may have printed a sentence so: unknown tokens are ``<unk>`` there."""
    ours, theirs = tokenize(source), tokenize(printed)
    return len(ours) == len(theirs) and all(
        token in (own, "<unk>") for own, token in zip(ours, theirs)
    )


class LoggedAnswers(GivenAnswers):
    """What a language model wrote, as ``sit ask-llm`` has kept it, looked up by formula.

    Args:
        path: the log.
        data: its content.

    Raises:
        UserError: a line is damaged, or a formula was answered in two ways.
    """

    def __init__(self, path: str, data: bytes) -> None:
        super().__init__(path)
        self._contents = contents_by_formula(data, path)

    def answers_to(self, sources: Sequence[str]) -> Sequence[str]:
        found = [self._content(source) for source in sources]
        contents = [content for content in found if content is not None]
        if len(contents) < len(sources):
            raise UserError(
                f"{self._path} answers {len(contents)} of {len(sources)} sentences; ask for the "
                "rest by sit ask-llm with these data, or name the data it was made from."
            )
        # An assignment is never a trace, nor the other way round.
        return readable(contents, list(DIALECTS.values()))

    def _content(self, source: str) -> Optional[str]:
        """What the model wrote, None if nothing is known of it."""
        try:
            return self._contents.get(infix(tokenize(source)))
        except MalformedFormula:
            return None


def given_answers(path: str) -> Decoder:
    """Reads the answers of a file.

    Args:
        path: an output of fairseq-generate, the answer log of ``sit ask-llm``, or any text with
            one answer a line.

    Returns:
        What answers with them.

    Raises:
        UserError: the file cannot be read or is damaged.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror}; name a file with --generated.")
    if is_answer_log(data):
        return LoggedAnswers(path, data)
    if data.startswith(b"H-") or b"\nH-" in data:
        return GeneratedAnswers(path)
    return ListedAnswers(path)


def answering(run: EvaluationRun, answers: Union[Checkpoint, str]) -> Decoder:
    """Who answers: a model, or a file.

    Args:
        run: takes note of it.
        answers: the model, or the name of the file.

    Raises:
        UserError: it cannot be used.
    """
    if isinstance(answers, Checkpoint):
        return answers.load(run)
    decoder = given_answers(answers)
    run.answers_from("generated", answers)
    return decoder
