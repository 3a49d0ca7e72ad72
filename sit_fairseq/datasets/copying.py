"""Strings to be copied, drawn at random.

``sit generate copy --help`` says what the data are.
"""

from functools import lru_cache, partial
from random import Random
from typing import Callable, List, NamedTuple, Optional, Sequence, Tuple

from sit_fairseq.datasets.drawing import Drawn, excluded_keys, write_drawn
from sit_fairseq.datasets.pair_files import Pair
from sit_fairseq.datasets.sampling import StringSampler, SymbolRangeSampler
from sit_fairseq.logic.syntax import read_sentences

# Strings are drawn in chunks of this size, each from its own seed: what they are does not
# depend on who draws them. A change of it changes the data of a seed.
STRINGS_PER_CHUNK = 1000


class CopyRecipe(NamedTuple):
    """What the strings depend on.

    Attributes:
        symbols: names of the symbols.
        min_length: fewest tokens.
        max_length: most tokens.
        seed: the same one brings the same strings.
        distinct: the fewest and the most different symbols of a string, None for any number.
    """

    symbols: Tuple[str, ...]
    min_length: int
    max_length: int
    seed: int
    distinct: Optional[Tuple[int, int]]


@lru_cache(maxsize=1)
def _drawing(recipe: CopyRecipe) -> Tuple[Sequence[int], Callable[[Random, int], List[str]]]:
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


def draw_strings(recipe: CopyRecipe, number: int) -> List[Pair]:
    """Draws one chunk of strings.

    Args:
        recipe: what to draw.
        number: number of the chunk.

    Returns:
        Source and target lines, which are the same.
    """
    rng = Random(f"{recipe.seed} {number}")
    lengths, draw = _drawing(recipe)
    lines = (" ".join(draw(rng, rng.choice(lengths))) for _ in range(STRINGS_PER_CHUNK))
    return [(line, line) for line in lines]


def generate_copies(
    recipe: CopyRecipe, size: int, exclude: Sequence[str], prefix: str, workers: int
) -> Drawn:
    """Generates a data set.

    Args:
        recipe: what to draw.
        size: number of pairs.
        exclude: files, or prefixes of pairs of files, of whose sources no string may be a
            renaming.
        prefix: names the files ``PREFIX.src`` and ``PREFIX.tgt``.
        workers: number of processes; the data do not depend on it.

    Returns:
        How many pairs were written and left out.

    Raises:
        UserError: there are not so many, or a file cannot be used.
    """
    excluded = excluded_keys(exclude, read_sentences)
    return write_drawn(prefix, partial(draw_strings, recipe), size, excluded, workers, "strings")
