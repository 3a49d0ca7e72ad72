"""Counts test sentences that occur in training files, verbatim or up to renaming.

    sit overlap data/test data/unseen --with data/train
    sit overlap my/all --with my/train --symbols '<ent[0-9]+>' --write my/test
    sit overlap spm/test.src --with spm/train.src --symbols '<ent[0-9]+>'

A file is PREFIX.src of a data set, or any other by its name. Two sentences are equal up to renaming
if an injective renaming of symbols turns one into the other. Sentences are formulas, whose leaves
but constants are symbols, unless ``--domain`` names another domain, or ``--symbols`` says which
tokens are. The table counts the lines of
a file with an equal line in another file or, in the rows of ``itself``, earlier in the same file.
``--write`` makes a test set of the pairs without an equal line.
"""

import argparse
import sys
from array import array
from typing import Callable, Optional, Tuple

from sit_fairseq.commands._options import add_pattern
from sit_fairseq.datasets.pair_files import (
    read_forms,
    read_pairs,
    source_file,
    write_pairs,
)
from sit_fairseq.domains import find
from sit_fairseq.domains.by_name import assumed
from sit_fairseq.errors import UserError
from sit_fairseq.storage.files import refuse_same
from sit_fairseq.symbols.canonical_form import text_key
from sit_fairseq.symbols.pattern import SymbolPattern

# The place of lines that occur earlier in their own file.
_ITSELF = "itself"

# A key for each line of a file as it is, and one for each line up to renaming.
_Keys = Tuple[array, array]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("test", metavar="TEST", nargs="+", help="files, or prefixes of data sets, to look for")
    with_help = "files, or prefixes of data sets, to look in (default: each TEST in itself alone)"
    add("--with", dest="train", metavar="TRAIN", nargs="+", default=[], help=with_help)
    add_pattern(parser, "matches symbols in full, for sentences of any kind")
    add("--domain", metavar="NAME", help="a domain whose sentences these are, or MODULE:OBJECT")
    write_help = "write the pairs of the one TEST that rename no line of a TRAIN and no other pair"
    add("--write", metavar="PREFIX", help=write_help)
    expect_help = "fail if a line of a TEST is a renaming of a line of a TRAIN"
    add("--expect-none", action="store_true", help=expect_help)


def main(args: argparse.Namespace) -> None:
    if args.expect_none and not args.train:
        raise UserError("--expect-none: say with --with what the files are compared with.")
    if args.write and (len(args.test) > 1 or source_file(args.test[0]) == args.test[0]):
        raise UserError("--write makes one set of pairs: name one TEST, a prefix of .src and .tgt")
    if args.write:
        read = [*map(source_file, (*args.test, *args.train)), f"{args.test[0]}.tgt"]
        refuse_same(read, [f"{args.write}.{side}" for side in ("src", "tgt")], "write")
    if args.symbols and args.domain:
        raise UserError(
            "a domain says which tokens are symbols; name one of both", "symbols domain"
        )
    named = find(args.domain, "domain") if args.domain else assumed()
    pattern = SymbolPattern(args.symbols or named.symbols)
    check = named.judge().check if args.symbols is None else None
    keys = {name: _keys(name, pattern, check) for name in (*args.test, *args.train)}
    rows = [("file", "lines", "in", "verbatim", "up to renaming"), ("---",) * 5]
    rows += [_repeated(name, keys[name]) for name in args.test]
    found = 0
    for place in args.train:
        known = list(map(set, keys[place]))
        for name in args.test:
            counts = [sum(map(kept.__contains__, own)) for kept, own in zip(known, keys[name])]
            rows.append((source_file(name), len(keys[name][0]), source_file(place), *counts))
            found += counts[1]
        rows.append(_repeated(place, keys[place]))
    for row in rows:
        print("|", " | ".join(map(str, row)), "|")
    if args.write:
        seen = {form for name in args.train for form in keys[name][1]}
        pairs = []
        for pair, form in zip(read_pairs(args.test[0]), keys[args.test[0]][1]):
            if form not in seen:
                seen.add(form)
                pairs.append(pair)
        write_pairs(args.write, pairs)
        print(f"{len(pairs)} pairs in {args.write}.src and .tgt", file=sys.stderr)
    if args.expect_none and found:
        reason = "times a test sentence is the renaming of a training sentence"
        raise UserError(f"{found} {reason}: generate the tests with --exclude.")


def _keys(name: str, pattern: SymbolPattern, check: Optional[Callable[[str], None]]) -> _Keys:
    texts, forms = array("Q"), array("Q")
    for tokens, form in read_forms(name, pattern, check):
        texts.append(text_key(" ".join(tokens)))
        forms.append(form)
    return texts, forms


def _repeated(name: str, keys: _Keys) -> Tuple:
    """The row of the lines that occur earlier in their own file."""
    counts = [len(column) - len(set(column)) for column in keys]
    return source_file(name), len(keys[0]), _ITSELF, *counts
