"""What an interrupted run has left, and whether another may go on with it."""

import json
import os
from contextlib import ExitStack
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, TextIO, Tuple

from sit_fairseq.datasets.grid_cells import FilledCell, GridRecipe
from sit_fairseq.errors import UserError
from sit_fairseq.files import replacing, whole_lines


def check_same_options(theirs: Dict[str, Any], ours: Dict[str, Any]) -> None:
    """Refuses to go on with what a run with other options has begun.

    Args:
        theirs: options of that run by name.
        ours: the same options of this one.

    Raises:
        UserError: two differ.
        KeyError: that run lacks one.
    """
    for name, value in ours.items():
        if theirs[name] != value:
            raise UserError(
                f"The interrupted run had --{name.replace('_', '-')} {theirs[name]}, not "
                f"{value}: use the same options, or omit --resume."
            )


class CellJournal:
    """The cells that are finished, one per line, while others are not.

    Args:
        path: the file.
        recipe: what the data depend on.
    """

    def __init__(self, path: str, recipe: GridRecipe) -> None:
        self.path = path
        self._recipe = recipe

    def resume(self, cells: Sequence[Tuple[int, int]]) -> List[FilledCell]:
        """Reads what an interrupted run has left, and cuts off what it had not finished.

        Args:
            cells: all cells in order.

        Returns:
            The first of them that are finished; none if there was no such run, or it
            had only just begun.

        Raises:
            UserError: that run had other options, or the file is damaged.
        """
        if not os.path.exists(self.path):
            return []
        with open(self.path, "rb") as file:
            whole = whole_lines(file.read())
        if not whole:
            return []
        try:
            theirs, *entries = [json.loads(line) for line in whole.splitlines()]
            check_same_options(theirs, self._recipe._asdict())
            finished = [FilledCell(**entry) for entry in entries]
            damaged = [(cell.symbols, cell.length) for cell in finished] != cells[: len(finished)]
        except (ValueError, KeyError, TypeError):
            damaged = True
        if damaged:
            raise UserError(f"{self.path} is damaged: omit --resume.")
        os.truncate(self.path, len(whole))
        return finished

    def write(self, results: Iterable[FilledCell], new: bool) -> Iterator[FilledCell]:
        """Passes cells on once they are written.

        Args:
            results: cells that follow those in the file.
            new: whether to begin the file.

        Yields:
            The cells.
        """
        with open(self.path, "w" if new else "a", encoding="utf-8") as file:
            if new:
                print(json.dumps(self._recipe._asdict()), file=file, flush=True)
            for cell in results:
                print(json.dumps(cell._asdict()), file=file, flush=True)
                yield cell


class UnfinishedFiles:
    """Files of one line for each item, which have temporary names until they are complete.

    A small one beside them says how far they are valid.

    Args:
        prefix: what the names of the files begin with.
        endings: what they end with, after a dot.
        options: what the data depend on.
    """

    def __init__(self, prefix: str, endings: Sequence[str], options: Dict[str, Any]) -> None:
        self._prefix = prefix
        self._endings = endings
        self._options = options
        self._state_file = f"{prefix}.resume"

    def part(self, ending: str) -> str:
        """Temporary name of a file."""
        return f"{self._prefix}.{ending}.part"

    def resume(self) -> Optional[Dict[str, Any]]:
        """Cuts off what an interrupted run has written since it last saved its state.

        Returns:
            That state; None if there was no such run.

        Raises:
            UserError: that run had other options, or its files are damaged.
        """
        if not os.path.exists(self._state_file):
            return None
        parts = [self.part(ending) for ending in self._endings]
        try:
            with open(self._state_file, encoding="utf-8") as file:
                state = json.load(file)
            check_same_options(state["recipe"], self._options)
            sizes = state["sizes"]
            damaged = any(os.path.getsize(part) < size for part, size in zip(parts, sizes))
        except (OSError, ValueError, KeyError, TypeError):
            damaged = True
        if damaged:
            raise UserError(f"{self._state_file} or what it describes is damaged: omit --resume.")
        for part, size in zip(parts, sizes):
            os.truncate(part, size)
        return state

    def open(self, stack: ExitStack, new: bool) -> List[TextIO]:
        """Opens the files for writing.

        Args:
            stack: closes them.
            new: whether to begin them.
        """
        mode = "w" if new else "a"
        return [
            stack.enter_context(open(self.part(ending), mode, encoding="utf-8", newline="\n"))
            for ending in self._endings
        ]

    def save(self, files: Sequence[TextIO], state: Dict[str, Any]) -> None:
        """Makes sure that a resumed run can start from here.

        Args:
            files: the open files.
            state: what it cannot see in them, as JSON.
        """
        for file in files:
            file.flush()
        sizes = [os.path.getsize(self.part(ending)) for ending in self._endings]
        with replacing(self._state_file) as (file,):
            json.dump({"recipe": self._options, "sizes": sizes, **state}, file)

    def finish(self) -> None:
        """Gives the files their names."""
        for ending in self._endings:
            os.replace(self.part(ending), f"{self._prefix}.{ending}")
        os.remove(self._state_file)
