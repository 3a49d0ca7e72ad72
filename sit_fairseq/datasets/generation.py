"""Random grids of test data: all cells, several at once.

``sit generate grid --help`` says how samples are drawn and labelled.
"""

import platform
import sys
from abc import ABC, abstractmethod
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain
from random import Random
from typing import Dict, Iterable, Iterator, List, Optional, Sequence, Set, Tuple

from tqdm import tqdm

from sit_fairseq import __version__
from sit_fairseq.datasets.grid import Grid
from sit_fairseq.datasets.labelling import Label, LabelPool, SpotLabeller
from sit_fairseq.datasets.pair_files import Pair
from sit_fairseq.datasets.recipes import (
    SymbolLister,
    determining,
    excluded_keys,
    formula_key,
    open_journal,
    symbol_names,
)
from sit_fairseq.domains.formulas.sampling import (
    LTL_FORBIDDEN,
    LTL_OPERATORS,
    FormulaSampler,
    Sampler,
    StringSampler,
)
from sit_fairseq.domains.formulas.syntax import formula_symbols
from sit_fairseq.domains.ltl.spot_judge import require_spot, spot_version, spots_own_form
from sit_fairseq.domains.prop.propositional import MAX_VARIABLES, RANDOM_OPERATORS, smallest_answer
from sit_fairseq.errors import UserError
from sit_fairseq.judging.workers import WorkerPool

# A cell has no more candidates when so many draws in a row have brought no new one.
IDLE_DRAWS = 10000


@dataclass
class GridRecipe:
    """What a grid depends on, see ``sit generate grid --help``."""

    folder: str
    semantics: str
    max_symbols: int
    max_length: int
    step: int
    per_cell: int
    seed: int
    timeout: float = 10.0
    exclude: Sequence[str] = ()
    workers: int = 1
    restart: bool = False


class Kind(ABC):
    """How the samples of one semantics are made.

    Args:
        sampler: draws candidates of a length with given symbols.

    Attributes:
        fewest: the number of symbols the grid begins with.
        faults: reasons to leave a candidate out, beside being a duplicate or excluded.
        symbols_of: see :func:`~sit_fairseq.datasets.recipes.read_forms`.
    """

    fewest = 1
    faults: Sequence[str] = ()
    symbols_of: Optional[SymbolLister] = None

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler

    def feasible(self, k: int, length: int) -> bool:
        """Whether there are candidates with exactly k symbols, of a length."""
        return k >= self.fewest and self.sampler.share(length, k) > 0

    def draw(self, rng: Random, k: int, length: int) -> List[str]:
        """Draws a candidate with k symbols, of a length or ``rewritten`` to a shorter one."""
        return self.sampler.draw(rng, length, self.sampler.symbols[:k])

    @abstractmethod
    def label(self, sources: List[str]) -> Iterable[Label]:
        """Yields the target of each candidate, or a fault."""


class PropKind(Kind):
    """Propositional formulas with their smallest assignments."""

    faults = ("unsatisfiable", "tautology")

    def __init__(self, recipe: GridRecipe) -> None:
        if recipe.max_symbols > MAX_VARIABLES:
            raise UserError(f"a truth table has at most {MAX_VARIABLES} symbols", "max_symbols")
        names = symbol_names(recipe.max_symbols)
        super().__init__(FormulaSampler(RANDOM_OPERATORS, names, recipe.max_length))

    def label(self, sources: List[str]) -> Iterator[Label]:
        for answer in map(smallest_answer, map(str.split, sources)):
            fault = "unsatisfiable" if answer is None else "tautology"
            yield Label(answer, None) if answer else Label("", fault)


class LtlKind(Kind):
    """LTL formulas with traces that Spot finds."""

    fewest = 0
    faults = ("rewritten", "unsatisfiable", "timeout", "error", "zero_in_trace")

    def __init__(self, recipe: GridRecipe, pool: LabelPool) -> None:
        names = symbol_names(recipe.max_symbols)
        self._names = {f"p{index}": name for index, name in enumerate(names)}
        spots = [*self._names]  # the order of conjuncts depends on names
        super().__init__(FormulaSampler(LTL_OPERATORS, spots, recipe.max_length, LTL_FORBIDDEN))
        self._pool = pool

    def draw(self, rng: Random, k: int, length: int) -> List[str]:
        formula = spots_own_form(super().draw(rng, k, length))
        return [self._names.get(token, token) for token in formula]

    def label(self, sources: List[str]) -> Iterator[Label]:
        for source, label in zip(sources, self._pool.labels(sources)):
            if label.stopped:
                tqdm.write(f"{label.fault} of Spot: {source}", file=sys.stderr)
            yield label


class CopyKind(Kind):
    """Strings to be copied, each with exactly its symbols as likely as the others."""

    symbols_of = staticmethod(formula_symbols)

    def __init__(self, recipe: GridRecipe) -> None:
        super().__init__(StringSampler(symbol_names(recipe.max_symbols)))

    def feasible(self, k: int, length: int) -> bool:
        return 0 < k <= length  # however small their share

    def label(self, sources: List[str]) -> Iterator[Label]:
        return (Label(source, None) for source in sources)


def fill(kind: Kind, recipe: GridRecipe, place: Tuple[int, int], excluded: Set[int]) -> Dict:
    """Makes the samples of one cell: the arguments of :meth:`Grid.add`.

    Args:
        kind: how to make them.
        recipe: seed, and most samples of a cell.
        place: number of symbols and length.
        excluded: keys of samples that must not occur.
    """
    k, length = place
    rng = Random(f"{recipe.seed} {recipe.semantics} {k} {length}")
    left_out = {name: 0 for name in ("duplicates", "excluded", *kind.faults)}
    known: Set[int] = set()
    pairs: List[Pair] = []
    candidates = idle = 0
    while len(pairs) < recipe.per_cell and idle < IDLE_DRAWS:
        batch: List[str] = []
        while len(batch) < recipe.per_cell - len(pairs) and idle < IDLE_DRAWS:
            tokens = kind.draw(rng, k, length)
            candidates += 1
            idle += 1
            key = formula_key(tokens)
            if len(tokens) < length:
                left_out["rewritten"] += 1
            elif key in known:
                left_out["duplicates"] += 1
            elif key in excluded:
                left_out["excluded"] += 1
            else:
                known.add(key)
                batch.append(" ".join(tokens))
                idle = 0
        for source, (target, fault) in zip(batch, kind.label(batch)):
            if fault is None:
                pairs.append((source, target))
            else:
                left_out[fault] += 1
    extra = {"candidates": candidates, **left_out}
    return {"symbols": k, "length": length, "pairs": pairs, "extra": extra}


def generate_grid(recipe: GridRecipe) -> Grid:
    """Generates a grid and writes it, or goes on where this was interrupted.

    Finished cells are kept in ``grid.journal``.

    Raises:
        UserError: there are no such samples, or a file cannot be used.
    """
    options = {**determining(recipe), "versions": _versions(recipe.semantics)}
    grid = Grid([], [], [], options, options.pop("seed"))
    with ExitStack() as stack:
        kind = _kind(recipe, stack)
        excluded = excluded_keys(recipe.exclude, kind.symbols_of)
        filled = partial(fill, kind, recipe, excluded=excluded)
        sizes = range(0, recipe.max_symbols + 1, recipe.step)
        lengths = range(recipe.step, recipe.max_length + 1, recipe.step)
        places = [(k, length) for k in sizes for length in lengths if kind.feasible(k, length)]
        if not places:
            raise UserError("the grid has no cell with samples", "max_symbols max_length step")
        journal = stack.enter_context(open_journal(f"{recipe.folder}/grid", "cells", recipe))
        done, rest = journal.entries, places[len(journal.entries) :]
        if recipe.semantics == "ltl":  # several processes label the formulas of one cell
            cells: Iterable[Dict] = map(filled, rest)
        else:
            cells = stack.enter_context(WorkerPool(filled, recipe.workers)).results(rest)
        for number, cell in enumerate(tqdm(chain(done, cells), total=len(places), unit=" cells")):
            if number >= len(done):
                journal.append(cell)
            elif (cell.get("symbols"), cell.get("length")) != places[number]:
                raise journal.damaged(number + 2)
            grid.add(**cell)
        grid.write(recipe.folder)
        journal.remove()
    return grid


def _kind(recipe: GridRecipe, stack: ExitStack) -> Kind:
    """The kind of a semantics; the stack ends its processes."""
    if recipe.semantics == "ltl":
        pool = LabelPool(SpotLabeller(), recipe.workers, recipe.timeout)
        return LtlKind(recipe, stack.enter_context(pool))
    return {"prop": PropKind, "copy": CopyKind}[recipe.semantics](recipe)


def _versions(semantics: str) -> Dict[str, str]:
    """The versions of the programs that make a grid."""
    versions = {"sit_fairseq": __version__, "python": platform.python_version()}
    if semantics == "ltl":
        require_spot("LTL data need")
        versions["spot"] = spot_version()
    return versions
