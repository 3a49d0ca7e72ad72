"""One run of a metric, from its files to its result file."""

import os
import time
from typing import Any, Dict, List, Optional, Sequence

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.answer_journal import Answered, AnswerJournal
from sit_fairseq.evaluation.answering import Decoder, answer_all
from sit_fairseq.evaluation.result_file import (
    Result,
    file_beside,
    markdown_table,
    sha256_of,
    sha256_of_file,
)
from sit_fairseq.judging.pool import JudgePool


class EvaluationRun:
    """Keeps account of what the numbers of one result file depend on.

    Args:
        metric: its name.
        command: the command line.
        seed: the seed of everything drawn at random.
        path: the result file; the journal and figures get names that begin like it.
        restart: discard the journal of an interrupted run.
        where: the option that names the result file, for messages.

    Raises:
        UserError: there can be no file of that name.
    """

    def __init__(
        self,
        metric: str,
        command: List[str],
        seed: int,
        path: str,
        restart: bool = False,
        where: str = "--result",
    ) -> None:
        try:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        except OSError as error:
            raise UserError(f"Cannot write {path}: {error.strerror}; change {where}.")
        self._metric, self._command, self._seed = metric, command, seed
        self._path = path
        self._restart = restart
        self._where = where
        self._files: Dict[str, str] = {}
        self._options: Dict[str, Any] = {}
        # What the answers depend on.
        self._origin: Dict[str, Any] = {}
        self._started = time.monotonic()
        self._seconds: Optional[float] = None
        self.symbols: Optional[str] = None

    def beside(self, ending: str) -> str:
        """The name of another file of this run."""
        return file_beside(self._path, ending)

    def uses_file(self, path: str) -> None:
        """Takes note of a file that was read.

        Raises:
            UserError: it cannot be read.
        """
        self._files[path] = sha256_of_file(path)

    def answers_from(self, kind: str, path: str) -> None:
        """Takes note of the file that answers come from.

        Args:
            kind: what it is.
            path: its name.

        Raises:
            UserError: it cannot be read.
        """
        self.uses_file(path)
        self._origin[kind] = self._files[path]

    def uses_options(self, **options: Any) -> None:
        """Takes note of options that answers and verdicts depend on."""
        self._options.update(options)
        self._origin.update(options)

    def answer(
        self,
        decoder: Decoder,
        sources: Sequence[str],
        judges: Optional[JudgePool] = None,
        references: Optional[Sequence[str]] = None,
    ) -> List[Answered]:
        """Answers sentences, or what of them an interrupted run has left.

        Args:
            decoder: answers them.
            sources: the sentences.
            judges: who judges the answers, None for nobody.
            references: right answers, None if they are not known.

        Returns:
            One entry for each sentence, in order.

        Raises:
            UserError: there are none, one cannot be answered or judged, or the journal is of
                other answers.
        """
        if not sources:
            raise UserError("There are no sentences to answer; name a file that has some.")
        origin = {**self._origin, "sentences": sha256_of("\n".join(sources).encode())}
        self.symbols = getattr(decoder, "symbols", None) or self.symbols
        problems = sources
        if judges is not None:
            problems = judges.judge.problems(sources, references, self.symbols)
            if judges.judge.on_references:  # the verdicts depend on them
                origin["references"] = sha256_of("\n".join(references).encode())
        path = self.beside(".answers.jsonl")
        with AnswerJournal(path, origin, self._restart, self._where) as journal:
            answered = answer_all(decoder, sources, journal, judges, problems)
        self._seconds = sum(entry.seconds for entry in answered)
        return answered

    def finish(self, result: Dict[str, Any], samples: int, table: Sequence[Sequence[Any]]) -> None:
        """Writes the result file and prints a table.

        Args:
            result: the numbers.
            samples: number of sentences that were answered.
            table: rows for people.
        """
        own = time.monotonic() - self._started
        Result(
            metric=self._metric,
            command=self._command,
            seed=self._seed,
            files=self._files,
            options=self._options,
            samples=samples,
            seconds=own if self._seconds is None else self._seconds,
            result=result,
        ).write(self._path, self._where)
        print(markdown_table(table))
