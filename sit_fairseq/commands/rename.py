"""Renames the symbols of each sentence pair by a random renaming of its own.

    sit rename data/test data/renamed --symbols '[a-z]' --names p,q,r,s,t,u,v,w --seed 1

reads ``data/test.src`` and ``data/test.tgt``, writes ``data/renamed.src`` and ``.tgt``,
line by line. A model that is invariant to names answers the second as it answers the
first, renamed.
"""

import argparse
import random

from sit_fairseq.data.generated_files import parse_names, read_pairs, writing_pairs
from sit_fairseq.errors import UserError
from sit_fairseq.logic.syntax import tokenize
from sit_fairseq.symbols.pattern import SymbolPattern
from sit_fairseq.symbols.renaming import random_renamings


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the verb."""
    add = parser.add_argument
    add("in_prefix", metavar="IN_PREFIX", help="read IN_PREFIX.src and .tgt")
    add("out_prefix", metavar="OUT_PREFIX", help="write OUT_PREFIX.src and .tgt")
    add("--symbols", required=True, help="regular expression of the symbols")
    add("--names", required=True, help="comma-separated names to choose from")
    add("--seed", type=int, default=1)


def main(args: argparse.Namespace) -> None:
    """Does what the verb says.

    Raises:
        UserError: an option or a file cannot be used.
    """
    pattern, names = SymbolPattern(args.symbols), parse_names(args.names, "--names")
    for name in names:
        if not pattern.is_symbol(name):
            raise UserError(f"--names: {name!r} is no symbol, --symbols does not match it")
    pairs = read_pairs(args.in_prefix)
    rng = random.Random(args.seed)
    with writing_pairs(args.out_prefix) as (src, tgt):
        for number, (source, target) in enumerate(pairs, 1):
            symbols = pattern.symbols(tokenize(source) + tokenize(target))
            if len(symbols) > len(names):
                raise UserError(
                    f"line {number} has {len(symbols)} symbols, but --names gives {len(names)}; "
                    "add names"
                )
            renaming = random_renamings(symbols, names, 1, rng)[0]
            src.write(renaming(source) + "\n")
            tgt.write(renaming(target) + "\n")
