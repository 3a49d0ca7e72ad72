"""Strings to copy."""

from collections import Counter
from functools import partial
from random import Random
from typing import List, Optional, Sequence

from sit_fairseq.datasets.drawing import Recipe, draw_pairs, write_unique
from sit_fairseq.datasets.pair_files import Pair
from sit_fairseq.datasets.sampling import StringSampler, SymbolRangeSampler, feasible_lengths
from sit_fairseq.logic.syntax import formula_symbols

# Another number changes the data of a seed.
STRINGS_PER_CHUNK = 1000


def generate_copies(recipe: Recipe) -> Counter:
    """Generates strings to be copied, all of one length as likely; a UserError if there are too
    few."""
    sampler = None
    if recipe.distinct_symbols:
        sampler = SymbolRangeSampler(StringSampler(recipe.symbols), *recipe.distinct_symbols)
    lengths = feasible_lengths(recipe.min_length, recipe.max_length, sampler)
    draw = partial(_draw_string, recipe.symbols, lengths, sampler)
    return write_unique(recipe, draw_pairs(recipe, draw, STRINGS_PER_CHUNK), formula_symbols)


def _draw_string(
    symbols: Sequence[str], lengths: List[int], sampler: Optional[SymbolRangeSampler], rng: Random
) -> Pair:
    length = rng.choice(lengths)
    line = " ".join(sampler.draw(rng, length) if sampler else rng.choices(symbols, k=length))
    return line, line
