"""Answers of a file, which are measured without a model: one a line, or JSON lines."""

import json
from typing import Collection, Dict, Iterator, Optional, Sequence

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.answering import Answered
from sit_fairseq.storage.files import read_sentences

# Sentences judged and kept together.
_BATCH = 64


class GivenAnswers:
    """Answers with what a file says, see :class:`~sit_fairseq.evaluation.answering.Answerer`.

    A file ``*.jsonl`` has objects with a ``source`` and its ``answer``, in any order. Any other
    file has one answer a line, in the order of the sentences.

    Raises:
        UserError: the file cannot be read.
    """

    judge, fresh_symbols = None, 0

    def __init__(self, path: str, symbols: Optional[str] = None) -> None:
        self.symbols = symbols
        self._path = path
        self._lines = read_sentences(path)

    def decode(
        self, sources: Sequence[str], skip: Collection[int] = ()
    ) -> Iterator[Dict[int, Answered]]:
        """See :class:`~sit_fairseq.evaluation.answering.Answerer`."""
        answers = self._lines
        if self._path.endswith(".jsonl"):
            known = self._by_source()
            answers = [known[source] for source in sources if source in known]
        if len(answers) != len(sources):
            raise UserError(
                f"{self._path} has {len(answers)} answers to {len(sources)} sentences", "generated"
            )
        left = [position for position in range(len(sources)) if position not in skip]
        for first in range(0, len(left), _BATCH):
            yield {at: Answered([answers[at]]) for at in left[first : first + _BATCH]}

    def _by_source(self) -> Dict[str, str]:
        found: Dict[str, str] = {}
        for number, line in enumerate(self._lines, start=1):
            try:
                entry = json.loads(line)
                if "journal" in entry:  # the first line of a journal
                    continue
                source, answer = str.strip(entry["source"]), " ".join(entry["answer"].split())
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
                raise UserError(f"line {number} of {self._path} has no source with an answer")
            if found.setdefault(source, answer) != answer:
                raise UserError(f"{self._path} has two different answers to {source!r}")
        return found
