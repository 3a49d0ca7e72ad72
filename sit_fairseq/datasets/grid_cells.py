"""The cells of grids of test data: how their samples are drawn and labelled.

``sit generate grid --help`` says what the data are.
"""

import sys
from abc import ABC, abstractmethod
from collections import Counter
from functools import lru_cache
from random import Random
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from tqdm import tqdm

from sit_fairseq.datasets.drawing import excluded_keys
from sit_fairseq.datasets.formula_sampling import LTL_FORBIDDEN, LTL_OPERATORS, FormulaSampler
from sit_fairseq.datasets.names import symbol_names
from sit_fairseq.datasets.sampling import SymbolSequences
from sit_fairseq.judging.labelling import LabelPool
from sit_fairseq.judging.spot_judge import spots_own_form
from sit_fairseq.logic.propositional import RANDOM_OPERATORS, smallest_answer
from sit_fairseq.logic.syntax import formula_symbols, read_formulas, read_sentences, tokenize
from sit_fairseq.symbols.canonical_form import form_key
from sit_fairseq.symbols.renaming import Renaming

# A cell has no more candidates when so many draws in a row have brought no new one.
IDLE_DRAWS = 10000


class GridRecipe(NamedTuple):
    """What the data depend on."""

    semantics: str
    max_symbols: int
    max_length: int
    step: int
    per_cell: int
    seed: int
    timeout: float
    exclude: Sequence[str] = ()


class FilledCell(NamedTuple):
    """A cell with its samples, and how many candidates were drawn and dropped for it."""

    symbols: int
    length: int
    extra: Dict[str, int]
    sources: List[str]
    targets: List[str]


class Kind(ABC):
    """How the samples of one semantics are made.

    Attributes:
        fewest: the number of symbols the grid begins with.
        faults: why a candidate may be dropped, beside being a duplicate or excluded.
    """

    fewest = 1
    faults: Sequence[str] = ()

    @abstractmethod
    def feasible(self, length: int, k: int) -> bool:
        """Whether there are candidates of a length with just k symbols."""

    @abstractmethod
    def draw(self, rng: Random, length: int, k: int) -> List[str]:
        """Draws a candidate, which is too short if it was ``rewritten``."""

    @abstractmethod
    def label(self, sources: List[str]) -> Iterable[Tuple[Optional[str], str]]:
        """Yields a fault, or None and the target, for each candidate."""


class PropKind(Kind):
    """Propositional formulas with their smallest assignments."""

    faults = ("unsatisfiable", "tautology")

    def __init__(self, max_symbols: int) -> None:
        self._names = symbol_names(max_symbols)
        self._sampler = FormulaSampler(RANDOM_OPERATORS, max_symbols, {})

    def feasible(self, length: int, k: int) -> bool:
        return self._sampler.feasible(length, k)

    def draw(self, rng: Random, length: int, k: int) -> List[str]:
        return self._sampler.draw(rng, length, self._names[:k])

    def label(self, sources: List[str]) -> Iterator[Tuple[Optional[str], str]]:
        for source in sources:
            answer = smallest_answer(tokenize(source))
            if answer:
                yield None, answer
            else:
                yield "unsatisfiable" if answer is None else "tautology", ""


class LtlKind(Kind):
    """LTL formulas with traces that Spot finds.

    Args:
        max_symbols: number of symbols.
        pool: processes that label formulas.
    """

    fewest = 0
    faults = ("rewritten", "unsatisfiable", "timeout", "error", "zero_in_trace")

    def __init__(self, max_symbols: int, pool: LabelPool) -> None:
        symbols = symbol_names(max_symbols)
        self._spot_names = [f"p{index}" for index in range(max_symbols)]
        self._renaming = Renaming(dict(zip(self._spot_names, symbols)))
        self._sampler = FormulaSampler(LTL_OPERATORS, max_symbols, LTL_FORBIDDEN)
        self._pool = pool

    def feasible(self, length: int, k: int) -> bool:
        return self._sampler.feasible(length, k)

    def draw(self, rng: Random, length: int, k: int) -> List[str]:
        formula = self._sampler.draw(rng, length, self._spot_names[:k])
        return self._renaming.tokens(spots_own_form(formula))

    def label(self, sources: List[str]) -> Iterator[Tuple[Optional[str], str]]:
        for source, label in zip(sources, self._pool.labels(sources)):
            if label.stopped:
                tqdm.write(f"{label.fault} of Spot: {source}", file=sys.stderr)
            yield label.fault, label.trace


class CopyKind(Kind):
    """Strings to be copied, each of those with just these symbols as likely as the others."""

    def __init__(self, max_symbols: int) -> None:
        self._names = symbol_names(max_symbols)
        self._sequences = lru_cache(maxsize=1)(SymbolSequences)  # cells come by their k

    def feasible(self, length: int, k: int) -> bool:
        return k <= length

    def draw(self, rng: Random, length: int, k: int) -> List[str]:
        return self._sequences(k).draw(rng, length, self._names[:k])

    def label(self, sources: List[str]) -> Iterable[Tuple[Optional[str], str]]:
        return ((None, source) for source in sources)


KINDS = {"prop": PropKind, "ltl": LtlKind, "copy": CopyKind}


@lru_cache(maxsize=1)
def quick_kind(semantics: str, max_symbols: int) -> Kind:
    """The kind of a semantics that needs no processes of its own; one per process."""
    return KINDS[semantics](max_symbols)


def all_cells(recipe: GridRecipe, kind: Kind) -> List[Tuple[int, int]]:
    """Lists the numbers of symbols and lengths for which there are candidates."""
    numbers, lengths = (
        range(0, most + 1, recipe.step) for most in (recipe.max_symbols, recipe.max_length)
    )
    return [
        (k, length)
        for k in numbers
        for length in lengths
        if k >= kind.fewest and length and kind.feasible(length, k)
    ]


@lru_cache(maxsize=1)
def excluded(names: Tuple[str, ...], semantics: str) -> Set[int]:
    """What no cell may have; read once, as worker processes are forked from who has read it."""
    return excluded_keys(names, read_sentences if semantics == "copy" else read_formulas)


def fill(kind: Kind, recipe: GridRecipe, k: int, length: int) -> FilledCell:
    """Makes the samples of one cell.

    Args:
        kind: how to make them.
        recipe: how many, from which seed, and what not.
        k: number of symbols.
        length: number of tokens.

    Returns:
        The cell.
    """
    rng = Random(f"{recipe.seed} {recipe.semantics} {k} {length}")
    dropped: Counter = Counter()
    known: Set[int] = set()
    forbidden = excluded(tuple(recipe.exclude), recipe.semantics)
    sources: List[str] = []
    targets: List[str] = []
    candidates = idle = 0
    while len(sources) < recipe.per_cell and idle < IDLE_DRAWS:
        batch: List[str] = []
        while len(batch) < recipe.per_cell - len(sources) and idle < IDLE_DRAWS:
            tokens = kind.draw(rng, length, k)
            candidates += 1
            idle += 1
            key = form_key(tokens, formula_symbols(tokens))
            if len(tokens) < length:
                dropped["rewritten"] += 1
            elif key in known:
                dropped["duplicates"] += 1
            elif key in forbidden:
                dropped["excluded"] += 1
            else:
                known.add(key)
                batch.append(" ".join(tokens))
                idle = 0
        for source, (fault, target) in zip(batch, kind.label(batch)):
            if fault is None:
                sources.append(source)
                targets.append(target)
            else:
                dropped[fault] += 1
    extra = {name: dropped[name] for name in ("duplicates", "excluded", *kind.faults)}
    return FilledCell(k, length, {"candidates": candidates, **extra}, sources, targets)


def fill_quickly(recipe: GridRecipe, cell: Tuple[int, int]) -> FilledCell:
    """Makes the samples of one cell in a worker process."""
    return fill(quick_kind(recipe.semantics, recipe.max_symbols), recipe, *cell)
