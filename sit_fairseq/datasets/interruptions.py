"""What an interrupted run has left, and whether another may go on with it."""

import json
import os
from typing import Any, Dict, Iterable, Iterator, List, Sequence, Tuple

from sit_fairseq.datasets.grid_cells import FilledCell, GridRecipe
from sit_fairseq.errors import UserError
from sit_fairseq.files import whole_lines


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
