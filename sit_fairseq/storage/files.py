"""Files that are written whole or not at all.

A file is written under a hidden name beside its place, ``.NAME.unfinished``, brought to the disk, and
renamed. The hidden file is locked meanwhile, so that a second writer ends instead of mixing its bytes
in, and what a killed writer has left is written anew by the next.
"""

import codecs
import contextlib
import errno
import fcntl
import hashlib
import os
from typing import IO, Iterable, Iterator, List, TextIO, Union

from sit_fairseq.errors import UserError

# The name of a file or a folder.
Place = Union[str, os.PathLike]

# Files of weights that a folder may hold, in the order of preference.
WEIGHTS = "model.safetensors"
_MODELS = ("model.pt", WEIGHTS, "checkpoint_best.pt")


def model_file(path: Place) -> str:
    """The file of a model, which its folder may stand for; a UserError if the folder holds none."""
    path = os.fsdecode(path)
    if not os.path.isdir(path):
        return path
    found = next(filter(os.path.isfile, (os.path.join(path, name) for name in _MODELS)), None)
    if found is None:
        raise UserError(
            f"{path} holds no model ({', '.join(_MODELS)}); name another folder", "path"
        )
    return found


def typed_text(data: bytes, name: str, parameter: str = "") -> str:
    """A text that people typed, in UTF-8; bytes that are none become U+FFFD. A UserError for UTF-16."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UserError(f"{name} is in UTF-16; save it as UTF-8", parameter)
    return data.decode("utf-8-sig", "replace")


def refuse_same(read: Iterable[Place], written: Iterable[Place], parameter: str) -> None:
    """Raises a UserError if a file that is read would be written over."""
    known = set(map(os.path.realpath, read))
    for path in written:
        if os.path.realpath(path) in known:
            raise UserError(f"{path} would be written over; name another file", parameter)


def try_lock(file: IO, path: str) -> bool:
    """Locks a file that is open for writing until it is closed; False if another process has
    locked, renamed or removed it."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # no locks on this file system
        return True
    return _is_named(file, path)


def _is_named(file: IO, path: str) -> bool:
    return os.path.exists(path) and os.path.samestat(os.fstat(file.fileno()), os.stat(path))


def make_folder(folder: str) -> None:
    """Makes a folder and those above it; a UserError if it cannot."""
    if os.path.isfile(folder):
        raise UserError(f"{folder} is a file; name a folder")
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise UserError(f"Cannot make {folder}: {error.strerror}; name another folder")


@contextlib.contextmanager
def explaining_failure(path: str) -> Iterator[None]:
    """Context manager: an ``OSError``, for example of a full disk, becomes a UserError."""
    try:
        yield
    except OSError as error:
        room = "make room, or " * (error.errno in (errno.ENOSPC, errno.EDQUOT))
        raise UserError(f"Cannot write {path}: {error.strerror}; {room}write somewhere else")


@contextlib.contextmanager
def _unfinished(path: str) -> Iterator[str]:
    """Makes a locked hidden file beside a file, and removes it if it is still there."""
    folder, name = os.path.split(path)
    hidden = os.path.join(folder, f".{name}.unfinished")
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if os.path.exists(path) and not os.path.isfile(path):
        raise UserError(f"{path} is a device or a pipe; name a file")
    with open(hidden, "ab") as file:
        if not try_lock(file, hidden):
            raise UserError(f"{path} is being written by another process; wait for it")
        try:
            file.truncate(0)
            yield hidden
        finally:
            if _is_named(file, hidden):
                os.remove(hidden)


@contextlib.contextmanager
def partial_files(*paths: Place) -> Iterator[List[str]]:
    """Gives names to write to; the files take their places at the end, if all went well.

    The last file is the sign that all are there: it is removed before the others are replaced, and
    comes after them, so that a kill between two renamings leaves no file beside another that it
    does not belong to. Folders are made; a symbolic link is followed. A UserError if a file cannot
    be written, or another process is writing it.
    """
    places = [os.path.realpath(os.fsdecode(path)) for path in paths]
    for place in places:
        make_folder(os.path.dirname(place))
    with explaining_failure(", ".join(map(os.fsdecode, paths))), contextlib.ExitStack() as stack:
        names = [stack.enter_context(_unfinished(place)) for place in places]
        yield names
        for name in names:
            with open(name, "rb") as file:
                os.fsync(file.fileno())
        if len(places) > 1 and os.path.exists(places[-1]):
            os.remove(places[-1])
        for name, place in zip(names, places):
            os.replace(name, place)


@contextlib.contextmanager
def replacing(*paths: Place) -> Iterator[List[TextIO]]:
    """:func:`partial_files` opened as text."""
    with partial_files(*paths) as names, contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(open(name, "w", encoding="utf-8", newline="\n")) for name in names
        ]


def sha256_of_file(path: str) -> str:
    """The SHA-256 of a file's content, in hexadecimal digits; a UserError if it cannot be read."""
    try:
        with open(path, "rb") as file:
            return hashlib.sha256(file.read()).hexdigest()
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror}; name an existing file.")


def read_sentences(path: str) -> List[str]:
    """The lines of a UTF-8 file without their line ends, Unix or Windows; empty ones included. A
    UserError for a byte order mark, a carriage return within a line, or bytes that are no UTF-8."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror}; name an existing text file.")
    if data.startswith(codecs.BOM_UTF8):
        raise UserError(f"Line 1 of {path} begins with a byte order mark; save it without one.")
    raw_lines = data.split(b"\n")
    if not raw_lines[-1]:
        raw_lines.pop()  # nothing follows the last line end
    lines = []
    for number, raw in enumerate(raw_lines, start=1):
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise UserError(f"Line {number} of {path} is not UTF-8; convert the file to UTF-8.")
        lines.append(line.removesuffix("\r"))
        if "\r" in lines[-1]:
            raise UserError(
                f"Line {number} of {path} has a carriage return in it; save the file with Unix or "
                "Windows line ends."
            )
    return lines
