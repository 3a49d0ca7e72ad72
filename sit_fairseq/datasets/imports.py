"""Turns published data sets into sentence pairs and grids; see ``sit import --help``."""

import json
import os
from contextlib import contextmanager
from typing import Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

from sit_fairseq.datasets.grid import Cell, Grid
from sit_fairseq.datasets.pair_files import Pair, write_pairs
from sit_fairseq.datasets.pickled_heat_map import RefusedPickle, read_pickled_heat_map
from sit_fairseq.datasets.published import (
    ANSWERS,
    BadLine,
    PublishedSample,
    read_heat_map,
    read_published_pairs,
)
from sit_fairseq.errors import UserError
from sit_fairseq.judging.judge import make_judge
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import VerdictCounts
from sit_fairseq.logic.syntax import formula_symbols
from sit_fairseq.storage.files import replacing

SPLITS = ("train", "val", "test")


def _good_samples(
    items: Iterable[Union[PublishedSample, BadLine]], path: str, skipped: Optional[List[BadLine]]
) -> Iterator[PublishedSample]:
    """Passes the samples on.

    Args:
        items: the content of a file.
        path: its name, for the message.
        skipped: gets the lines that cannot be read; None if there must not be any.

    Yields:
        The samples.

    Raises:
        UserError: a line cannot be read and is not to be skipped, or there is no sample.
    """
    found = False
    for item in items:
        if isinstance(item, PublishedSample):
            found = True
            yield item
        elif skipped is None:
            raise UserError(
                f"Line {item.number} of {path} is malformed: {item.reason}. Correct it, or leave "
                "it out with --skip-malformed."
            )
        else:
            skipped.append(item)
    if not found:
        raise UserError(f"{path} has no sample that can be read; is --semantics right?")


def _report_skipped(skipped: Sequence[BadLine], path: str) -> str:
    """Lists the lines left out in a file of their own.

    Args:
        skipped: the lines.
        path: the file, written only if there are any.

    Returns:
        Words for the summary.
    """
    if not skipped:
        return ""
    with replacing(path) as (file,):
        file.writelines(f"{line.number}\t{line.reason}\t{line.text}\n" for line in skipped)
    return f"; left out {len(skipped)} malformed lines, see {path}"


def _check_answers(pairs: Sequence[Pair], semantics: str) -> str:
    """Judges samples.

    Args:
        pairs: formulas and answers.
        semantics: what they mean.

    Returns:
        Words for the summary.
    """
    with JudgePool(make_judge(semantics)) as pool:
        counts = VerdictCounts(pool.verify_all(pairs))
    return f"; of the first {len(pairs)}, {counts}"


@contextmanager
def _writing(path: str) -> Iterator[None]:
    """Says in a sentence that something cannot be written."""
    try:
        yield
    except OSError as error:
        raise UserError(f"Cannot write {path}: {error.strerror}.")


def import_pairs(
    source: str, target: str, semantics: str, skip_malformed: bool, check: int
) -> Iterator[str]:
    """Converts a file of pairs, or the splits of a folder.

    Args:
        source: the file or folder.
        target: names the files ``TARGET.src`` and ``TARGET.tgt``, or the folder of such files.
        semantics: a key of ``ANSWERS``.
        skip_malformed: leave out lines that cannot be read, and list them in a file.
        check: how many pairs to judge.

    Yields:
        A summary of each file.

    Raises:
        UserError: a file cannot be used.
    """
    files = {source: target}
    if os.path.isdir(source):
        paths = {name: os.path.join(source, f"{name}.txt") for name in SPLITS}
        files = {
            path: os.path.join(target, name) for name, path in paths.items() if os.path.exists(path)
        }
        if not files:
            raise UserError(f"{source} has no train.txt, val.txt or test.txt; name a file instead.")
    with _writing(target):
        for path, prefix in files.items():
            yield _import_file(path, prefix, semantics, skip_malformed, check)


def _keeping(pairs: Iterable[Pair], first: List[Pair], number: int) -> Iterator[Pair]:
    """Passes pairs on, and adds the first ones to a list."""
    for pair in pairs:
        if len(first) < number:
            first.append(pair)
        yield pair


def _import_file(path: str, prefix: str, semantics: str, skip_malformed: bool, check: int) -> str:
    """Converts one file of pairs; returns a summary."""
    skipped: Optional[List[BadLine]] = [] if skip_malformed else None
    samples = _good_samples(read_published_pairs(path, semantics), path, skipped)
    pairs = ((" ".join(sample.formula), " ".join(sample.answer)) for sample in samples)
    first: List[Pair] = []
    count = sum(write_pairs(prefix, _keeping(pairs, first, check)).values())
    text = f"{count} samples of {path} in {prefix}.src and .tgt"
    text += _report_skipped(skipped or [], prefix + ".skipped")
    return text + (_check_answers(first, semantics) if first else "")


def import_heat_map(
    source: str, target: str, semantics: str, skip_malformed: bool, check: int
) -> str:
    """Converts a heat map to a grid.

    Args:
        source: file of JSON lines.
        target: folder to be written.
        semantics: a key of ``ANSWERS``.
        skip_malformed: leave out lines that cannot be read, and list them in a file.
        check: how many pairs to judge.

    Returns:
        A summary.

    Raises:
        UserError: a file cannot be used.
    """
    skipped: Optional[List[BadLine]] = [] if skip_malformed else None
    cells: Dict[Tuple[int, int], List[Pair]] = {}
    for sample in _good_samples(read_heat_map(source, semantics), source, skipped):
        cell = cells.setdefault((len(formula_symbols(sample.formula)), len(sample.formula)), [])
        cell.append((" ".join(sample.formula), " ".join(sample.answer)))
    grid = Grid([], [], [], {"semantics": semantics, "imported": os.path.basename(source)})
    for (n_symbols, length), pairs in sorted(cells.items()):
        grid.cells.append(Cell(n_symbols, length, len(grid.sources), len(pairs)))
        grid.sources += [source for source, _ in pairs]
        grid.targets += [target for _, target in pairs]
    grid.write(target)
    text = f"{len(grid.sources)} samples of {source} in {len(grid.cells)} cells in {target}"
    with _writing(target):
        text += _report_skipped(skipped or [], os.path.join(target, "grid.skipped"))
    first = list(zip(grid.sources, grid.targets))[:check]
    return text + (_check_answers(first, semantics) if first else "")


def import_pickle(source: str, target: str, semantics: str) -> str:
    """Converts a pickled heat map to lines of JSON.

    Args:
        source: the pickle.
        target: file to be written.
        semantics: a key of ``ANSWERS``.

    Returns:
        A summary.

    Raises:
        UserError: a file cannot be used.
    """
    try:
        with open(source, "rb") as file:
            data = file.read()
    except OSError as error:
        raise UserError(f"Cannot read {source}: {error.strerror}; name an existing file.")
    count = 0
    try:
        with _writing(target):
            os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
            with replacing(target) as (out,):
                for count, entry in enumerate(read_pickled_heat_map(data), start=1):
                    values = (entry.symbols, entry.length, entry.formula, entry.answer)
                    names = ("symbols", "length", "formula", ANSWERS[semantics])
                    out.write(json.dumps(dict(zip(names, values))) + "\n")
    except RefusedPickle as error:
        raise UserError(f"{source} is not the pickle of a heat map: {error}.")
    return f"{count} samples of {source} in {target}"
