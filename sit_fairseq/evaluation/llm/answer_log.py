"""Answers that have been paid for, safe from interruptions."""

import contextlib
import json
from typing import Any, Dict

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.llm.endpoint import Reply
from sit_fairseq.storage.files import partial_files, whole_lines
from sit_fairseq.storage.journal import Journal

_KIND = "replies of language models"

# How a log begins: with its header, or in version 0.1 with a reply.
_BEGINNINGS = (json.dumps({"journal": _KIND}).encode(), b'{"key": "')


class AnswerLog(Journal):
    """Replies by request.

    The file may be written by any number of interrupted runs, with any options: a reply is
    found again by the request itself.

    Args:
        path: the file.

    Raises:
        UserError: see :class:`~sit_fairseq.storage.journal.Journal`.
    """

    def __init__(self, path: str) -> None:
        _add_header(path)
        super().__init__(
            path, _KIND, {}, advice="remove what is wrong, or change --result", where="--result"
        )
        self._replies: Dict[str, Reply] = {}
        for number, entry in enumerate(self.entries, start=2):
            try:
                self._replies[entry["key"]] = _read(entry)
            except (LookupError, TypeError):
                self.close()
                raise self.damaged(number)

    def __contains__(self, key: str) -> bool:
        return key in self._replies

    def __getitem__(self, key: str) -> Reply:
        return self._replies[key]

    def keep(self, key: str, formula: str, reply: Reply) -> None:
        """Keeps a reply, on disk when this returns; may be called from any thread.

        Args:
            key: names the request.
            formula: the problem, for people who read the file.
            reply: the reply.

        Raises:
            UserError: it cannot be written.
        """
        self.append({"key": key, "formula": formula, **reply._asdict()})
        self._replies[key] = reply


def is_answer_log(data: bytes) -> bool:
    """Whether the content of a file is that of a log."""
    return data.startswith(_BEGINNINGS)


def contents_by_formula(data: bytes, path: str) -> Dict[str, str]:
    """What was answered, from a log that may still grow.

    Args:
        data: the content of the file.
        path: its name, for messages.

    Returns:
        What the model wrote, by formula in infix notation.

    Raises:
        UserError: a line is damaged, or a formula was answered in two ways.
    """
    found: Dict[str, str] = {}
    for number, line in enumerate(whole_lines(data).splitlines(), start=1):
        try:
            entry = json.loads(line)
            if number == 1 and "journal" in entry:
                continue
            formula, content = entry["formula"], _read(entry).content
        except (ValueError, LookupError, TypeError, RecursionError):
            raise UserError(f"Line {number} of {path} is damaged; remove what is wrong.")
        if found.setdefault(formula, content) != content:
            raise UserError(
                f"{path} has two answers to {formula}; ask with another --result for each model "
                "and each set of options."
            )
    return found


def _read(entry: Dict[str, Any]) -> Reply:
    """The reply of an entry; raises LookupError or TypeError if there is none."""
    reply = Reply(**{name: entry[name] for name in Reply._fields})
    if not (isinstance(reply.content, str) and isinstance(reply.seconds, (int, float))):
        raise TypeError("not a reply")
    return reply


def _add_header(path: str) -> None:
    """Gives the log of version 0.1, which begins with a reply, the line it lacks."""
    with contextlib.suppress(OSError):
        with open(path, "rb") as file:
            data = file.read()
        if data.startswith(_BEGINNINGS[1]):
            with partial_files(path) as (name,), open(name, "wb") as file:
                file.write(_BEGINNINGS[0] + b"\n" + data)
