"""Generates strings to be copied.

The set-up is that of the copying task (Isik et al. 2025, and the paper's appendix on
copying): the length of a string is drawn uniformly, then each token among the symbols,
20 of them unless ``--symbols`` says otherwise. ``OUT_PREFIX.src`` and ``OUT_PREFIX.tgt`` get
the same strings, one per line.

    python scripts/generate_copy.py data/train
    python scripts/generate_copy.py data/valid --size 1000 --seed 7 --exclude data/train

No string is a renaming of another, nor of one in the files of ``--exclude``; so there are few
of the shortest. With ``--distinct-symbols`` a length is drawn among those in which so many have
room, then a string among all of this length that have so many different tokens. For tests on
longer strings and more symbols see ``generate_grid.py --semantics copy``.
"""

import argparse
from collections import Counter
from functools import lru_cache, partial
from itertools import chain, count
from random import Random
from typing import Callable, List, NamedTuple, Optional, Sequence, Tuple

from tqdm import tqdm

from sit_fairseq.data.generated_files import (
    add_distinct_option,
    add_exclude_option,
    add_sampling_options,
    check_sampling_options,
    excluded_keys,
    in_order,
    length_summary,
    parse_distinct,
    parse_symbols,
    unique_samples,
    writing_pairs,
)
from sit_fairseq.data.sampling import StringSampler, SymbolRangeSampler
from sit_fairseq.logic.syntax import read_sentences, tokenize

# Strings are drawn in chunks of this size, each from its own seed: what they are does not
# depend on who draws them. A change of it changes the data of a seed.
CHUNK = 1000


class Recipe(NamedTuple):
    """What a chunk of strings depends on, apart from its number."""

    symbols: Tuple[str, ...]
    min_length: int
    max_length: int
    seed: int
    distinct: Optional[Tuple[int, int]]


@lru_cache(maxsize=1)
def drawing(recipe: Recipe) -> Tuple[Sequence[int], Callable[[Random, int], List[str]]]:
    """How strings are drawn; once per process.

    Args:
        recipe: what to draw.

    Returns:
        The lengths there can be, and what draws a string of one of them.
    """
    symbols, lengths = recipe.symbols, range(recipe.min_length, recipe.max_length + 1)
    if recipe.distinct is None:
        return lengths, lambda rng, length: rng.choices(symbols, k=length)
    sampler = SymbolRangeSampler(StringSampler(len(symbols)), symbols, *recipe.distinct)
    return list(filter(sampler.feasible, lengths)), sampler.draw


def draw_chunk(recipe: Recipe, number: int) -> List[Tuple[str, str]]:
    """Draws one chunk of strings.

    Args:
        recipe: what to draw.
        number: number of the chunk.

    Returns:
        Source and target lines, which are the same.
    """
    rng = Random(f"{recipe.seed} {number}")
    lengths, draw = drawing(recipe)
    lines = (" ".join(draw(rng, rng.choice(lengths))) for _ in range(CHUNK))
    return [(line, line) for line in lines]


def parse_args(argv: Optional[Sequence[str]]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "out_prefix", metavar="OUT_PREFIX", help="write OUT_PREFIX.src and OUT_PREFIX.tgt"
    )
    add_sampling_options(parser)
    add_distinct_option(parser)
    add_exclude_option(parser)
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
    distinct = parse_distinct(args, len(symbols), args.max_length)
    excluded = excluded_keys(args.exclude, read_sentences)
    recipe = Recipe(tuple(symbols), args.min_length, args.max_length, args.seed, distinct)
    skipped: Counter = Counter()
    lengths: Counter = Counter()
    chunks = in_order(partial(draw_chunk, recipe), count(), args.workers)
    try:
        with writing_pairs(args.out_prefix) as (src, tgt):
            drawn = chain.from_iterable(chunks)
            strings = unique_samples(drawn, args.size, excluded, skipped)
            for line, _ in tqdm(strings, total=args.size, unit=" strings"):
                src.write(line + "\n")
                tgt.write(line + "\n")
                lengths[len(tokenize(line))] += 1
    finally:
        chunks.close()
    print(
        f"{args.size} strings in {args.out_prefix}.src and .tgt; dropped "
        f"{skipped['duplicates']} duplicates and {skipped['excluded']} excluded strings; "
        f"{length_summary(lengths)}"
    )


if __name__ == "__main__":
    main()
