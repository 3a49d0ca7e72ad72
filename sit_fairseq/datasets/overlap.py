"""Sentences of some files that occur in others, verbatim or up to renaming."""

from array import array
from typing import List, NamedTuple, Optional, Sequence

from sit_fairseq.datasets.drawing import read_forms
from sit_fairseq.datasets.pair_files import Pair, read_pairs, source_file
from sit_fairseq.symbols.canonical_form import text_key
from sit_fairseq.symbols.pattern import SymbolPattern

# The place of lines that occur earlier in their own file.
ITSELF = "itself"


class Overlap(NamedTuple):
    """How many lines of a file occur, verbatim or renamed, in a place: a file or ``ITSELF``."""

    path: str
    lines: int
    place: str
    verbatim: int
    renamed: int


class _Keys(NamedTuple):
    """A file, with a key for each line as it is and a key for each line up to renaming."""

    path: str
    texts: array
    forms: array

    def found_in(self, other: "_Keys") -> Overlap:
        counts = [sum(map(set(b).__contains__, a)) for a, b in zip(self[1:], other[1:])]
        return Overlap(self.path, len(self.texts), other.path, *counts)

    def repeated(self) -> Overlap:
        counts = [len(keys) - len(set(keys)) for keys in self[1:]]
        return Overlap(self.path, len(self.texts), ITSELF, *counts)


def _read(name: str, pattern: Optional[SymbolPattern]) -> _Keys:
    keys = _Keys(source_file(name), array("Q"), array("Q"))
    for tokens, form in read_forms(name, pattern and pattern.symbols, pattern):
        keys.texts.append(text_key(" ".join(tokens)))
        keys.forms.append(form)
    return keys


def measure_overlap(
    tests: Sequence[str], train: Sequence[str], symbols: Optional[str]
) -> List[Overlap]:
    """Compares files or data sets, which are named by their prefix.

    Args:
        tests: what to look for.
        train: what to look in.
        symbols: pattern of the symbols; None if all sentences are formulas.

    Returns:
        An overlap for each file in itself and for each test in each training file.

    Raises:
        UserError: a file cannot be used.
    """
    pattern = None if symbols is None else SymbolPattern(symbols)
    files = [_read(name, pattern) for name in tests]
    overlaps = [file.repeated() for file in files]
    for name in train:
        other = _read(name, pattern)
        overlaps += [file.found_in(other) for file in files]
        overlaps.append(other.repeated())
    return overlaps


def without_renamings(test: str, train: Sequence[str], symbols: Optional[str]) -> List[Pair]:
    """The pairs of a data set whose source is no renaming of a training sentence, nor of a pair
    before it.

    Args:
        test: prefix of the data set.
        train, symbols: see :func:`measure_overlap`.

    Raises:
        UserError: a file cannot be used.
    """
    pattern = None if symbols is None else SymbolPattern(symbols)
    known = {form for name in train for form in _read(name, pattern).forms}
    found = []
    for pair, form in zip(read_pairs(test), _read(f"{test}.src", pattern).forms):
        if form not in known:
            known.add(form)
            found.append(pair)
    return found
