"""Random sentence pairs, none a renaming of another, drawn by several processes."""

from contextlib import closing
from itertools import chain, count
from typing import (
    Callable,
    Collection,
    Counter,
    Dict,
    Iterable,
    Iterator,
    List,
    NamedTuple,
    Sequence,
    Set,
    TypeVar,
)

from tqdm import tqdm

from sit_fairseq.datasets.pair_files import Pair, source_file, write_pairs
from sit_fairseq.errors import UserError
from sit_fairseq.judging.workers import WorkerPool
from sit_fairseq.logic.syntax import formula_symbols, read_formulas, tokenize
from sit_fairseq.symbols.canonical_form import form_key

Item = TypeVar("Item")
Result = TypeVar("Result")

# Lists the symbols of a sentence in order of first appearance.
SymbolLister = Callable[[Sequence[str]], List[str]]

# There are no more pairs when of so many drawn fewer than one in a thousand were new.
DRAWS_PER_CHECK = 20000


class Drawn(NamedTuple):
    """What came of drawing.

    Attributes:
        lengths: how many pairs were written by the length of their source.
        skipped: how many were ``duplicates`` and how many ``excluded``.
    """

    lengths: Counter
    skipped: Counter


def excluded_keys(
    names: Sequence[str],
    read: Callable[[str], List[str]] = read_formulas,
    symbols_of: SymbolLister = formula_symbols,
) -> Set[int]:
    """Reads the value of ``--exclude``.

    Args:
        names: files of sentences, or prefixes of pairs of files.
        read: reads the lines of a file; by default it refuses what is no formula, which
            would exclude nothing.
        symbols_of: lists the symbols of a sentence by first appearance.

    Returns:
        The :func:`~sit_fairseq.symbols.canonical_form.form_key` of each line.

    Raises:
        UserError: one of the files cannot be read.
    """
    keys: Set[int] = set()
    for name in names:
        sentences = map(tokenize, read(source_file(name)))
        keys.update(form_key(tokens, symbols_of(tokens)) for tokens in sentences)
    return keys


def unique_pairs(
    pairs: Iterable[Pair],
    size: int,
    excluded: Collection[int],
    skipped: Counter,
    symbols_of: SymbolLister = formula_symbols,
) -> Iterator[Pair]:
    """Yields pairs whose source is no renaming of one before it, nor of an excluded one.

    Args:
        pairs: source and target in the order of preference.
        size: number of pairs wanted.
        excluded: keys of sources that must not occur, by :func:`excluded_keys`.
        skipped: is told how many pairs were ``duplicates`` and how many ``excluded``.
        symbols_of: lists the symbols of a source by first appearance.

    Yields:
        ``size`` of the pairs.

    Raises:
        UserError: there seem to be no more.
    """
    seen: Set[int] = set()
    before = 0
    for number, (source, target) in enumerate(pairs, start=1):
        tokens = tokenize(source)
        key = form_key(tokens, symbols_of(tokens))
        if key in seen:
            skipped["duplicates"] += 1
        elif key in excluded:
            skipped["excluded"] += 1
        else:
            seen.add(key)
            yield source, target
            if len(seen) == size:
                return
        if number % DRAWS_PER_CHECK == 0:
            if len(seen) - before < DRAWS_PER_CHECK // 1000:
                raise UserError(
                    f"Found only {len(seen)} samples that are neither excluded nor renamings of "
                    f"each other, and the last {DRAWS_PER_CHECK} draws brought {len(seen) - before} of "
                    f"them: lower --size {size}, allow of longer samples or more symbols, or take "
                    "another --seed than that of the excluded files."
                )
            before = len(seen)


def in_order(
    function: Callable[[Item], Result], items: Iterable[Item], workers: int
) -> Iterator[Result]:
    """Applies a function to items in processes, a little ahead of who takes the results.

    Args:
        function: a function that can be pickled, of plain Python.
        items: its arguments, maybe without end.
        workers: number of processes.

    Yields:
        The results in the order of the items.
    """
    with WorkerPool(function, workers) as pool:
        yield from pool.results(items)


def write_drawn(
    prefix: str,
    draw_chunk: Callable[[int], List[Pair]],
    size: int,
    excluded: Collection[int],
    workers: int,
    unit: str,
) -> Drawn:
    """Draws chunks of pairs until enough of them are new, and writes these.

    Args:
        prefix: names the files ``PREFIX.src`` and ``PREFIX.tgt``.
        draw_chunk: draws the pairs of the chunk of a number, as :func:`in_order` wants it.
        size: number of pairs wanted.
        excluded: as in :func:`unique_pairs`.
        workers: number of processes.
        unit: what the progress bar calls a pair, in the plural.

    Returns:
        How many pairs were written and left out.

    Raises:
        UserError: there seem to be no more, or the files cannot be written.
    """
    skipped: Counter = Counter()
    with closing(in_order(draw_chunk, count(), workers)) as chunks:
        pairs = unique_pairs(chain.from_iterable(chunks), size, excluded, skipped)
        lengths = write_pairs(prefix, tqdm(pairs, total=size, unit=f" {unit}"))
    return Drawn(lengths, skipped)


def length_summary(lengths: Dict[int, int]) -> str:
    """Says how evenly lengths are distributed.

    Args:
        lengths: number of samples by length, at least one.

    Returns:
        The fewest and the most samples per length.
    """
    rarest, commonest = min(lengths, key=lengths.get), max(lengths, key=lengths.get)
    return (
        f"{lengths[rarest]} (length {rarest}) to {lengths[commonest]} (length {commonest}) "
        "samples per length"
    )
