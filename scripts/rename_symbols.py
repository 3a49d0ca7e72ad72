"""Renames the symbols of each sentence pair by a random renaming of its own.

    python scripts/rename_symbols.py data/test data/renamed --symbols '[a-z]' \
        --names p,q,r,s,t,u,v,w --seed 1

reads ``data/test.src`` and ``data/test.tgt``, writes ``data/renamed.src`` and ``.tgt``,
line by line. A model that is invariant to names answers the second as it answers the
first, renamed.
"""

import argparse
import random

from sit_fairseq.data.generated_files import parse_names, read_pairs, writing_pairs
from sit_fairseq.errors import UserError
from sit_fairseq.logic.syntax import tokenize
from sit_fairseq.symbols.renaming import random_renamings
from sit_fairseq.symbols.stream_dictionary import StreamDictionary


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("in_prefix", metavar="IN_PREFIX", help="read IN_PREFIX.src and .tgt")
    parser.add_argument("out_prefix", metavar="OUT_PREFIX", help="write OUT_PREFIX.src and .tgt")
    parser.add_argument("--symbols", required=True, help="regular expression of the symbols")
    parser.add_argument("--names", required=True, help="comma-separated names to choose from")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    dictionary, names = StreamDictionary(), parse_names(args.names, "--names")
    dictionary.set_pattern(args.symbols)
    for name in names:
        if not dictionary.is_symbol(name):
            raise UserError(f"--names: {name!r} is no symbol, --symbols does not match it")
    pairs = read_pairs(args.in_prefix)
    rng = random.Random(args.seed)
    with writing_pairs(args.out_prefix) as (src, tgt):
        for number, (source, target) in enumerate(pairs, 1):
            tokens = tokenize(source) + tokenize(target)
            symbols = list(dict.fromkeys(token for token in tokens if dictionary.is_symbol(token)))
            if len(symbols) > len(names):
                raise UserError(
                    f"line {number} has {len(symbols)} symbols, but --names gives {len(names)}; "
                    "add names"
                )
            renaming = random_renamings(symbols, names, 1, rng)[0]
            src.write(renaming(source) + "\n")
            tgt.write(renaming(target) + "\n")


if __name__ == "__main__":
    main()
