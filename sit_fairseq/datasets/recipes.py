"""Random sentence pairs, none a renaming of another, drawn by several processes."""

from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import count
from random import Random
from typing import (
    Any,
    Callable,
    Dict,
    Iterator,
    List,
    Optional,
    Sequence,
    Set,
    Tuple,
)

from tqdm import tqdm

from sit_fairseq.datasets.pair_files import Pair, source_file, write_pairs
from sit_fairseq.domains.formulas.files import formula_key, read_formulas
from sit_fairseq.domains.formulas.syntax import formula_symbols
from sit_fairseq.errors import UserError
from sit_fairseq.judging.workers import WorkerPool
from sit_fairseq.storage.files import read_sentences, sha256_of_file
from sit_fairseq.storage.journal import Journal
from sit_fairseq.symbols.canonical_form import form_key
from sit_fairseq.symbols.pattern import SymbolPattern

# Lists the symbols of a sentence in order of first appearance.
SymbolLister = Callable[[Sequence[str]], List[str]]

# There are no more pairs when of so many drawn fewer than one in a thousand were new.
DRAWS_PER_CHECK = 20000


@dataclass
class Recipe:
    """The options of ``sit generate``; each generator uses some of them.

    Attributes:
        out_prefix: names the files ``OUT_PREFIX.src`` and ``OUT_PREFIX.tgt``.
        exclude: files, or prefixes, of sentences of which no source may be a renaming.
        distinct_symbols: fewest and most different symbols of a source, None for any number.
        min_length, max_length: fewest and most tokens of a source.
        operators: operators of random formulas, None for those of PropRandom35 or LTLRandom35.
        written: draw formulas as people write them (:mod:`sit_fairseq.domains.formulas.shapes`).
        labels: the kind of targets.
        timeout: seconds for the label of an LTL formula.
        workers: number of processes; the pairs do not depend on it.
        restart: discard what an interrupted run has left.
    """

    out_prefix: str
    symbols: Sequence[str]
    size: int
    seed: int
    exclude: Sequence[str] = ()
    distinct_symbols: Optional[Tuple[int, int]] = None
    min_length: int = 1
    max_length: int = 35
    operators: Optional[Sequence[str]] = None
    written: bool = False
    labels: str = ""
    timeout: float = 120.0
    workers: int = 1
    restart: bool = False

    def __post_init__(self) -> None:
        if self.written and self.distinct_symbols:
            raise UserError("written formulas have any number of symbols", "distinct_symbols")
        if self.written and not self.symbols:
            raise UserError("written formulas need a symbol", "symbols")


def determining(recipe: Any) -> Dict[str, Any]:
    """The attributes of a recipe that the data depend on."""
    others = ("out_prefix", "folder", "workers", "restart")
    return {name: value for name, value in vars(recipe).items() if name not in others}


def open_journal(prefix: str, kind: str, recipe: Any) -> Journal:
    """Opens the journal ``PREFIX.journal`` of entries of a kind that depend on a recipe."""
    excluded = [sha256_of_file(source_file(name)) for name in recipe.exclude]
    return Journal(
        f"{prefix}.journal",
        kind,
        {**determining(recipe), "excluded": excluded},
        advice="pass --restart to discard it",
        where="the output",
        restart=recipe.restart,
    )


def symbol_names(number: int) -> List[str]:
    """The first names of symbols: a, b, c, ... or, for more than 26, p0, p1, p2, ..."""
    return [chr(ord("a") + i) if number <= 26 else f"p{i}" for i in range(number)]


def read_forms(
    name: str,
    symbols_of: Optional[SymbolLister] = None,
    pattern: Optional[SymbolPattern] = None,
) -> Iterator[Tuple[List[str], int]]:
    """Reads the sentences of a file.

    Args:
        name: the file, or the prefix of a pair of files.
        symbols_of: lists the symbols of a sentence by first appearance; None for formulas, where
            every line must be one.
        pattern: says of which sort each is; None if there is one sort.

    Yields:
        The tokens of each line, with their :func:`~sit_fairseq.symbols.canonical_form.form_key`.

    Raises:
        UserError: the file cannot be read, or a line is no formula.
    """
    read = read_formulas if symbols_of is None else read_sentences
    for tokens in map(str.split, read(source_file(name))):
        yield tokens, form_key(tokens, (symbols_of or formula_symbols)(tokens), pattern)


def excluded_keys(names: Sequence[str], symbols_of: Optional[SymbolLister] = None) -> Set[int]:
    """The keys of all sentences of some files, see :func:`read_forms`."""
    return {key for name in names for _, key in read_forms(name, symbols_of)}


def draw_pairs(recipe: Recipe, draw: Callable[[Random], Pair], per_chunk: int) -> Iterator[Pair]:
    """Draws pairs in processes, without end, ``per_chunk`` from each random generator."""
    draw_chunk = partial(_draw_chunk, draw, recipe.seed, per_chunk)
    with WorkerPool(draw_chunk, recipe.workers) as pool:
        for pairs in pool.results(count()):
            yield from pairs


def _draw_chunk(draw: Callable[[Random], Pair], seed: int, size: int, number: int) -> List[Pair]:
    rng = Random(f"{seed} {number}")
    return [draw(rng) for _ in range(size)]


def write_unique(
    recipe: Recipe, pairs: Iterator[Pair], symbols_of: Optional[SymbolLister] = None
) -> Counter:
    """Writes the first pairs whose source is no renaming of an earlier nor an excluded one.

    Args:
        recipe: what to write.
        pairs: pairs to choose from.
        symbols_of: see :func:`read_forms`.

    Returns:
        How many pairs were left out, by the reason.

    Raises:
        UserError: there seem to be no more, or a file cannot be used.
    """
    excluded = excluded_keys(recipe.exclude, symbols_of)
    symbols_of = symbols_of or formula_symbols
    left_out = Counter(duplicates=0, excluded=0)

    def unique() -> Iterator[Pair]:
        seen: Set[int] = set()
        before = 0
        for number, pair in enumerate(pairs, start=1):
            tokens = pair[0].split()
            key = form_key(tokens, symbols_of(tokens))
            if key in seen:
                left_out["duplicates"] += 1
            elif key in excluded:
                left_out["excluded"] += 1
            else:
                seen.add(key)
                yield pair
                if len(seen) == recipe.size:
                    return
            if number % DRAWS_PER_CHECK == 0:
                if len(seen) - before < DRAWS_PER_CHECK // 1000:
                    raise too_few(len(seen))
                before = len(seen)

    with closing(pairs):
        write_pairs(recipe.out_prefix, tqdm(unique(), total=recipe.size, unit=" samples"))
    return left_out


def too_few(found: int) -> UserError:
    """The error to raise when no further samples are found."""
    return UserError(
        f"Found only {found} samples that are neither excluded nor renamings of each other; ask for "
        "fewer, for longer ones, or for more symbols"
    )
