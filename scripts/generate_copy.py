"""Generates strings to be copied.

The set-up is that of the copying task (Isik et al. 2025, and the paper's appendix on
copying): the length of a string is drawn uniformly, then each token among the symbols,
20 of them unless ``--symbols`` says otherwise. ``OUT_PREFIX.src`` and ``OUT_PREFIX.tgt`` get
the same strings, one per line.

    python scripts/generate_copy.py data/train
    python scripts/generate_copy.py data/valid --size 1000 --seed 7

Strings are drawn independently of each other. For tests on longer strings and more symbols
see ``generate_grid.py --semantics copy``.
"""

import argparse
from collections import Counter
from functools import partial
from itertools import chain, count, islice
from random import Random
from typing import List, NamedTuple, Optional, Sequence

from tqdm import tqdm

from sit_fairseq.data.generated_files import (
    add_sampling_options,
    check_sampling_options,
    in_order,
    length_summary,
    parse_symbols,
    writing_pairs,
)

# Strings are drawn in chunks of this size, each from its own seed: what they are does not
# depend on who draws them. A change of it changes the data of a seed.
CHUNK = 1000


class Recipe(NamedTuple):
    """What a chunk of strings depends on, apart from its number."""

    symbols: Sequence[str]
    min_length: int
    max_length: int
    seed: int


def draw_chunk(recipe: Recipe, number: int) -> List[List[str]]:
    """Draws one chunk of strings.

    Args:
        recipe: what to draw.
        number: number of the chunk.

    Returns:
        The tokens of each string.
    """
    rng = Random(f"{recipe.seed} {number}")
    return [
        rng.choices(recipe.symbols, k=rng.randint(recipe.min_length, recipe.max_length))
        for _ in range(CHUNK)
    ]


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "out_prefix", metavar="OUT_PREFIX", help="write OUT_PREFIX.src and OUT_PREFIX.tgt"
    )
    add_sampling_options(parser)
    parser.set_defaults(symbols="20", min_length=20, max_length=80, size=10_000_000)
    return parser.parse_args(argv)


def main(argv: Optional[Sequence[str]] = None) -> None:
    """Runs the script.

    Args:
        argv: the command line, without the program's name; None for the real one.

    Raises:
        UserError: an option or a file cannot be used.
    """
    args = parse_args(argv)
    symbols = parse_symbols(args.symbols)
    check_sampling_options(args)
    recipe = Recipe(symbols, args.min_length, args.max_length, args.seed)
    lengths: Counter = Counter()
    chunks = in_order(partial(draw_chunk, recipe), count(), args.workers)
    try:
        with writing_pairs(args.out_prefix) as (src, tgt):
            strings = islice(chain.from_iterable(chunks), args.size)
            for tokens in tqdm(strings, total=args.size, unit=" strings"):
                line = " ".join(tokens) + "\n"
                src.write(line)
                tgt.write(line)
                lengths[len(tokens)] += 1
    finally:
        chunks.close()
    print(f"{args.size} strings in {args.out_prefix}.src and .tgt; {length_summary(lengths)}")


if __name__ == "__main__":
    main()
