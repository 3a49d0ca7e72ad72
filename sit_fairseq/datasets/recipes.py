"""Recipes: what data depend on, and how problems are drawn."""

from dataclasses import dataclass
from random import Random
from typing import Any, ClassVar, Dict, Iterator, List, Optional, Sequence, Tuple

from sit_fairseq.datasets.options import at_least, option, range_from, symbol_names, symbols
from sit_fairseq.datasets.sampling import Sampler, SymbolRangeSampler
from sit_fairseq.errors import UserError, excerpt

EXCLUDE_HELP = "leave out all renamings of the lines of these files; PREFIX stands for PREFIX.src"
SYMBOLS_HELP = "how many (a, b, ...; for more than 26 p0, p1, ...), or their names: f,g,h"


def distinct_symbols_option(least: int) -> Optional[Tuple[int, int]]:
    """The option for the number of different symbols in a sample, from ``least`` on."""
    return option(
        None,
        "number of different symbols in each sample, or a range of it; lengths in which they have "
        "no room are left out",
        type=range_from(least),
        metavar="LO-HI",
    )


class Wrong(Exception):
    """A mistake of a domain's code, in words that follow "the domain"."""


def tokens_of(drawn: Any) -> List[str]:
    """The tokens of a problem that a domain's code drew.

    Raises:
        Wrong: they are no tokens.
    """
    listed = isinstance(drawn, (list, tuple)) and all(isinstance(token, str) for token in drawn)
    if not listed:
        raise Wrong(f"draws {excerpt(str(drawn))}, which is no list of tokens")
    if any(token.split() != [token] for token in drawn):
        raise Wrong(f"draws {excerpt(repr(drawn))}, where a token is empty or has a space")
    return drawn


@dataclass
class Recipe:
    """The options of ``sit generate`` for every domain. A domain's recipe adds options, and
    :meth:`draw`."""

    size: int = option(100000, "number of samples", type=at_least(1))
    seed: int = option(42, "the same seed gives the same data", type=int)
    exclude: Sequence[str] = option([], EXCLUDE_HELP, nargs="+", metavar="FILE")
    workers: int = option(2, "processes; data do not depend on their number", type=at_least(1))

    # Numbers of tokens, of each of which there are to be as many problems; None for any lengths.
    lengths: ClassVar[Optional[Sequence[int]]] = None
    # Problems drawn from one random generator; another number changes the data of a seed.
    per_chunk: ClassVar[int] = 100

    def draw(self, rng: Random) -> List[str]:
        """Draws the tokens of a problem; none if nothing came of it."""
        raise NotImplementedError

    def draws(self, rng: Random, wanted: Dict[int, int]) -> Iterator[List[str]]:
        """Draws problems for as long as some are wanted: so many of each length, which may change
        meanwhile. Without ``lengths`` all have length 0."""
        while any(wanted.values()):
            yield self.draw(rng)


@dataclass
class TimedRecipe(Recipe):
    """The options of a domain whose answers take long to find: each is found in a process that can
    be stopped, and kept in a journal so that an interrupted run goes on."""

    timeout: float = option(120.0, "seconds for one answer", type=at_least(0.001, float))
    restart: bool = option(False, "begin anew instead of going on", action="store_true")


@dataclass
class SizedRecipe(Recipe):
    """The options of problems that have a length and a number of different symbols."""

    symbols: Sequence[str] = option(
        symbol_names(5), f"{SYMBOLS_HELP} (default: 5)", type=symbols(1)
    )
    distinct_symbols: Optional[Tuple[int, int]] = distinct_symbols_option(1)
    min_length: int = option(1, "fewest tokens", type=at_least(1))
    max_length: int = option(35, "most tokens", type=at_least(1))

    def __post_init__(self) -> None:
        self.sampler: Optional[SymbolRangeSampler] = None
        if self.distinct_symbols:
            self.sampler = SymbolRangeSampler(self.samples(), *self.distinct_symbols)
        lengths = range(self.min_length, self.max_length + 1)
        self.lengths = [n for n in lengths if not self.sampler or self.sampler.feasible(n)]
        if not self.lengths:
            raise UserError(
                f"there are no such samples of {self.min_length} to {self.max_length} tokens",
                "min_length max_length" + " distinct_symbols symbols" * bool(self.sampler),
            )

    def samples(self) -> Sampler:
        """Draws problems with a given number of different symbols."""
        raise NotImplementedError


class Cells:
    """Draws the problems of grids, by number of symbols and length, up to some number of each."""

    # Most symbols, tokens and problems of a cell of the usual grid.
    usual: ClassVar[Tuple[int, int, int]] = (10, 50, 100)
    # Reasons to leave a problem out that the manifest counts in each cell.
    faults: ClassVar[Sequence[str]] = ()
    fewest = 1  # the number of symbols that a grid begins with

    def __init__(self, max_symbols: int, max_length: int) -> None:
        self.sampler = self.samples(max_symbols, max_length)

    def samples(self, max_symbols: int, max_length: int) -> Optional[Sampler]:
        """The sampler of the two methods below, if they use one."""
        return None

    def feasible(self, k: int, length: int) -> bool:
        """Whether there are problems with exactly k symbols, of a length."""
        return k >= self.fewest and self.sampler.share(length, k) > 0

    def draw(self, rng: Random, k: int, length: int) -> List[str]:
        """Draws a problem with k symbols, of a length, or shorter if it was rewritten."""
        return self.sampler.draw(rng, length, self.sampler.symbols[:k])
