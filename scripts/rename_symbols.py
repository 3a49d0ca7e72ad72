"""Renames the symbols of each sentence pair by a random renaming of its own.

    python scripts/rename_symbols.py data/test data/renamed --symbols '[a-z]' \
        --names p,q,r,s,t,u,v,w --seed 1

reads ``data/test.src`` and ``data/test.tgt``, writes ``data/renamed.src`` and ``.tgt``,
line by line. A model that is invariant to names answers the second as it answers the
first, renamed.
"""

import argparse
import os
import random
import re
from typing import List

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.renaming import random_renamings
from sit_fairseq.logic.syntax import read_sentences


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

    sources, targets = (read_sentences(f"{args.in_prefix}.{side}") for side in ("src", "tgt"))
    if len(sources) != len(targets):
        raise UserError(
            f"{args.in_prefix}.src has {len(sources)} lines but .tgt has {len(targets)}; "
            "give files whose lines belong together"
        )
    pattern, names = re.compile(args.symbols), args.names.split(",")
    rng = random.Random(args.seed)
    renamed: List[List[str]] = [[], []]
    for number, pair in enumerate(zip(sources, targets), 1):
        tokens = " ".join(pair).split()
        symbols = list(dict.fromkeys(token for token in tokens if pattern.fullmatch(token)))
        if len(symbols) > len(names):
            raise UserError(
                f"line {number} has {len(symbols)} symbols, but --names gives {len(names)}; "
                "add names"
            )
        renaming = random_renamings(symbols, names, 1, rng)[0]
        for side, sentence in zip(renamed, pair):
            side.append(renaming(sentence))
    for side, sentences in zip(("src", "tgt"), renamed):
        path = f"{args.out_prefix}.{side}"
        with open(f"{path}.partial", "w", encoding="utf-8") as file:
            file.writelines(sentence + "\n" for sentence in sentences)
        os.replace(f"{path}.partial", path)


if __name__ == "__main__":
    main()
