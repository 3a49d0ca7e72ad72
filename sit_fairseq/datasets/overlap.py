"""Sentences of some files that occur in others, verbatim or up to renaming."""

from array import array
from typing import Callable, List, NamedTuple, Optional, Sequence, Tuple

from sit_fairseq.datasets.pair_files import Pair, read_forms, read_pairs, source_file
from sit_fairseq.symbols.canonical_form import text_key
from sit_fairseq.symbols.pattern import SymbolPattern

# The place of lines that occur earlier in their own file.
ITSELF = "itself"

# Raises MalformedFormula if a line cannot be read.
Check = Optional[Callable[[str], None]]


class Overlap(NamedTuple):
    """How many lines of a file occur, verbatim or renamed, in a place: a file or ``ITSELF``."""

    path: str
    lines: int
    place: str
    verbatim: int
    renamed: int


def _keys(name: str, pattern: SymbolPattern, check: Check) -> Tuple[array, array]:
    """A key for each line of a file as it is, and one for each line up to renaming."""
    texts, forms = array("Q"), array("Q")
    for tokens, form in read_forms(name, pattern, check):
        texts.append(text_key(" ".join(tokens)))
        forms.append(form)
    return texts, forms


def measure_overlap(
    tests: Sequence[str], train: Sequence[str], symbols: str, check: Check = None
) -> List[Overlap]:
    """Compares each file or data set of ``tests`` with itself, and with each of ``train``.

    Data sets are named by their prefix; ``symbols`` is a pattern. A UserError if a file cannot be
    used.
    """

    def repeated(name: str, keys: Tuple[array, array]) -> Overlap:
        counts = [len(column) - len(set(column)) for column in keys]
        return Overlap(source_file(name), len(keys[0]), ITSELF, *counts)

    pattern = SymbolPattern(symbols)
    files = {name: _keys(name, pattern, check) for name in tests}
    overlaps = [repeated(name, files[name]) for name in tests]
    for place in train:
        other = _keys(place, pattern, check)
        for name in tests:
            columns = zip(files[name], other)
            counts = [sum(map(set(known).__contains__, column)) for column, known in columns]
            lines = len(files[name][0])
            overlaps.append(Overlap(source_file(name), lines, source_file(place), *counts))
        overlaps.append(repeated(place, other))
    return overlaps


def without_renamings(
    test: str, train: Sequence[str], symbols: str, check: Check = None
) -> List[Pair]:
    """The pairs of a data set whose source renames no training sentence and no pair before it, see
    :func:`measure_overlap`."""
    pattern = SymbolPattern(symbols)
    known = {form for name in train for form in _keys(name, pattern, check)[1]}
    found = []
    for pair, form in zip(read_pairs(test), _keys(f"{test}.src", pattern, check)[1]):
        if form not in known:
            known.add(form)
            found.append(pair)
    return found
