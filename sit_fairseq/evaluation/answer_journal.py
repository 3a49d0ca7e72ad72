"""The file in which answers are kept while a run goes on, so that it can be continued."""

import json
import os
from dataclasses import dataclass, field
from typing import Any, Dict, List

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.result_file import sha256_of
from sit_fairseq.files import whole_lines
from sit_fairseq.judging.verdict import Verdict


@dataclass
class Answered:
    """What became of one sentence.

    Attributes:
        answers: best first.
        verdicts: one for each answer, or none if they were not judged.
        seconds: its share of the time that its batch took.
    """

    answers: List[str]
    verdicts: List[Verdict] = field(default_factory=list)
    seconds: float = 0.0


class AnswerJournal:
    """Answers by the position of their sentence, on disk as JSON lines.

    The first line says what they depend on, by a hash and in words; each other one is a
    sentence with its answers. Use it as a context manager.

    Args:
        path: the file, which may be that of an interrupted run.
        origin: what the answers depend on (checkpoint, data, options), as JSON.
        restart: discard what is there.

    Raises:
        UserError: the file is of another origin, is no journal, or cannot be written.
    """

    def __init__(self, path: str, origin: Dict[str, Any], restart: bool = False) -> None:
        self.answered: Dict[int, Answered] = {}
        # As it comes back from the file: a tuple is a list there.
        origin = json.loads(json.dumps(origin))
        header = {"hash": sha256_of(json.dumps(origin, sort_keys=True).encode()), **origin}
        try:
            complete = 0 if restart else self._read(path, header)
            self._file = open(path, "ab")
            self._file.truncate(complete)
            if not complete:
                self._write(header)
                self._file.flush()
        except OSError as error:
            raise UserError(f"Cannot write {path}: {error.strerror}; change --result.")

    def __enter__(self) -> "AnswerJournal":
        return self

    def __exit__(self, *exception: Any) -> None:
        self._file.close()

    def record(self, sources: Dict[int, str], answered: Dict[int, Answered]) -> None:
        """Keeps the answers to some sentences.

        Args:
            sources: the sentences by position, for people who read the file.
            answered: the answers by position.
        """
        for position, entry in answered.items():
            self._write({"index": position, "source": sources[position], **vars(entry)})
            self.answered[position] = entry
        self._file.flush()

    def _write(self, entry: Dict[str, Any]) -> None:
        self._file.write(json.dumps(entry, ensure_ascii=False).encode() + b"\n")

    def _read(self, path: str, header: Dict[str, Any]) -> int:
        """Reads what is there and returns how many bytes of it are complete lines."""
        if not os.path.exists(path):
            return 0
        with open(path, "rb") as file:
            data = whole_lines(file.read())
        try:
            theirs, *entries = map(json.loads, data.splitlines()) if data else [header]
            stale = [name for name in {**header, **theirs} if theirs.get(name) != header.get(name)]
            for entry in entries:
                self.answered[int(entry["index"])] = Answered(
                    list(entry["answers"]),
                    [Verdict(verdict) for verdict in entry["verdicts"]],
                    float(entry["seconds"]),
                )
        except (ValueError, TypeError, KeyError):
            raise UserError(f"{path} is damaged; pass --restart to begin again.")
        if stale:
            differing = ", ".join(name for name in stale if name != "hash")
            raise UserError(
                f"{path} holds the answers of another run (other {differing}); pass --restart to "
                "discard them, or another --result to keep them."
            )
        return len(data)
