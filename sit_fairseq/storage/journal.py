"""A file that grows by a line of JSON for each piece of work done, so that a run can be continued.

The first line says what the journal is of. A killed run leaves at most half a line, which is dropped.
"""

import contextlib
import json
import os
from threading import Lock
from typing import Any, Dict, List, Mapping

from sit_fairseq.errors import UserError
from sit_fairseq.storage.files import try_lock

# How every header begins, and how long the values of a difference may be to be shown.
_HEADER, _LONGEST_SHOWN = b'{"journal": "', 40


def _line(entry: Mapping[str, Any]) -> bytes:
    """A line of UTF-8; what it cannot hold (lone surrogates) becomes a JSON escape."""
    return json.dumps(entry, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


def _difference(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    """The parts in which two headers differ, ``beam 3, not 5; other checkpoint``."""
    parts = []
    for name in {**ours, **theirs}:
        before, now = (json.dumps(header.get(name), sort_keys=True) for header in (theirs, ours))
        words, short = name.replace("_", " "), len(before + now) <= _LONGEST_SHOWN
        if before != now:
            parts.append(f"{words} {before}, not {now}" if short else f"other {words}")
    return "; ".join(parts)


class Journal(contextlib.AbstractContextManager):
    """The entries of interrupted runs, to which this one adds its own.

    A context manager: no other process can open the file until it is closed. An entry is on disk
    when :meth:`append` returns, which may be called from any thread.

    Args:
        path: the file; it and its folder are made if there is none.
        kind: what the entries are, in the plural, for the header and for messages.
        depends: settings and hashes of files that they depend on, as JSON. Entries made under other
            ones are refused; a journal without entries is begun anew.
        advice: ends the sentence that refuses a file, e.g. "pass --restart to discard it".
        where: the option that names the file, for messages.
        restart: discard what is there.

    Attributes:
        entries: those of earlier runs, in order.

    Raises:
        UserError: it is open elsewhere, of something else, damaged, or cannot be written.
    """

    def __init__(
        self,
        path: str,
        kind: str,
        depends: Mapping[str, Any],
        *,
        advice: str,
        where: str,
        restart: bool = False,
    ) -> None:
        self.path, self._where, self._appending = path, where, Lock()
        self._kind, self._advice = kind, advice
        self.entries: List[Dict[str, Any]] = []
        header = _line({"journal": kind, **depends})
        try:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            # Without a buffer: what cannot be written is not tried again on closing.
            self._file = open(path, "a+b", buffering=0)
        except OSError as error:
            raise self._unwritable(error)
        try:
            if not try_lock(self._file, path):
                raise UserError(
                    f"{path} is in use by another process; wait for it, or change {where}."
                )
            # As it comes back from the file: a tuple is a list there.
            self._size = 0 if restart else self._read(json.loads(header))
            self._file.truncate(self._size)
            if not self._size:
                self._write(header)
        except BaseException:
            self.close()
            raise

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def append(self, *entries: Dict[str, Any]) -> None:
        """Appends entries, of which an interruption may keep the first few; a UserError, and an
        unchanged file, if they cannot be written."""
        with self._appending:
            self._write(b"".join(map(_line, entries)))

    def close(self) -> None:
        """Closes the file; another process may open it then."""
        self._file.close()

    def remove(self) -> None:
        """Removes and closes the file."""
        os.remove(self.path)
        self.close()

    def damaged(self, number: int) -> UserError:
        """The error to raise if a line is not as it should be; the first entry is on line 2."""
        return UserError(f"Line {number} of {self.path} is damaged; {self._advice}.")

    def _read(self, header: Dict[str, Any]) -> int:
        """Reads what is there and returns how many bytes of it are whole lines."""
        self._file.seek(0)
        found = self._file.read()
        data, lines = found[: found.rfind(b"\n") + 1], []
        ours = found.startswith(_HEADER) or _HEADER.startswith(found)
        for number, line in enumerate(data.splitlines() if ours else [], start=1):
            try:
                lines.append({**json.loads(line)})
            except (ValueError, TypeError, RecursionError):
                raise self.damaged(number)
        theirs, *self.entries = lines or [header]
        if not ours or theirs["journal"] != self._kind:
            raise UserError(f"{self.path} is no journal of {self._kind}; {self._advice}.")
        difference = _difference(theirs, header)
        if difference and self.entries:
            raise UserError(
                f"{self.path} has {self._kind} of another run ({difference}); {self._advice}."
            )
        return 0 if difference else len(data)  # without entries there is nothing to keep

    def _write(self, data: bytes) -> None:
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            # Half a line in the middle would be damage.
            self._file.truncate(self._size)
            raise self._unwritable(error)
        self._size += len(data)

    def _unwritable(self, error: OSError) -> UserError:
        return UserError(f"Cannot write {self.path}: {error.strerror}; change {self._where}.")
