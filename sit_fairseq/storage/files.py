"""Files that survive interruptions and other writers: whole or not there, pairs together.

What is being written is a hidden file beside its place, ``.NAME.01234567.unfinished``, locked by
its process for as long as that lives. So what a killed process has left, which the next writer
removes, is told from what another process is writing, whom nobody gets in the way of.
"""

import contextlib
import fcntl
import os
import re
import secrets
import shutil
from typing import IO, Iterator, List, Optional, Sequence, TextIO

from sit_fairseq.errors import UserError


def try_lock(file: IO) -> bool:
    """Locks a file until it is closed or this process ends, however.

    Args:
        file: the file, open for writing.

    Returns:
        False if another process has locked it.

    Raises:
        OSError: there are no locks on this file system.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _hidden(path: str, ending: str = "unfinished") -> str:
    """A name beside a file, that nobody has."""
    folder, name = os.path.split(path)
    return os.path.join(folder, f".{name}.{secrets.token_hex(4)}.{ending}")


def _remove(path: str) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.remove(path)


@contextlib.contextmanager
def _alone_in(folder: str) -> Iterator[None]:
    """Lets one process at a time look around in a folder, where that can be had."""
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def _remove_what_was_left(path: str, ending: str) -> None:
    """Removes the hidden files of writers that were killed.

    Raises:
        UserError: one is of a writer that is at work.
    """
    folder, name = os.path.split(path)
    pattern = re.compile(rf"\.{re.escape(name)}\.[0-9a-f]{{8}}\.{ending}")
    left = []
    with contextlib.suppress(PermissionError):
        left = list(filter(pattern.fullmatch, os.listdir(folder or ".")))
    free = []
    for hidden in (os.path.join(folder, entry) for entry in left):
        with contextlib.suppress(OSError), open(hidden, "r+b") as file:
            if not try_lock(file):
                raise UserError(
                    f"{path} is being written by another process; wait for it, or name another "
                    "file."
                )
            free.append(hidden)
    for hidden in free:
        _remove(hidden)


@contextlib.contextmanager
def _hidden_file(path: str, ending: str = "unfinished") -> Iterator[str]:
    """Makes a locked hidden file beside a file, and removes it if it is still there."""
    name = _hidden(path, ending)
    with contextlib.ExitStack() as stack:
        with _alone_in(os.path.dirname(path) or "."):
            _remove_what_was_left(path, ending)
            file = stack.enter_context(open(name, "xb"))
            stack.callback(_remove, name)
            with contextlib.suppress(OSError):  # without locks, names are different all the same
                try_lock(file)
        yield name


@contextlib.contextmanager
def _kept(path: str) -> Iterator[Optional[str]]:
    """Another name for a file that is to be replaced; None if there is no such file."""
    if not os.path.lexists(path):
        yield None
        return
    name = _hidden(path)
    try:
        try:
            os.link(path, name, follow_symlinks=False)
        except OSError:  # not on every file system
            shutil.copy2(path, name)
        yield name
    finally:
        _remove(name)


def _put_in_place(names: Sequence[str], paths: Sequence[str]) -> None:
    """Gives files their names, all or none of them."""
    with contextlib.ExitStack() as stack:
        before = [stack.enter_context(_kept(path)) for path in paths[:-1]]
        try:
            for name, path in zip(names, paths):
                os.replace(name, path)
        except BaseException:
            if os.path.exists(names[-1]):  # not all are in their places
                for path, old in zip(paths, before):
                    if old is None:
                        _remove(path)
                    else:
                        os.replace(old, path)
            raise


@contextlib.contextmanager
def only_writer(path: str) -> Iterator[None]:
    """Keeps other processes that ask for the same away while a file is prepared.

    Args:
        path: the file, which may be written meanwhile by the functions below.

    Raises:
        UserError: another process prepares it, or nobody can write there.
    """
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(_hidden_file(path, "planned"))
        except OSError as error:
            raise UserError(f"Cannot write {path}: {error.strerror}; name another file.")
        yield


def make_folder(folder: str) -> None:
    """Makes the folder DIR of an export, and those above it, unless it is there.

    Raises:
        UserError: it cannot be made.
    """
    if os.path.isfile(folder):
        raise UserError(f"{folder} is a file; name a folder for DIR.")
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise UserError(f"Cannot make {folder}: {error.strerror}; name another DIR.")


@contextlib.contextmanager
def explaining_failure(path: str, other: str) -> Iterator[None]:
    """Around what is written by one who has nothing to add if that fails.

    Args:
        path: the file or the folder.
        other: the argument that names it.

    Raises:
        UserError: it cannot be written, as the disk is full for example.
    """
    try:
        yield
    except OSError as error:
        raise UserError(
            f"Cannot write {path}: {error.strerror}; make room, or name another {other}."
        )


@contextlib.contextmanager
def partial_files(*paths: str) -> Iterator[List[str]]:
    """Gives names to write to; the files take their places at the end, if all went well.

    They do so together: if one cannot be replaced, none is.

    Args:
        paths: the files to be written or replaced; a symbolic link is followed.

    Yields:
        A temporary name for each, of an empty file.

    Raises:
        UserError: another process is writing one of them.
    """
    places = [os.path.realpath(path) for path in paths]
    with contextlib.ExitStack() as stack:
        names = [stack.enter_context(_hidden_file(place)) for place in places]
        yield names
        _put_in_place(names, places)


@contextlib.contextmanager
def replacing(*paths: str) -> Iterator[List[TextIO]]:
    """Opens text files for writing that get their names only once all are complete.

    Args:
        paths: the files to be written or replaced.

    Yields:
        The open files.

    Raises:
        UserError: another process is writing one of them.
    """
    with partial_files(*paths) as names, contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(open(name, "w", encoding="utf-8", newline="\n")) for name in names
        ]


def whole_lines(data: bytes) -> bytes:
    """What a file holds up to its last line end; an interruption may leave half a line."""
    return data[: data.rfind(b"\n") + 1]
