"""How many problems to draw for a set or a cell, and when there are no more."""

from abc import ABC, abstractmethod
from collections import Counter
from itertools import islice
from random import Random
from typing import Dict, Iterator, List, Set, Tuple

from sit_fairseq.datasets.labelling import Label
from sit_fairseq.datasets.recipes import Cells, Recipe
from sit_fairseq.errors import UserError

# There are no more problems when of so many drawn fewer than one in a thousand were new.
DRAWS_PER_CHECK = 20000

# A round draws problems from a seed of its own until so many are worth a label, or so many have
# been drawn. A change of either changes the data of a seed.
LABELS_PER_ROUND, DRAWS_PER_ROUND = 1000, 20000

# There are no more problems of a length when so many drawn in a row were known or had a fault, or
# when so many draws of any length brought none of it.
MISSES_TO_EXHAUST, DRAWS_TO_EXHAUST = 1000, 300000

# A cell has no more candidates when so many draws in a row have brought no new one.
IDLE_DRAWS = 10000


class Quota(ABC):
    """Problems drawn round by round, and how many are wanted."""

    keeps_faults = True  # whether a problem with a fault is known when it is drawn again

    @abstractmethod
    def open(self) -> bool:
        """Whether more are wanted; a UserError if there seem to be no more."""

    @abstractmethod
    def draws(self, number: int) -> Iterator[List[str]]:
        """Draws the problems of a round, as tokens."""

    @abstractmethod
    def candidate(self, tokens: List[str]) -> bool:
        """Counts a new problem, which is to be labelled; whether the round has enough."""

    def miss(self, tokens: List[str]) -> None:
        """Counts a problem that was known, or turned out to have a fault."""

    @abstractmethod
    def take(self, tokens: List[str]) -> bool:
        """Counts a problem with an answer; False if no more were wanted."""

    def close(self) -> None:
        """Ends a round."""


class BySize(Quota):
    """So many problems, which come in chunks with their labels."""

    def __init__(self, size: int, chunks: Iterator[List[Tuple[str, Label]]]) -> None:
        self._size, self._chunks = size, chunks
        self._chunk: Dict[str, Label] = {}
        self._new = self._taken = self._drawn = self._before = 0

    def open(self) -> bool:
        return self._taken < self._size

    def draws(self, number: int) -> Iterator[List[str]]:
        self._chunk, self._new = {}, 0
        for source, label in next(self._chunks):
            self._drawn += 1
            self._chunk.setdefault(source, label)
            yield source.split()

    def labels(self, number: int, sources: List[str]) -> List[Label]:
        """The labels of a round's problems."""
        return [self._chunk[source] for source in sources]

    def candidate(self, tokens: List[str]) -> bool:
        self._new += 1
        return self._taken + self._new == self._size

    def take(self, tokens: List[str]) -> bool:
        self._taken += 1
        return True

    def close(self) -> None:
        if self._drawn >= DRAWS_PER_CHECK:
            if self.open() and self._taken - self._before < DRAWS_PER_CHECK // 1000:
                raise too_few(self._taken)
            self._drawn, self._before = 0, self._taken


class ByLength(Quota):
    """So many problems: as many of each length, of which short ones have only a few; what exhausted
    lengths leave is shared by the others. Without lengths all count as one."""

    keeps_faults = False

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._lengths = [0] if recipe.lengths is None else list(recipe.lengths)
        self._counts: Counter = Counter()
        self._misses: Counter = Counter()
        self._idle: Counter = Counter()
        self._exhausted: Set[int] = set()
        self._wanted: Dict[int, int] = {}  # when the round began
        self._left: Dict[int, int] = {}
        self._new = self._drawn = 0

    def open(self) -> bool:
        if sum(self._counts.values()) >= self._recipe.size:
            return False
        rest = [length for length in self._lengths if length not in self._exhausted]
        if not rest:
            raise too_few(sum(self._counts.values()))
        share = self._recipe.size - sum(self._counts[length] for length in self._exhausted)
        quota = -(-share // len(rest))
        wanted = {length: quota - self._counts[length] for length in rest}
        self._wanted = {length: number for length, number in wanted.items() if number > 0}
        return True

    def draws(self, number: int) -> Iterator[List[str]]:
        self._left, self._new, self._drawn = dict(self._wanted), 0, 0
        rng = Random(f"{self._recipe.seed} {number}")
        for tokens in islice(self._recipe.draws(rng, self._left), DRAWS_PER_ROUND):
            self._drawn += 1
            if tokens and self._left.get(self._length(tokens), 0) > 0:
                yield tokens

    def candidate(self, tokens: List[str]) -> bool:
        self._left[self._length(tokens)] -= 1
        self._new += 1
        return self._new == LABELS_PER_ROUND

    def miss(self, tokens: List[str]) -> None:
        self._misses[self._length(tokens)] += 1

    def take(self, tokens: List[str]) -> bool:
        if sum(self._counts.values()) >= self._recipe.size:
            return False
        length = self._length(tokens)
        self._counts[length] += 1
        self._misses[length] = self._idle[length] = 0
        return True

    def close(self) -> None:
        for length in self._wanted:
            self._idle[length] += self._drawn
            if self._misses[length] >= MISSES_TO_EXHAUST or self._idle[length] >= DRAWS_TO_EXHAUST:
                self._exhausted.add(length)

    def _length(self, tokens: List[str]) -> int:
        return 0 if self._recipe.lengths is None else len(tokens)


class OfCell(Quota):
    """The problems of one cell of a grid, so many ``candidates`` drawn, of which those that were
    ``rewritten`` came out shorter than the cell has them."""

    def __init__(self, cells: Cells, rng: Random, place: Tuple[int, int], size: int) -> None:
        self._cells, self._rng, self._place, self._size = cells, rng, place, size
        self._taken = self._new = self._idle = self.candidates = self.rewritten = 0

    def open(self) -> bool:
        return self._taken < self._size and self._idle < IDLE_DRAWS

    def draws(self, number: int) -> Iterator[List[str]]:
        self._new = 0
        while self._taken + self._new < self._size and self._idle < IDLE_DRAWS:
            self.candidates += 1
            self._idle += 1
            tokens = self._cells.draw(self._rng, *self._place)
            if len(tokens) < self._place[1]:
                self.rewritten += 1
            else:
                yield tokens

    def candidate(self, tokens: List[str]) -> bool:
        self._new += 1
        self._idle = 0
        return False

    def take(self, tokens: List[str]) -> bool:
        self._taken += 1
        return True


def too_few(found: int) -> UserError:
    """The error to raise when no further problems are found."""
    return UserError(
        f"Found only {found} samples that are neither excluded nor renamings of each other; ask for "
        "fewer, for longer ones, or for more symbols"
    )
