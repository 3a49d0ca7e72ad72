"""Sentences of some files that occur in others, verbatim or up to renaming."""

from array import array
from typing import List, NamedTuple, Optional, Sequence, Tuple

from sit_fairseq.datasets.drawing import SymbolLister
from sit_fairseq.datasets.pair_files import source_file
from sit_fairseq.errors import UserError
from sit_fairseq.logic.syntax import (
    MalformedFormula,
    check_formula,
    formula_symbols,
    read_sentences,
    tokenize,
)
from sit_fairseq.symbols.canonical_form import form_key, text_key
from sit_fairseq.symbols.pattern import SymbolPattern


class Overlap(NamedTuple):
    """How many lines of a file have an equal one elsewhere.

    Attributes:
        path: the file.
        lines: how many it has.
        place: the other file, or ``itself`` for earlier lines of the same one.
        verbatim: how many occur there.
        renamed: how many are a renaming of one that does.
    """

    path: str
    lines: int
    place: str
    verbatim: int
    renamed: int


class SentenceKeys(NamedTuple):
    """What is compared of the lines of a file, in their order.

    Attributes:
        path: the file.
        texts: a key for each line as it is.
        forms: a key for each line up to renaming.
    """

    path: str
    texts: array
    forms: array


def _read(name: str, symbols_of: Optional[SymbolLister]) -> SentenceKeys:
    """Reads a file.

    Args:
        name: the file, or the prefix of a data set.
        symbols_of: lists the symbols of a sentence; None if all are formulas.

    Returns:
        Keys of its lines.

    Raises:
        UserError: the file cannot be read, or a line should be a formula and is not.
    """
    sentences = SentenceKeys(source_file(name), array("Q"), array("Q"))
    for number, line in enumerate(read_sentences(sentences.path), start=1):
        tokens = tokenize(line)
        if symbols_of is None:
            try:
                check_formula(tokens)
            except MalformedFormula as error:
                raise UserError(
                    f"Line {number} of {sentences.path} is no formula, {error}: say with --symbols "
                    "which tokens are the symbols."
                )
        sentences.texts.append(text_key(" ".join(tokens)))
        sentences.forms.append(form_key(tokens, (symbols_of or formula_symbols)(tokens)))
    return sentences


def _repetitions(file: SentenceKeys) -> Overlap:
    """How many lines of a file are equal to one before them."""
    counts = (len(keys) - len(set(keys)) for keys in (file.texts, file.forms))
    return Overlap(file.path, len(file.texts), "itself", *counts)


def measure_overlap(
    tests: Sequence[str], train: Sequence[str], symbols: Optional[str]
) -> Tuple[List[Overlap], int]:
    """Compares files.

    Args:
        tests: files, or prefixes of data sets, to look for.
        train: likewise, to look in.
        symbols: matches the symbols in full; None if all sentences are formulas.

    Returns:
        A row for each file in itself and for each test in each training file, and how often a
        test sentence is the renaming of a training sentence.

    Raises:
        UserError: a file cannot be used.
    """
    symbols_of = None if symbols is None else SymbolPattern(symbols).symbols
    files = [_read(name, symbols_of) for name in tests]
    overlaps = [_repetitions(file) for file in files]
    total = 0
    for name in train:
        other = _read(name, symbols_of)
        texts, forms = set(other.texts), set(other.forms)
        for file in files:
            verbatim = sum(key in texts for key in file.texts)
            renamed = sum(key in forms for key in file.forms)
            overlaps.append(Overlap(file.path, len(file.texts), other.path, verbatim, renamed))
            total += renamed
        overlaps.append(_repetitions(other))
    return overlaps, total
