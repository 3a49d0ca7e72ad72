"""Sets and grids of problems with their answers: one engine for all domains.

Problems are drawn, renamings of earlier ones and of excluded ones are left out, and the others are
labelled. A quota says what is drawn, how many are wanted, and when there are no more to find.
Domains (:class:`~sit_fairseq.domains.Domain`) say how a problem is drawn and how it is labelled.
"""

import platform
import sys
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain, count, islice
from random import Random
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Set, Tuple

from tqdm import tqdm

from sit_fairseq import __version__
from sit_fairseq.datasets.grid import Grid
from sit_fairseq.datasets.labelling import Label, Labeller, LabelPool
from sit_fairseq.datasets.options import as_dict, at_least, option
from sit_fairseq.datasets.pair_files import Pair, read_forms, source_file, write_pairs
from sit_fairseq.datasets.recipes import Cells, Recipe, TimedRecipe
from sit_fairseq.errors import UserError
from sit_fairseq.judging.workers import WorkerPool
from sit_fairseq.storage.files import replacing, sha256_of_file
from sit_fairseq.storage.journal import Journal
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
    """What is drawn, round by round, and how many are wanted.

    Attributes:
        keeps_faults: whether a problem with a fault is known when it is drawn again.
    """

    keeps_faults = True

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


class Filling:
    """A set or a cell in the making.

    Args:
        symbols: pattern of symbols.
        excluded: keys of problems that must not occur.

    Attributes:
        left_out: how many problems were left out, by the reason.
        stopped: problems whose labelling was given up, with the fault of each.
    """

    def __init__(self, symbols: str, excluded: Set[int], reasons: Sequence[str] = ()) -> None:
        self._pattern = SymbolPattern(symbols)
        self._excluded = excluded
        self.left_out = Counter({name: 0 for name in ("duplicates", "excluded", *reasons)})
        self.stopped: Dict[str, str] = {}

    def fill(
        self, quota: Quota, label: Callable[[int, List[str]], Iterable[Label]]
    ) -> Iterator[Pair]:
        """Yields pairs until the quota is met.

        Args:
            quota: what is drawn.
            label: the labels of a round's problems, given its number.
        """
        seen: Set[int] = set()
        for number in count():
            if not quota.open():
                return
            new: Dict[int, str] = {}
            for tokens in quota.draws(number):
                key = form_key(tokens, self._pattern.symbols(tokens), self._pattern)
                if key in self._excluded or key in seen or key in new:
                    reason = "excluded" if key in self._excluded else "duplicates"
                    self.left_out[reason] += 1
                    quota.miss(tokens)
                    continue
                new[key] = " ".join(tokens)
                if quota.candidate(tokens):
                    break
            for (key, source), found in zip(new.items(), label(number, list(new.values()))):
                if found.stopped:
                    self.stopped[source] = found.fault
                    tqdm.write(f"{found.fault}: {source}", file=sys.stderr)
                if found.fault is not None:
                    self.left_out[found.fault] += 1
                    quota.miss(source.split())
                if found.stopped or found.fault is not None and quota.keeps_faults:
                    seen.add(key)
                elif found.fault is None and quota.take(source.split()):
                    seen.add(key)
                    yield source, found.target
            quota.close()


class BySize(Quota):
    """So many problems, which other processes draw and label in chunks.

    Args:
        size: how many.
        chunks: the problems, with their labels.
    """

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
    """The problems of one cell of a grid.

    Attributes:
        candidates: how many were drawn.
        rewritten: how many came out shorter than the cell has them.
    """

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


def generate(domain: Any, recipe: Recipe, prefix: str) -> Counter:
    """Writes problems with their answers, or goes on where this was interrupted.

    ``PREFIX.src`` and ``PREFIX.tgt`` get a line each. Problems whose labelling was given up are
    listed in ``PREFIX.timeouts``. The labels of finished rounds are kept in ``PREFIX.journal``, if
    they take long to find.

    Returns:
        How many problems were left out, by the reason.

    Raises:
        UserError: there are too few such problems, or a file cannot be used.
    """
    label = domain.labels[getattr(recipe, "labels", next(iter(domain.labels)))]
    versions = domain.versions()
    filling = Filling(domain.symbols, _excluded(domain, recipe.exclude))
    with ExitStack() as stack:
        journal: Optional[Journal] = None
        if isinstance(recipe, TimedRecipe):
            depends = {"domain": domain.versioned, **as_dict(recipe), "versions": versions}
            journal = stack.enter_context(_journal(prefix, "labels", recipe, depends))
            pool = stack.enter_context(LabelPool(label, recipe.workers, recipe.timeout))
            pairs = filling.fill(ByLength(recipe), partial(_kept_labels, pool, journal))
        else:
            chunks = stack.enter_context(WorkerPool(partial(_chunk, recipe, label), recipe.workers))
            quota = BySize(recipe.size, chunks.results(count()))
            pairs = filling.fill(quota, quota.labels)
        write_pairs(prefix, tqdm(pairs, total=recipe.size, unit=" samples"))
        if journal is not None:
            with replacing(f"{prefix}.timeouts") as (file,):
                file.writelines(f"{fault}\t{text}\n" for text, fault in filling.stopped.items())
            journal.remove()
    return filling.left_out


def _chunk(recipe: Recipe, label: Labeller, number: int) -> List[Tuple[str, Label]]:
    """Draws and labels the problems of a chunk."""
    rng = Random(f"{recipe.seed} {number}")
    drawn = (" ".join(recipe.draw(rng)) for _ in range(recipe.per_chunk))
    return [(source, label(source)) for source in drawn if source]


def _kept_labels(
    pool: LabelPool, journal: Journal, number: int, sources: List[str]
) -> Iterable[Label]:
    """The labels of a round, from the journal if an interrupted run made them."""
    if number < len(journal.entries):
        entry = journal.entries[number]
        if list(entry) != sources:
            raise journal.damaged(number + 2)
        return [Label(*label) for label in entry.values()]
    labels = list(pool.labels(sources))
    journal.append(dict(zip(sources, labels)))
    return labels


def _excluded(domain: Any, names: Sequence[str]) -> Set[int]:
    """The keys of all sentences of some files."""
    pattern, check = SymbolPattern(domain.symbols), domain.judge().check
    return {key for name in names for _, key in read_forms(name, pattern, check)}


def _journal(prefix: str, kind: str, recipe: Any, depends: Dict[str, Any]) -> Journal:
    """Opens the journal ``PREFIX.journal`` of entries of a kind."""
    excluded = [sha256_of_file(source_file(name)) for name in recipe.exclude]
    return Journal(
        f"{prefix}.journal",
        kind,
        {**depends, "excluded": excluded},
        advice="pass --restart to discard it",
        where="the output",
        restart=recipe.restart,
    )


@dataclass
class GridRecipe:
    """What a grid depends on, see ``sit grid --help``."""

    max_symbols: Optional[int] = option(
        None, "most symbols: a, b, ..., or p0, p1, ... (default: the domain's)", type=at_least(0)
    )
    max_length: Optional[int] = option(
        None, "most tokens (default: the domain's)", type=at_least(1)
    )
    step: int = option(1, "only numbers of symbols and lengths that it divides", type=at_least(1))
    per_cell: Optional[int] = option(
        None, "most samples of a cell (default: the domain's)", type=at_least(1)
    )
    seed: int = option(42, "the same seed gives the same data", type=int)
    timeout: float = option(10.0, "seconds for one answer", type=at_least(0.001, float))
    exclude: Sequence[str] = option(
        [],
        "leave out all renamings of the lines of these files; PREFIX stands for PREFIX.src",
        nargs="+",
        metavar="FILE",
    )
    workers: int = option(2, "processes; data do not depend on their number", type=at_least(1))
    restart: bool = option(False, "begin anew instead of going on", action="store_true")


def generate_grid(domain: Any, recipe: GridRecipe, folder: str) -> Grid:
    """Generates a grid and writes it, or goes on where this was interrupted.

    Finished cells are kept in ``grid.journal``.

    Raises:
        UserError: there are no such samples, or a file cannot be used.
    """
    if domain.cells is None:
        raise UserError(
            f"{domain.name} draws no problems by length; make a grid of pairs by --from"
        )
    versions = {"sit_fairseq": __version__, "python": platform.python_version()}
    options = {"domain": domain.versioned, **as_dict(recipe)}
    options["versions"] = {**versions, **domain.versions()}
    grid = Grid([], [], [], options, options.pop("seed"))
    cells = domain.cells(recipe.max_symbols, recipe.max_length)
    excluded = _excluded(domain, recipe.exclude)
    sizes = range(0, recipe.max_symbols + 1, recipe.step)
    lengths = range(recipe.step, recipe.max_length + 1, recipe.step)
    places = [(k, length) for k in sizes for length in lengths if cells.feasible(k, length)]
    if not places:
        raise UserError("the grid has no cell with samples", "max_symbols max_length step")
    label = next(iter(domain.labels.values()))
    seed = f"{recipe.seed} {domain.alias or domain.name}"
    filling = partial(Filling, domain.symbols, excluded, domain.faults)
    with ExitStack() as stack:
        depends = {**options, "seed": recipe.seed}
        journal = stack.enter_context(_journal(f"{folder}/grid", "cells", recipe, depends))
        done, rest = journal.entries, places[len(journal.entries) :]
        if issubclass(domain.recipe, TimedRecipe):  # processes label the problems of one cell
            pool = stack.enter_context(LabelPool(label, recipe.workers, recipe.timeout))
            made: Iterable[Dict] = (
                _cell(cells, recipe.per_cell, seed, filling, pool.labels, place) for place in rest
            )
        else:
            fill = partial(_cell, cells, recipe.per_cell, seed, filling, partial(map, label))
            made = stack.enter_context(WorkerPool(fill, recipe.workers)).results(rest)
        for number, cell in enumerate(tqdm(chain(done, made), total=len(places), unit=" cells")):
            if number >= len(done):
                journal.append(cell)
            elif (cell.get("symbols"), cell.get("length")) != places[number]:
                raise journal.damaged(number + 2)
            grid.add(**cell)
        grid.write(folder)
        journal.remove()
    return grid


def _cell(
    cells: Cells,
    size: int,
    seed: str,
    filling: Callable[[], Filling],
    label: Callable[[List[str]], Iterable[Label]],
    place: Tuple[int, int],
) -> Dict[str, Any]:
    """Makes the samples of one cell: the arguments of :meth:`Grid.add`."""
    k, length = place
    made, quota = filling(), OfCell(cells, Random(f"{seed} {k} {length}"), place, size)
    pairs = list(made.fill(quota, lambda number, sources: label(sources)))
    if "rewritten" in made.left_out:
        made.left_out["rewritten"] = quota.rewritten
    extra = {"candidates": quota.candidates, **made.left_out}
    return {"symbols": k, "length": length, "pairs": pairs, "extra": extra}
