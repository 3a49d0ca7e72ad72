"""Makes sets and grids of problems with their answers, of any domain."""

import os
import pickle
import platform
import traceback
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import chain, count
from random import Random
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Sequence, Set, Tuple

from tqdm import tqdm

from sit_fairseq import __version__
from sit_fairseq.datasets.grid import Grid
from sit_fairseq.datasets.labelling import Label, Labeller, LabelPool
from sit_fairseq.datasets.options import as_dict, at_least, option
from sit_fairseq.datasets.pair_files import Pair, read_forms, source_file, write_pairs
from sit_fairseq.datasets.quotas import ByLength, BySize, OfCell, Quota
from sit_fairseq.datasets.recipes import EXCLUDE_HELP, Cells, Recipe, TimedRecipe, Wrong, tokens_of
from sit_fairseq.errors import UserError, excerpt
from sit_fairseq.judging.workers import WorkerPool
from sit_fairseq.storage.files import replacing, sha256_of_file
from sit_fairseq.storage.journal import Journal
from sit_fairseq.symbols.pattern import SymbolPattern


def generate(domain: Any, recipe: Recipe, prefix: str) -> Counter:
    """Writes problems with their answers, or goes on where this was interrupted.

    ``PREFIX.src`` and ``PREFIX.tgt`` get a line each. If labels take long to find, those of
    finished rounds are kept in ``PREFIX.journal``, and ``PREFIX.timeouts`` lists the problems given
    up. Returns how many were left out, by the reason; a UserError if there are too few problems, or
    a file cannot be used.
    """
    versions = _versions(domain)
    with ExitStack() as stack:
        journal: Optional[Journal] = None
        if isinstance(recipe, TimedRecipe):
            depends = {"domain": domain.versioned, **as_dict(recipe), "versions": versions}
            journal = stack.enter_context(_journal(prefix, "labels", recipe, depends))
        quota = _quota(domain, recipe, stack, journal)
        write_pairs(prefix, tqdm(quota.pairs(), total=recipe.size, unit=" samples"))
        if journal is not None:
            with replacing(f"{prefix}.timeouts") as (file,):
                file.writelines(f"{fault}\t{text}\n" for text, fault in quota.stopped.items())
            journal.remove()
    return quota.left_out


def samples(domain: Any, recipe: Recipe) -> List[Pair]:
    """The problems with their answers, as :func:`generate` writes them."""
    _versions(domain)
    with ExitStack() as stack:
        return list(_quota(domain, recipe, stack).pairs())


def _quota(
    domain: Any, recipe: Recipe, stack: ExitStack, journal: Optional[Journal] = None
) -> Quota:
    """A set in the making; the stack ends the processes."""
    label = _labeller(domain, getattr(recipe, "labels", next(iter(domain.labels))))
    wanted = recipe.size, domain.symbols, _excluded(domain, recipe.exclude)
    if isinstance(recipe, TimedRecipe):
        pool = stack.enter_context(LabelPool(label, recipe.workers, recipe.timeout))
        draws, labels = partial(_draws, recipe), partial(_kept_labels, pool, journal)
        return ByLength(recipe, partial(draws, domain.name), partial(labels, domain.name), *wanted)
    make = partial(_told, partial(_chunk, recipe, label))
    chunks = stack.enter_context(WorkerPool(make, recipe.workers)).results(count())
    return BySize(_made(chunks, domain.name), recipe.per_chunk, *wanted)


def _labeller(domain: Any, name: str) -> Labeller:
    """The function that labels problems; a UserError if no other process can call it."""
    label = domain.labels[name]
    try:
        pickle.dumps(label)
    except (AttributeError, pickle.PicklingError, TypeError) as error:
        reason = "must be functions of a module, for other processes"
        raise UserError(f"the labels of {domain.name} {reason} ({error}); mend it")
    return label


def _chunk(recipe: Recipe, label: Labeller, number: int) -> List[Tuple[str, Label]]:
    """Draws and labels the problems of a chunk."""
    rng, pairs = Random(f"{recipe.seed} {number}"), []
    for _ in range(recipe.per_chunk):
        source = " ".join(tokens_of(recipe.draw(rng)))
        if source:
            pairs.append((source, _label(label(source))))
    return pairs


def _draws(recipe: Recipe, domain: str, rng: Random, wanted: Dict[int, int]) -> Iterator[List[str]]:
    """Problems as :meth:`Recipe.draws` draws them; a UserError if the domain's code is at fault."""
    drawn = (tokens_of(tokens) for begun in (recipe.draws,) for tokens in begun(rng, wanted))
    return _made(iter(partial(_told, partial(next, drawn), None), None), domain)


def _label(found: Any) -> Label:
    """A label that a domain's code gave."""
    if not isinstance(found, Label):
        raise Wrong(f"labels a problem {excerpt(str(found))}, which is no Label")
    target = found.target
    if not isinstance(target, str) or target.splitlines() not in ([], [target]):
        raise Wrong(f"labels a problem by {excerpt(str(target))}, which is no line of text")
    return found


def _told(make: Callable[[Any], Any], given: Any) -> Any:
    """Calls a domain's code. Returns the UserError that it raises, or a text if it fails otherwise."""
    try:
        return make(given)
    except UserError as error:
        return error  # for the process that asked
    except Wrong as error:
        return str(error)
    except Exception as error:  # whatever their code raises
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"line {place.lineno} of {os.path.basename(place.filename)}"
        return f"fails in {where} ({type(error).__name__}: {error})"


def _made(results: Iterable[Any], domain: str) -> Iterator[Any]:
    """Yields what :func:`_told` returned; raises a UserError that is among it, or one for a text."""
    for found in results:
        if isinstance(found, UserError):
            raise found
        if isinstance(found, str):
            raise UserError(f"the domain {domain} {found}; mend it")
        yield found


def _kept_labels(
    pool: LabelPool, journal: Optional[Journal], domain: str, number: int, sources: List[str]
) -> Iterable[Label]:
    """The labels of a round, from the journal if an interrupted run made them."""
    if journal is not None and number < len(journal.entries):
        entry = journal.entries[number]
        if list(entry) != sources:
            raise journal.damaged(number + 2)
        return [Label(*label) for label in entry.values()]
    labels = _made(map(partial(_told, _label), pool.results(sources)), domain)
    if journal is not None:
        labels = list(labels)
        journal.append(dict(zip(sources, labels)))
    return labels


def _versions(domain: Any) -> Dict[str, Optional[str]]:
    """The versions of the libraries of a domain, of which none may be missing."""
    judge = domain.judge()
    if judge.missing is not None:
        raise UserError(f"Data of {domain.name} need what is not installed: {judge.missing}")
    return judge.versions()


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
    """The options of a grid, see ``sit grid --help``."""

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
    exclude: Sequence[str] = option([], EXCLUDE_HELP, nargs="+", metavar="FILE")
    workers: int = option(2, "processes; data do not depend on their number", type=at_least(1))
    restart: bool = option(False, "begin anew instead of going on", action="store_true")


def generate_grid(domain: Any, recipe: GridRecipe, folder: str) -> Grid:
    """Generates a grid and writes it, or goes on where this was interrupted; ``grid.journal`` has
    the finished cells. A UserError if there are no such samples, or a file cannot be used."""
    versions = {"sit_fairseq": __version__, "python": platform.python_version()}
    options = {"domain": domain.versioned, **as_dict(recipe)}
    options["versions"] = {**versions, **_versions(domain)}
    grid = Grid([], [], [], options, options.pop("seed"))
    cells = domain.cells(recipe.max_symbols, recipe.max_length)
    excluded = _excluded(domain, recipe.exclude)
    sizes = range(0, recipe.max_symbols + 1, recipe.step)
    lengths = range(recipe.step, recipe.max_length + 1, recipe.step)
    places = [(k, length) for k in sizes for length in lengths if cells.feasible(k, length)]
    if not places:
        raise UserError("the grid has no cell with samples", "max_symbols max_length step")
    label = _labeller(domain, next(iter(domain.labels)))
    seed = f"{recipe.seed} {domain.alias or domain.name}"
    wanted = recipe.per_cell, domain.symbols, excluded
    with ExitStack() as stack:
        depends = {**options, "seed": recipe.seed}
        journal = stack.enter_context(_journal(f"{folder}/grid", "cells", recipe, depends))
        done, rest = journal.entries, places[len(journal.entries) :]
        if issubclass(domain.recipe, TimedRecipe):  # processes label the problems of one cell
            pool = stack.enter_context(LabelPool(label, recipe.workers, recipe.timeout))
            make = partial(_told, partial(_cell, cells, pool.results, seed, wanted))
            made: Iterator = map(make, rest)
        else:
            make = partial(_told, partial(_cell, cells, partial(map, label), seed, wanted))
            made = stack.enter_context(WorkerPool(make, recipe.workers)).results(rest)
        every = chain(done, _made(made, domain.name))
        for number, cell in enumerate(tqdm(every, total=len(places), unit=" cells")):
            if number >= len(done):
                journal.append(cell)
            elif (cell.get("symbols"), cell.get("length")) != places[number]:
                raise journal.damaged(number + 2)
            grid.add(**cell)
        grid.write(folder)
        journal.remove()
    return grid


def _cell(
    cells: Cells, label: Callable, seed: str, wanted: Tuple, place: Tuple[int, int]
) -> Dict[str, Any]:
    """Makes the samples of one cell: the arguments of :meth:`Grid.add`."""
    quota = OfCell(cells, lambda sources: map(_label, label(sources)), seed, place, *wanted)
    pairs = list(quota.pairs())
    extra = {"candidates": quota.candidates, **quota.left_out}
    return {"symbols": place[0], "length": place[1], "pairs": pairs, "extra": extra}
