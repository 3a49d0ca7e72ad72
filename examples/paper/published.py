"""Turns published data sets into sentence pairs for fairseq-preprocess.

    python -m examples.paper.published --semantics ltl ltl-35-supp data/ltl
    python -m examples.paper.published --semantics prop test.txt data/test

Files have two lines per sample, a formula and its trace or assignment, in the notation without
spaces of DeepLTL (ltl-35, ltl-35-supp, prop-35): ``&!ab`` and ``&!ab;{1}``, ``a1b0``. Of a folder
it reads train.txt, val.txt and test.txt, those there are, and writes OUT/train.src, OUT/train.tgt
and so on. ``sit grid OUT --from data/test --symbols '[a-z]'`` makes a heat map of such pairs.
"""

import argparse
import logging
import os
import re
import sys
from typing import Iterator, List, Sequence

from sit_fairseq.datasets.pair_files import Pair, write_pairs
from sit_fairseq.domains.formulas.syntax import RESERVED, formula_symbols
from sit_fairseq.domains.ltl.traces import check_ltl, parse_trace
from sit_fairseq.domains.prop.propositional import check_propositional, parse_assignment
from sit_fairseq.errors import MalformedFormula, UserError, advised
from sit_fairseq.storage.files import read_sentences

logger = logging.getLogger(__name__)

# The name of an answer, by semantics.
ANSWERS = {"prop": "assignment", "ltl": "trace"}

# The longest token first: <-> is not - and >, xor is not x, o and r.
_COMPACT = re.compile(
    "|".join([*map(re.escape, sorted(RESERVED, key=len, reverse=True)), r"[a-z]|(\S)"])
)


def compact_tokens(text: str) -> List[str]:
    """Splits a sentence in the compact notation of DeepLTL and of the published data sets.

    ``&!ab``, ``Ua<->bXc``, ``a;&ab;{b}`` and ``a1b0`` are the sentences ``& ! a b``, ``U a <-> b X
    c``, ``a ; & a b ; { b }`` and ``a 1 b 0``, as every symbol is one small letter. ``xor`` is
    always the operator. Whether the tokens make sense together is not looked at.

    Raises:
        MalformedFormula: a character belongs to no token.
    """
    tokens = []
    for match in _COMPACT.finditer(text):
        if match[1]:
            raise MalformedFormula(
                f"'{match[1]}' is neither an operator nor a symbol, which are the letters a to z"
            )
        tokens.append(match[0])
    return tokens


def compact_formula(text: str, semantics: str) -> List[str]:
    """The tokens of a formula in compact notation; a ValueError if it is none of the logic."""
    try:
        tokens = compact_tokens(text)
        check_ltl(tokens)
        if semantics == "prop":
            check_propositional(tokens)
    except ValueError as error:
        raise ValueError(f"the formula was expected, but {error}")
    return tokens


def compact_answer(text: str, formula: Sequence[str], semantics: str) -> List[str]:
    """The tokens of the answer to a formula in compact notation.

    Raises:
        ValueError: it is no answer, or has a symbol that the formula lacks.
    """
    try:
        tokens = compact_tokens(text)
        if semantics == "prop":
            symbols = [name for name, _ in parse_assignment(tokens)]
        else:
            symbols = parse_trace(tokens).symbols
        if not tokens:
            raise ValueError("the line is empty")
        for symbol in sorted(set(symbols) - set(formula_symbols(formula))):
            raise ValueError(f"the symbol '{symbol}' is not in the formula")
    except ValueError as error:
        raise ValueError(f"the {ANSWERS[semantics]} was expected, but {error}")
    return tokens


def read_published_pairs(path: str, semantics: str, bad: List[str]) -> Iterator[Pair]:
    """Reads a file of two lines per sample; blank lines at its end do not count.

    A line that cannot be read does not bring the others out of step: no answer can be read as a
    formula.

    Args:
        path: the file.
        semantics: a key of ``ANSWERS``.
        bad: gets a sentence for each line that cannot be read.

    Raises:
        UserError: the file cannot be opened, or is no text.
    """
    lines = read_sentences(path)
    while lines and not lines[-1].strip():
        lines.pop()
    formula: List[str] = []  # the one whose answer comes next
    for number, line in enumerate(lines, start=1):
        try:
            if not formula:
                formula = compact_formula(line, semantics)
                continue
            yield " ".join(formula), " ".join(compact_answer(line, formula, semantics))
            formula = []
        except ValueError as error:
            bad.append(f"line {number}: {error}")
            try:  # the formula of the next sample, where the answer is missing
                formula = compact_formula(line, semantics) if formula else []
            except ValueError:
                formula = []
    if formula:
        bad.append(f"line {len(lines)}: the {ANSWERS[semantics]} of this formula is missing")


def _checked(pairs: List[Pair], bad: List[str], path: str, skip_malformed: bool) -> List[Pair]:
    """Refuses a file with bad samples, unless they are to be left out, or without good ones."""
    if bad and not skip_malformed:
        raise UserError(f"{path} is malformed, {bad[0]}; correct it, or skip malformed samples")
    if not pairs:
        raise UserError(f"{path} has no sample that can be read", "semantics")
    for reason in bad:
        logger.warning("%s is malformed, %s; left out", path, reason)
    return pairs


def import_pairs(
    source: str, target: str, semantics: str, skip_malformed: bool = False
) -> Iterator[str]:
    """Converts a file of pairs, or the splits of a folder.

    Args:
        source: the file or folder.
        target: names the files ``TARGET.src`` and ``TARGET.tgt``, or the folder of such files.
        semantics: a key of ``ANSWERS``.
        skip_malformed: leave out samples that cannot be read, with a warning.

    Yields:
        A summary of each file that was written.

    Raises:
        UserError: a file cannot be used.
    """
    files = [(source, target)]
    if os.path.isdir(source):
        files = [
            (os.path.join(source, f"{split}.txt"), os.path.join(target, split))
            for split in ("train", "val", "test")
            if os.path.exists(os.path.join(source, f"{split}.txt"))
        ]
    if not files:
        raise UserError(f"{source} has no train.txt, val.txt or test.txt; name a file instead.")
    for path, prefix in files:
        bad: List[str] = []
        pairs = list(read_published_pairs(path, semantics, bad))
        write_pairs(prefix, _checked(pairs, bad, path, skip_malformed))
        yield f"{len(pairs)} samples of {path} in {prefix}.src and .tgt"


def main() -> None:
    """Reads the command line and does what it says."""
    logging.basicConfig(format="%(message)s")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("source", metavar="IN", help="file or folder")
    add("target", metavar="OUT", help="prefix of the files, or folder, to write")
    add("--semantics", choices=sorted(ANSWERS), required=True, help="the logic")
    skip_help = "leave out samples that cannot be read, with a warning"
    add("--skip-malformed", action="store_true", help=skip_help)
    args = parser.parse_args()
    for summary in import_pairs(args.source, args.target, args.semantics, args.skip_malformed):
        print(summary)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        sys.exit(advised(str(error)))
