"""Renames the symbols of each sentence pair at random.

    sit rename data/test data/renamed --symbols '[a-z]' --names p,q,r,s,t,u,v,w --seed 1

reads ``data/test.src`` and ``data/test.tgt`` and writes ``data/renamed.src`` and ``.tgt``. An
invariant model's answer to a renamed problem is its renamed answer. Symbols of several sorts,
--symbols 'table=T[0-9]+' 'column=c[0-9]+', get names of the same sort.
"""

import argparse
from random import Random
from typing import Iterable, Iterator, Sequence

from sit_fairseq.commands import _options
from sit_fairseq.datasets.pair_files import Pair, read_pairs, write_pairs
from sit_fairseq.errors import UserError
from sit_fairseq.storage.files import refuse_same
from sit_fairseq.symbols.pattern import SymbolPattern
from sit_fairseq.symbols.renaming import random_renamings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("in_prefix", metavar="IN_PREFIX", help="read IN_PREFIX.src and .tgt")
    add("out_prefix", metavar="OUT_PREFIX", help="write OUT_PREFIX.src and .tgt")
    _options.add_pattern(parser, "regular expression of the symbols", required=True)
    add("--names", type=_options.names, required=True, help="comma-separated names to choose from")
    add("--seed", type=int, default=1, help="(default: %(default)s)")


def main(args: argparse.Namespace) -> None:
    read, written = (
        [f"{prefix}.{side}" for side in ("src", "tgt")]
        for prefix in (args.in_prefix, args.out_prefix)
    )
    refuse_same(read, written, "")
    pattern, pairs = SymbolPattern(args.symbols), read_pairs(args.in_prefix)
    write_pairs(args.out_prefix, renamed_at_random(pairs, pattern, args.names, args.seed))


def renamed_at_random(
    pairs: Iterable[Pair], pattern: SymbolPattern, names: Sequence[str], seed: int
) -> Iterator[Pair]:
    """Renames the symbols of each pair at random; a UserError if a name is no symbol, or a pair has
    more symbols of a sort than there are names."""
    for name in names:
        if not pattern.is_symbol(name):
            raise UserError(f"{name!r} is no symbol", "names symbols")
    rng = Random(seed)
    for number, (source, target) in enumerate(pairs, 1):
        symbols = pattern.symbols(source.split() + target.split())
        try:
            renaming = random_renamings(symbols, names, 1, rng, pattern)[0]
        except UserError as error:
            raise UserError(f"line {number}: {error}")
        yield renaming(source), renaming(target)
