"""Files that survive interruptions: whole or not there, or cut after their last whole line."""

import contextlib
import os
from typing import Iterator, List, TextIO


@contextlib.contextmanager
def partial_files(*paths: str) -> Iterator[List[str]]:
    """Gives names to write to; the files take their places at the end, if all went well.

    Args:
        paths: the files to be written or replaced.

    Yields:
        A temporary name for each.
    """
    temporary = [path + ".tmp" for path in paths]
    try:
        yield temporary
        for name, path in zip(temporary, paths):
            os.replace(name, path)
    finally:
        for name in temporary:
            with contextlib.suppress(FileNotFoundError):
                os.remove(name)


@contextlib.contextmanager
def replacing(*paths: str) -> Iterator[List[TextIO]]:
    """Opens text files for writing that get their names only once all are complete.

    Args:
        paths: the files to be written or replaced.

    Yields:
        The open files.
    """
    with partial_files(*paths) as names, contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(open(name, "w", encoding="utf-8", newline="\n")) for name in names
        ]


def whole_lines(data: bytes) -> bytes:
    """What a file holds up to its last line end; an interruption may leave half a line."""
    return data[: data.rfind(b"\n") + 1]
