"""Answers that have been paid for, one JSON object per line, safe from interruptions."""

import json
import os
from threading import Lock
from types import TracebackType
from typing import Dict, Optional, Type

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.llm.endpoint import Reply
from sit_fairseq.files import whole_lines


class AnswerLog:
    """Replies by request, in a file that grows by one line per reply.

    The file may be written by any number of interrupted runs, with any options: a reply is
    found again by the request itself. A last line that an interruption has cut off is
    dropped. Use it as a context manager.

    Args:
        path: the file; it is made if there is none, and its folder too.

    Raises:
        UserError: it cannot be read or written, or holds something else.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = Lock()
        self._replies: Dict[str, Reply] = {}
        try:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            self._file = open(path, "a+b")
            self._file.seek(0)
            self._read(self._file.read())
        except OSError as error:
            raise UserError(f"Cannot keep answers in {path}: {error.strerror}; change --result.")

    def __enter__(self) -> "AnswerLog":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self._file.close()

    def __contains__(self, key: str) -> bool:
        return key in self._replies

    def __getitem__(self, key: str) -> Reply:
        return self._replies[key]

    def append(self, key: str, formula: str, reply: Reply) -> None:
        """Keeps a reply, on disk when this returns; may be called from any thread.

        Args:
            key: names the request.
            formula: the problem, for people who read the file.
            reply: the reply.

        Raises:
            UserError: it cannot be written.
        """
        line = json.dumps({"key": key, "formula": formula, **reply._asdict()}) + "\n"
        with self._lock:
            try:
                self._file.write(line.encode())
                self._file.flush()
                os.fsync(self._file.fileno())
            except OSError as error:
                raise UserError(f"Cannot write to {self._path}: {error.strerror}.")
            self._replies[key] = reply

    def _read(self, data: bytes) -> None:
        """Takes in what earlier runs have left."""
        whole = whole_lines(data)
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                fields = json.loads(line)
                reply = Reply(**{name: fields[name] for name in Reply._fields})
                self._replies[fields["key"]] = reply
            except (ValueError, LookupError, TypeError):
                raise UserError(
                    f"Line {number} of {self._path} is no answer of an earlier run; remove it, or "
                    "change --result."
                )
        self._file.truncate(len(whole))
