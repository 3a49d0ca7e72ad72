"""The engine of sets and grids: problems are drawn round by round until enough have an answer.

Renamings of earlier problems and of excluded ones are left out, and the others are labelled. A
quota draws the problems of a round, counts the answers, and raises an error if new problems run out.
"""

import sys
from abc import ABC, abstractmethod
from collections import Counter
from itertools import count, islice
from random import Random
from typing import Any, Callable, Dict, Iterable, Iterator, List, Sequence, Set, Tuple

from tqdm import tqdm

from sit_fairseq.datasets.labelling import Label
from sit_fairseq.datasets.pair_files import Pair
from sit_fairseq.datasets.recipes import Cells, Recipe, tokens_of
from sit_fairseq.errors import UserError
from sit_fairseq.symbols.canonical_form import form_key
from sit_fairseq.symbols.pattern import SymbolPattern

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
    """A set or a cell in the making.

    Args:
        size: how many problems are wanted.
        symbols: the pattern of their symbols.
        excluded: keys of problems to be left out.
        reasons: for others to be left out, that are counted from 0.

    Attributes:
        left_out: how many were left out, by the reason.
        stopped: the fault of each problem whose labelling was stopped.
    """

    keeps_faults = True  # whether a problem with a fault is known when it is drawn again

    def __init__(
        self, size: int, symbols: str, excluded: Set[int], reasons: Sequence[str] = ()
    ) -> None:
        self.size, self._taken = size, 0
        self._pattern, self._excluded = SymbolPattern(symbols), excluded
        self.left_out = Counter({name: 0 for name in ("duplicates", "excluded", *reasons)})
        self.stopped: Dict[str, str] = {}

    def pairs(self) -> Iterator[Pair]:
        """Yields problems with their answers until the quota is met."""
        seen: Set[int] = set()
        for number in count():
            if not self.open():
                return
            new: Dict[int, str] = {}
            for tokens in self.draws(number):
                key = form_key(tokens, self._pattern.symbols(tokens), self._pattern)
                if key in self._excluded or key in seen or key in new:
                    reason = "excluded" if key in self._excluded else "duplicates"
                    self.left_out[reason] += 1
                    self.miss(tokens)
                    continue
                new[key] = " ".join(tokens)
                if self.enough(tokens, len(new)):
                    break
            for (key, source), found in zip(new.items(), self.labels(number, [*new.values()])):
                if found.fault is None:
                    if self.take(source.split()):
                        seen.add(key)
                        yield source, found.target
                    continue
                self.left_out[found.fault] += 1
                self.miss(source.split())
                if found.stopped:
                    self.stopped[source] = found.fault
                    tqdm.write(f"{found.fault}: {source}", file=sys.stderr)
                if found.stopped or self.keeps_faults:
                    seen.add(key)
            self.close()

    def open(self) -> bool:
        """Whether more are wanted; a UserError if there seem to be no more."""
        return self._taken < self.size

    @abstractmethod
    def draws(self, number: int) -> Iterator[List[str]]:
        """Draws the problems of a round, as tokens."""

    def enough(self, tokens: List[str], number: int) -> bool:
        """Counts a new problem, which is to be labelled; whether the round has enough with it."""
        return self._taken + number == self.size

    @abstractmethod
    def labels(self, number: int, sources: List[str]) -> Iterable[Label]:
        """Labels the new problems of a round."""

    def miss(self, tokens: List[str]) -> None:
        """Counts a problem that was known, or turned out to have a fault."""

    def take(self, tokens: List[str]) -> bool:
        """Counts a problem with an answer; False if no more were wanted."""
        taken = self._taken < self.size
        self._taken += taken
        return taken

    def close(self) -> None:
        """Ends a round."""

    def too_few(self) -> UserError:
        """The error to raise when no further problems are found."""
        advice = "ask for fewer, for longer ones, or for more symbols"
        if self.left_out["error"] > self._taken:
            advice = "mend the labels, whose errors stand above"
        return UserError(
            f"Found only {self._taken} samples that are neither excluded nor renamings of each "
            f"other; {advice}"
        )


class BySize(Quota):
    """So many problems, which come in chunks with their labels."""

    def __init__(
        self, chunks: Iterator[List[Tuple[str, Label]]], per_chunk: int, *wanted: Any
    ) -> None:
        super().__init__(*wanted)
        self._chunks, self._per_chunk = chunks, per_chunk
        self._chunk: Dict[str, Label] = {}
        self._drawn = self._before = 0

    def draws(self, number: int) -> Iterator[List[str]]:
        self._chunk = {}
        self._drawn += self._per_chunk
        for source, label in next(self._chunks):
            self._chunk.setdefault(source, label)
            yield source.split()

    def labels(self, number: int, sources: List[str]) -> List[Label]:
        return [self._chunk[source] for source in sources]

    def close(self) -> None:
        if self._drawn >= DRAWS_PER_CHECK:
            if self.open() and self._taken - self._before < DRAWS_PER_CHECK // 1000:
                raise self.too_few()
            self._drawn, self._before = 0, self._taken


class ByLength(Quota):
    """So many problems: as many of each length, of which short ones have only a few; what exhausted
    lengths leave is shared by the others. Without lengths all count as one."""

    keeps_faults = False

    def __init__(
        self,
        recipe: Recipe,
        draws: Callable[[Random, Dict[int, int]], Iterator[List[str]]],
        labels: Callable[[int, List[str]], Iterable[Label]],
        *wanted: Any,
    ) -> None:
        super().__init__(*wanted)
        self._recipe, self._draw, self._label = recipe, draws, labels
        self._rest = [0] if recipe.lengths is None else list(recipe.lengths)  # not exhausted
        self._counts, self._misses, self._idle = (Counter() for _ in range(3))  # by length
        self._wanted: Dict[int, int] = {}  # when the round began
        self._left: Dict[int, int] = {}
        self._drawn = 0

    def open(self) -> bool:
        if not super().open():
            return False
        if not self._rest:
            raise self.too_few()
        share = self.size - self._taken + sum(self._counts[length] for length in self._rest)
        quota = -(-share // len(self._rest))
        wanted = {length: quota - self._counts[length] for length in self._rest}
        self._wanted = {length: number for length, number in wanted.items() if number > 0}
        return True

    def draws(self, number: int) -> Iterator[List[str]]:
        self._left, self._drawn = dict(self._wanted), 0
        rng = Random(f"{self._recipe.seed} {number}")
        for tokens in islice(self._draw(rng, self._left), DRAWS_PER_ROUND):
            self._drawn += 1
            if tokens and self._left.get(self._length(tokens), 0) > 0:
                yield tokens

    def enough(self, tokens: List[str], number: int) -> bool:
        self._left[self._length(tokens)] -= 1
        return number == LABELS_PER_ROUND

    def labels(self, number: int, sources: List[str]) -> Iterable[Label]:
        return self._label(number, sources)

    def miss(self, tokens: List[str]) -> None:
        self._misses[self._length(tokens)] += 1

    def take(self, tokens: List[str]) -> bool:
        taken, length = super().take(tokens), self._length(tokens)
        if taken:
            self._counts[length] += 1
            self._misses[length] = self._idle[length] = 0
        return taken

    def close(self) -> None:
        for length in self._wanted:
            self._idle[length] += self._drawn or DRAWS_PER_ROUND
            if self._misses[length] >= MISSES_TO_EXHAUST or self._idle[length] >= DRAWS_TO_EXHAUST:
                self._rest.remove(length)

    def _length(self, tokens: List[str]) -> int:
        return 0 if self._recipe.lengths is None else len(tokens)


class OfCell(Quota):
    """The problems of one cell of a grid, of so many ``candidates``; one that came out shorter than
    the cell has them was rewritten."""

    def __init__(
        self, cells: Cells, label: Callable, seed: str, place: Tuple[int, int], *wanted: Any
    ):
        super().__init__(*wanted, cells.faults)
        self._cells, self._label, self._place = cells, label, place
        self._rng = Random(f"{seed} {place[0]} {place[1]}")
        self._idle = self.candidates = 0

    def open(self) -> bool:
        return super().open() and self._idle < IDLE_DRAWS

    def draws(self, number: int) -> Iterator[List[str]]:
        while self._idle < IDLE_DRAWS:
            self.candidates += 1
            self._idle += 1
            tokens = tokens_of(self._cells.draw(self._rng, *self._place))
            if len(tokens) < self._place[1]:
                self.left_out["rewritten"] += 1
            else:
                yield tokens

    def enough(self, tokens: List[str], number: int) -> bool:
        self._idle = 0
        return super().enough(tokens, number)

    def labels(self, number: int, sources: List[str]) -> Iterable[Label]:
        return self._label(sources)
