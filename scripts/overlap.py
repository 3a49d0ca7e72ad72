"""Counts the sentences of test files that occur in training files, verbatim and up to renaming.

    python scripts/overlap.py data/test data/unseen --with data/train
    python scripts/overlap.py spm/test.src --with spm/train.src --symbols '<ent[0-9]+>'

A file is named itself, or by the prefix of a data set, which stands for ``PREFIX.src``. Two
sentences are equal up to renaming if an injective renaming of symbols turns one into the other.
Symbols are the leaves of formulas that are no constants, unless ``--symbols`` says which tokens
are. The table says how many lines of a file have an equal one in another file or, in the rows
of ``itself``, before them in the same file.

With ``--expect-none`` the status is 1 if a line of a test file is a renaming of one in a
training file, else 0.
"""

import argparse
from array import array
from functools import lru_cache
from typing import Any, List, NamedTuple, Optional, Sequence

from sit_fairseq.data.generated_files import SymbolLister, source_file
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.result_file import markdown_table
from sit_fairseq.logic.syntax import (
    MalformedFormula,
    check_formula,
    formula_symbols,
    read_sentences,
    tokenize,
)
from sit_fairseq.symbols.canonical_form import form_key, text_key
from sit_fairseq.symbols.stream_dictionary import StreamDictionary


class Sentences(NamedTuple):
    """What is compared of the lines of a file, in their order.

    Attributes:
        path: the file.
        texts: a key for each line as it is.
        forms: a key for each line up to renaming.
    """

    path: str
    texts: array
    forms: array


def matching_symbols(pattern: str) -> SymbolLister:
    """What lists the symbols of a sentence, by a pattern.

    Args:
        pattern: a regular expression that a symbol matches in full.

    Returns:
        A function from tokens to the symbols among them, in order of first appearance.

    Raises:
        UserError: the pattern is none.
    """
    dictionary = StreamDictionary()
    dictionary.set_pattern(pattern)
    is_symbol = lru_cache(maxsize=None)(dictionary.is_symbol)
    return lambda tokens: list(dict.fromkeys(token for token in tokens if is_symbol(token)))


def read(name: str, symbols_of: Optional[SymbolLister]) -> Sentences:
    """Reads a file.

    Args:
        name: the file, or the prefix of a data set.
        symbols_of: lists the symbols of a sentence; None if all are formulas.

    Returns:
        Keys of its lines.

    Raises:
        UserError: the file cannot be read, or a line should be a formula and is not.
    """
    sentences = Sentences(source_file(name), array("Q"), array("Q"))
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


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("test", metavar="TEST", nargs="+", help="files, or prefixes of data sets, to look for")
    add(
        "--with",
        dest="train",
        metavar="TRAIN",
        nargs="+",
        default=[],
        help="files, or prefixes of data sets, to look in (default: each TEST is compared with "
        "itself alone)",
    )
    add("--symbols", metavar="REGEX", help="matches symbols in full, for what is no formula")
    add(
        "--expect-none",
        action="store_true",
        help="fail if a line of a TEST is a renaming of a line of a TRAIN",
    )
    return parser.parse_args(argv)


def main(argv: Optional[Sequence[str]] = None) -> None:
    """Runs the script.

    Args:
        argv: the command line, without the program's name; None for the real one.

    Raises:
        UserError: an option or a file cannot be used, or there is overlap where none is expected.
    """
    args = parse_args(argv)
    if args.expect_none and not args.train:
        raise UserError("--expect-none: say with --with what the files are compared with.")
    symbols_of = None if args.symbols is None else matching_symbols(args.symbols)
    rows: List[List[Any]] = [["file", "lines", "in", "verbatim", "up to renaming"]]

    def add_row(file: Sentences, place: str, verbatim: int, renamed: int) -> None:
        rows.append([file.path, len(file.texts), place, verbatim, renamed])

    def add_repetitions(file: Sentences) -> None:
        counts = (len(keys) - len(set(keys)) for keys in (file.texts, file.forms))
        add_row(file, "itself", *counts)

    tests = [read(name, symbols_of) for name in args.test]
    for test in tests:
        add_repetitions(test)
    overlap = 0
    for name in args.train:
        train = read(name, symbols_of)
        texts, forms = set(train.texts), set(train.forms)
        for test in tests:
            renamed = sum(key in forms for key in test.forms)
            add_row(test, train.path, sum(key in texts for key in test.texts), renamed)
            overlap += renamed
        add_repetitions(train)
    print(markdown_table(rows))
    if args.expect_none and overlap:
        raise UserError(
            f"{overlap} times a test sentence is the renaming of a training sentence: generate the "
            "tests with --exclude."
        )


if __name__ == "__main__":
    main()
