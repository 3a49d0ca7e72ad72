"""Counts test sentences that occur in training files, verbatim or up to renaming.

    sit overlap data/test data/unseen --with data/train
    sit overlap my/all --with my/train --symbols '<ent[0-9]+>' --write my/test
    sit overlap spm/test.src --with spm/train.src --symbols '<ent[0-9]+>'

A file is PREFIX.src of a data set, or any other by its name. Two sentences are equal up to renaming
if an injective renaming of symbols turns one into the other. Sentences are formulas, whose leaves
but constants are symbols, unless ``--symbols`` says which tokens are. The table counts the lines of
a file with an equal line in another file or, in the rows of ``itself``, earlier in the same file.
``--write`` makes a test set of the pairs without an equal line.
"""

import argparse
import sys

from sit_fairseq.commands._options import add_pattern
from sit_fairseq.datasets.overlap import ITSELF, measure_overlap, without_renamings
from sit_fairseq.datasets.pair_files import write_pairs
from sit_fairseq.domains.formulas.syntax import SYMBOLS, check_formula
from sit_fairseq.errors import UserError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("test", metavar="TEST", nargs="+", help="files, or prefixes of data sets, to look for")
    with_help = "files, or prefixes of data sets, to look in (default: each TEST in itself alone)"
    add("--with", dest="train", metavar="TRAIN", nargs="+", default=[], help=with_help)
    add_pattern(parser, "matches symbols in full, for sentences of any kind")
    write_help = "write the pairs of the one TEST that rename no line of a TRAIN and no other pair"
    add("--write", metavar="PREFIX", help=write_help)
    expect_help = "fail if a line of a TEST is a renaming of a line of a TRAIN"
    add("--expect-none", action="store_true", help=expect_help)


def _check_formula(line: str) -> None:
    check_formula(line.split())


def main(args: argparse.Namespace) -> None:
    if args.expect_none and not args.train:
        raise UserError("--expect-none: say with --with what the files are compared with.")
    if args.write and len(args.test) > 1:
        raise UserError("--write makes one set: name one TEST")
    read = (args.symbols or SYMBOLS, _check_formula if args.symbols is None else None)
    overlaps = measure_overlap(args.test, args.train, *read)
    rows = [("file", "lines", "in", "verbatim", "up to renaming"), ("---",) * 5, *overlaps]
    for row in rows:
        print("|", " | ".join(map(str, row)), "|")
    if args.write:
        pairs = without_renamings(args.test[0], args.train, *read)
        write_pairs(args.write, pairs)
        print(f"{len(pairs)} pairs in {args.write}.src and .tgt", file=sys.stderr)
    renamed = sum(overlap.renamed for overlap in overlaps if overlap.place != ITSELF)
    if args.expect_none and renamed:
        raise UserError(
            f"{renamed} times a test sentence is the renaming of a training sentence: generate the "
            "tests with --exclude."
        )
