"""Grids of test data: sentence pairs by number of symbols and length of the source.

A grid is a folder of three files: ``grid.src`` and ``grid.tgt``, for ``fairseq-preprocess
--testpref FOLDER/grid``, and ``manifest.json``, which says which lines belong to which cell::

    {"seed": 42, "options": {"domain": "copying@1"}, "cells": [
        {"symbols": 0, "length": 1, "first": 0, "count": 1},
        {"symbols": 1, "length": 1, "first": 1, "count": 10, "timeout": 2}]}
"""

import json
import os
from dataclasses import dataclass, field
from random import Random
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

from sit_fairseq.datasets.pair_files import Pair, random_pairs, read_pairs
from sit_fairseq.errors import UserError
from sit_fairseq.storage.files import read_sentences, replacing

MANIFEST = "manifest.json"
FILES = ("grid.src", "grid.tgt", MANIFEST)


@dataclass
class Cell:
    """The samples of one number of symbols and one length, in tokens of the source: ``count`` lines
    from ``first`` on, from 0. In the manifest ``extra`` counts stand beside these four."""

    symbols: int
    length: int
    first: int
    count: int
    extra: Dict[str, int] = field(default_factory=dict)


@dataclass
class Grid:
    """Cells, whose lines follow each other without a gap, the lines of ``grid.src`` and
    ``grid.tgt``, the options that the data were made with, as JSON, and their seed, None if it is
    unknown."""

    cells: List[Cell]
    sources: List[str]
    targets: List[str]
    options: Dict[str, Any] = field(default_factory=dict)
    seed: Optional[int] = None

    def add(
        self, symbols: int, length: int, pairs: Iterable[Pair], extra: Mapping[str, int] = {}
    ) -> None:
        """Appends a cell; see the attributes of :class:`Cell`."""
        first = len(self.sources)
        for source, target in pairs:
            self.sources.append(source)
            self.targets.append(target)
        self.cells.append(Cell(symbols, length, first, len(self.sources) - first, dict(extra)))

    def write(self, folder: str) -> None:
        """Writes the three files into a folder, which is made if it does not exist."""
        cells = [{**vars(cell), **cell.extra} for cell in self.cells]
        for cell in cells:
            del cell["extra"]
        manifest = {"seed": self.seed, "options": self.options, "cells": cells}
        with replacing(*(os.path.join(folder, name) for name in FILES)) as (src, tgt, file):
            src.writelines(line + "\n" for line in self.sources)
            tgt.writelines(line + "\n" for line in self.targets)
            json.dump(manifest, file, indent=1)

    @classmethod
    def read(cls, folder: str) -> "Grid":
        """Reads the three files of a folder; a UserError if one is missing or damaged, or they do
        not belong together."""
        path = os.path.join(folder, MANIFEST)
        text = "\n".join(read_sentences(path))
        try:
            manifest = json.loads(text)
            grid = cls([], [], [], dict(manifest["options"]), manifest["seed"])
            for entry in manifest["cells"]:
                extra = {name: int(number) for name, number in entry.items()}
                own = [extra.pop(name) for name in ("symbols", "length", "first", "count")]
                grid.cells.append(Cell(*own, extra))
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
            raise UserError(f"{path} is not the manifest of a grid; make the grid again.")
        pairs = read_pairs(os.path.join(folder, "grid"))
        grid.sources, grid.targets = ([pair[side] for pair in pairs] for side in (0, 1))
        end = 0
        for cell in grid.cells:
            if cell.first != end or cell.count < 0:
                raise UserError(f"In {path} cells do not follow each other; make the grid again.")
            end += cell.count
        if end != len(pairs):
            raise UserError(f"{path} is of {end} lines, not {len(pairs)}; make the grid again.")
        return grid


def grid_of_pairs(
    pairs: Iterable[Pair],
    symbols_of: Callable[[Sequence[str]], List[str]],
    options: Dict[str, Any],
    per_cell: Optional[int] = None,
    seed: Optional[int] = None,
) -> Grid:
    """A grid of the pairs of any task, with a cell for each number of symbols, which ``symbols_of``
    lists, and length that occurs. Of more than ``per_cell`` pairs of a cell a random choice is
    taken, in their order."""
    pairs = list(pairs)
    grid, rng = Grid([], [], [], options, seed), Random(seed)
    for (symbols, length), places in by_cell((pair[0] for pair in pairs), symbols_of).items():
        size = min(per_cell or len(places), len(places))
        grid.add(symbols, length, random_pairs([pairs[place] for place in places], size, rng))
    return grid


def by_cell(
    sources: Iterable[str], symbols_of: Callable[[Sequence[str]], List[str]]
) -> Dict[Tuple[int, int], List[int]]:
    """The places of sentences by the number of symbols and the length, in the order of these."""
    cells: Dict[Tuple[int, int], List[int]] = {}
    for place, source in enumerate(sources):
        tokens = source.split()
        cells.setdefault((len(symbols_of(tokens)), len(tokens)), []).append(place)
    return dict(sorted(cells.items()))
