"""Grids of test data: sentence pairs by number of symbols and length of the source.

A grid is a folder of three files: ``grid.src`` and ``grid.tgt``, one sentence per line,
which fairseq-preprocess takes as ``--testpref FOLDER/grid``, and ``manifest.json``, which
says which lines belong to which cell::

    {"seed": 42, "options": {"semantics": "ltl"}, "cells": [
        {"symbols": 0, "length": 1, "first": 0, "count": 1},
        {"symbols": 1, "length": 1, "first": 1, "count": 10, "timeout": 2}]}
"""

import json
import os
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from sit_fairseq.errors import UserError
from sit_fairseq.logic.syntax import read_sentences
from sit_fairseq.storage.files import replacing

MANIFEST = "manifest.json"


@dataclass
class Cell:
    """The samples of one number of symbols and one length.

    Attributes:
        symbols: number of distinct symbols of each source.
        length: number of tokens of each source.
        first: index of its first line in the files, from 0.
        count: number of its lines, which may be none.
        extra: other counts by name, e.g. how many formulas were given up; in the manifest
            they stand beside the four above.
    """

    symbols: int
    length: int
    first: int
    count: int
    extra: Dict[str, int] = field(default_factory=dict)


@dataclass
class Grid:
    """A grid of test data.

    Attributes:
        cells: the cells, whose lines follow each other without a gap.
        sources: the lines of ``grid.src``.
        targets: the lines of ``grid.tgt``.
        options: what the data were made with, as JSON.
        seed: the seed they were drawn from, None if that is unknown.
    """

    cells: List[Cell]
    sources: List[str]
    targets: List[str]
    options: Dict[str, Any] = field(default_factory=dict)
    seed: Optional[int] = None

    def write(self, folder: str) -> None:
        """Writes the three files; those of a grid that was there are replaced.

        Args:
            folder: the folder, which is made if it does not exist.

        Raises:
            ValueError: cells and lines do not fit together.
            UserError: the folder cannot be written to.
        """
        fault = self._fault()
        if fault is not None:
            raise ValueError(fault)
        cells = [
            {
                "symbols": cell.symbols,
                "length": cell.length,
                "first": cell.first,
                "count": cell.count,
                **cell.extra,
            }
            for cell in self.cells
        ]
        manifest = {"seed": self.seed, "options": self.options, "cells": cells}
        paths = [os.path.join(folder, name) for name in ("grid.src", "grid.tgt", MANIFEST)]
        try:
            os.makedirs(folder, exist_ok=True)
            with replacing(*paths) as (src, tgt, file):
                src.writelines(line + "\n" for line in self.sources)
                tgt.writelines(line + "\n" for line in self.targets)
                json.dump(manifest, file, indent=1)
        except OSError as error:
            raise UserError(f"Cannot write a grid to {folder}: {error.strerror}.")

    @classmethod
    def read(cls, folder: str) -> "Grid":
        """Reads the three files.

        Args:
            folder: the folder they are in.

        Returns:
            The grid.

        Raises:
            UserError: a file is missing or damaged, or they do not belong together.
        """
        path = os.path.join(folder, MANIFEST)
        text = "\n".join(read_sentences(path))
        try:
            manifest = json.loads(text)
            grid = cls([], [], [], dict(manifest["options"]), manifest["seed"])
            for entry in manifest["cells"]:
                extra = {name: int(number) for name, number in entry.items()}
                own = [extra.pop(name) for name in ("symbols", "length", "first", "count")]
                grid.cells.append(Cell(*own, extra))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise UserError(f"{path} is not the manifest of a grid; make the grid again.")
        grid.sources, grid.targets = (
            read_sentences(os.path.join(folder, f"grid.{side}")) for side in ("src", "tgt")
        )
        fault = grid._fault()
        if fault is not None:
            raise UserError(f"The files of {folder} do not belong together, {fault}.")
        return grid

    def _fault(self) -> Optional[str]:
        """What is wrong with the numbers of lines, None if nothing is."""
        end = 0
        for cell in self.cells:
            if cell.first != end or cell.count < 0:
                return f"the cell of {cell.symbols} symbols and length {cell.length} is misplaced"
            end += cell.count
        lines = (len(self.sources), len(self.targets))
        if lines != (end, end):
            return f"cells have {end} lines, but grid.src {lines[0]} and grid.tgt {lines[1]}"
        return None
