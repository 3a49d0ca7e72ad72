"""What the scripts that generate data have in common."""

import argparse
import multiprocessing
import os
import re
from collections import deque
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from typing import (
    Any,
    Callable,
    Collection,
    Counter,
    Deque,
    Dict,
    Iterable,
    Iterator,
    List,
    Optional,
    Sequence,
    Set,
    TextIO,
    Tuple,
    TypeVar,
)

from sit_fairseq.data.sampling import LONGEST_FORMULA
from sit_fairseq.errors import UserError
from sit_fairseq.files import replacing
from sit_fairseq.logic.syntax import (
    ARITY,
    formula_symbols,
    read_formulas,
    read_sentences,
    tokenize,
)
from sit_fairseq.symbols.canonical_form import form_key

Item = TypeVar("Item")
Result = TypeVar("Result")

# Lists the symbols of a sentence in order of first appearance.
SymbolLister = Callable[[Sequence[str]], List[str]]

# There are no more samples when of so many drawn fewer than one in a thousand were new.
PATIENCE = 20000


def parse_symbols(text: str, least: int = 1) -> List[str]:
    """Reads the value of ``--symbols``.

    Args:
        text: a number of symbols, or their names separated by commas.
        least: how many there must be, 0 or 1.

    Returns:
        The names.

    Raises:
        UserError: there are none, one occurs twice, or one cannot be a symbol.
    """
    if text.isdecimal():
        number = int(text)
        names = [chr(ord("a") + i) if number <= 26 else f"p{i}" for i in range(number)]
    else:
        names = [name.strip() for name in text.split(",")]
    if len(names) < least or len(set(names)) < len(names):
        raise UserError(f"--symbols {text}: name at least one symbol, and none of them twice.")
    for name in names:
        if name in ARITY or not name.isidentifier():
            raise UserError(
                f"--symbols {text}: '{name}' cannot be a symbol; use names of letters and digits "
                f"that are not operators ({' '.join(ARITY)})."
            )
    return names


def parse_names(text: str, option: str = "--symbols") -> List[str]:
    """Reads names of any form, and ranges of them.

    Args:
        text: names separated by commas; ``<ent0>..<ent99>`` stands for a hundred of them.
        option: where they were given, for the messages.

    Returns:
        The names.

    Raises:
        UserError: a range cannot be read, or a name occurs twice or holds a space.
    """
    names: List[str] = []
    for item in text.split(","):
        first, dots, last = item.partition("..")
        if not dots:
            names.append(first)
            continue
        ends = [re.fullmatch(r"(\D*)(\d+)(\D*)", end) for end in (first, last)]
        if None in ends or ends[0].group(1, 3) != ends[1].group(1, 3):
            raise UserError(
                f"{option} {text}: the ends of {item!r} must differ in one number only, "
                "as in '<ent0>..<ent99>'"
            )
        before, start, after = ends[0].groups()
        names += [f"{before}{n}{after}" for n in range(int(start), int(ends[1].group(2)) + 1)]
    if len(set(names)) < len(names) or any(not name or re.search(r"\s", name) for name in names):
        raise UserError(f"{option} {text}: names must be distinct and without spaces")
    return names


def source_file(name: str) -> str:
    """The file that a prefix of sentence pairs, or the name of a file, stands for.

    Args:
        name: the prefix or the name.

    Returns:
        The name itself if there is such a file and no ``NAME.src``, else ``NAME.src``.
    """
    source = f"{name}.src"
    return name if os.path.isfile(name) and not os.path.exists(source) else source


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


def unique_samples(
    samples: Iterable[Tuple[str, str]],
    size: int,
    excluded: Collection[int],
    skipped: Counter,
    symbols_of: SymbolLister = formula_symbols,
) -> Iterator[Tuple[str, str]]:
    """Yields samples whose source is no renaming of one before it, nor of an excluded one.

    Args:
        samples: pairs of source and target in the order of preference.
        size: number of samples wanted.
        excluded: keys of sources that must not occur, by :func:`excluded_keys`.
        skipped: is told how many samples were ``duplicates`` and how many ``excluded``.
        symbols_of: lists the symbols of a source by first appearance.

    Yields:
        ``size`` of the samples.

    Raises:
        UserError: there seem to be no more.
    """
    seen: Set[int] = set()
    before = 0
    for number, (source, target) in enumerate(samples, start=1):
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
        if number % PATIENCE == 0:
            if len(seen) - before < PATIENCE // 1000:
                raise UserError(
                    f"Found only {len(seen)} samples that are neither excluded nor renamings of "
                    f"each other, and the last {PATIENCE} draws brought {len(seen) - before} of "
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
    # Forked workers need not import the package (fairseq, torch) again, and run nothing
    # but plain Python, which takes no locks of the threads these libraries may own.
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(workers, mp_context=context) as executor:
        ahead: Deque = deque()
        try:
            for item in items:
                ahead.append(executor.submit(function, item))
                if len(ahead) == 2 * workers:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            executor.shutdown(cancel_futures=True)


def read_pairs(prefix: str) -> List[Tuple[str, str]]:
    """Reads sentence pairs.

    Args:
        prefix: names the files ``PREFIX.src`` and ``PREFIX.tgt``.

    Returns:
        Source and target of each pair.

    Raises:
        UserError: a file cannot be read, or one has more lines than the other.
    """
    sources, targets = (read_sentences(f"{prefix}.{side}") for side in ("src", "tgt"))
    if len(sources) != len(targets):
        raise UserError(
            f"{prefix}.src has {len(sources)} lines but .tgt has {len(targets)}; "
            "give files whose lines belong together."
        )
    return list(zip(sources, targets))


@contextmanager
def writing_pairs(prefix: str) -> Iterator[List[TextIO]]:
    """Opens ``PREFIX.src`` and ``PREFIX.tgt`` as :func:`~sit_fairseq.files.replacing` does.

    Args:
        prefix: what their names begin with; its folder is made if there is none.

    Yields:
        The open files.

    Raises:
        UserError: they cannot be written.
    """
    try:
        os.makedirs(os.path.dirname(prefix) or ".", exist_ok=True)
        with replacing(f"{prefix}.src", f"{prefix}.tgt") as files:
            yield files
    except OSError as error:
        raise UserError(f"Cannot write {prefix}.src and .tgt: {error.strerror}.")


def check_same_options(theirs: Dict[str, Any], ours: Dict[str, Any]) -> None:
    """Refuses to go on with what a run with other options has begun.

    Args:
        theirs: options of that run by name.
        ours: the same options of this one.

    Raises:
        UserError: two differ.
        KeyError: that run lacks one.
    """
    for name, value in ours.items():
        if theirs[name] != value:
            raise UserError(
                f"The interrupted run had --{name.replace('_', '-')} {theirs[name]}, not "
                f"{value}: use the same options, or omit --resume."
            )


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


def add_sampling_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that every generator of random sentences has.

    Args:
        parser: the generator's own parser.
    """
    add = parser.add_argument
    add(
        "--symbols",
        default="5",
        help="how many (a, b, ...; for more than 26 p0, p1, ...), or their names: f,g,h "
        "(default: %(default)s)",
    )
    add("--min-length", type=int, default=1, help="fewest tokens (default: %(default)s)")
    add("--max-length", type=int, default=35, help="most tokens (default: %(default)s)")
    add("--size", type=int, default=800000, help="number of samples (default: %(default)s)")
    add("--seed", type=int, default=42, help="(default: %(default)s)")
    add(
        "--workers",
        type=int,
        default=2,
        help="processes; the data do not depend on their number (default: %(default)s)",
    )


def add_exclude_option(parser: argparse.ArgumentParser) -> None:
    """Adds the option whose value :func:`excluded_keys` takes.

    Args:
        parser: the generator's own parser.
    """
    parser.add_argument(
        "--exclude",
        nargs="+",
        default=[],
        metavar="FILE",
        help="leave out all renamings of the lines of these files; PREFIX stands for PREFIX.src",
    )


def add_distinct_option(parser: argparse.ArgumentParser) -> None:
    """Adds the option whose value :func:`parse_distinct` takes.

    Args:
        parser: the generator's own parser.
    """
    parser.add_argument(
        "--distinct-symbols",
        metavar="LO-HI",
        help="number of different symbols in each sample, or a range of it; lengths in which they "
        "have no room are left out (default: any)",
    )


def parse_distinct(
    args: argparse.Namespace, n_symbols: int, room: int, least: int = 1
) -> Optional[Tuple[int, int]]:
    """Reads the value of ``--distinct-symbols``.

    Args:
        args: the parsed options.
        n_symbols: how many symbols there are.
        room: how many different ones a sample of ``--max-length`` can have.
        least: how many each sample must have, 0 or 1.

    Returns:
        The fewest and the most symbols of a sample, None if that was not said.

    Raises:
        UserError: it cannot be read or met.
    """
    text = args.distinct_symbols
    if text is None:
        return None
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    fewest, most = (int(end) for end in (match[1], match[2] or match[1])) if match else (0, -1)
    if not least <= fewest <= most:
        raise UserError(
            f"--distinct-symbols {text}: give a number from {least} on, or a range as in 4-5."
        )
    if most > n_symbols:
        raise UserError(f"--distinct-symbols {text}: --symbols {args.symbols} has not so many.")
    if most > room:
        raise UserError(
            f"--distinct-symbols {text}: a sample of --max-length {args.max_length} tokens has at "
            f"most {room} different symbols."
        )
    return fewest, most


def parse_distinct_in_formulas(
    args: argparse.Namespace, n_symbols: int, least: int = 1
) -> Optional[Tuple[int, int]]:
    """Reads the value of ``--distinct-symbols`` for formulas.

    Args:
        args: the parsed options.
        n_symbols: how many symbols there are.
        least: how many each formula must have, 0 or 1.

    Returns:
        As :func:`parse_distinct`.

    Raises:
        UserError: it cannot be read or met, or the formulas are too long for the sampler.
    """
    distinct = parse_distinct(args, n_symbols, (args.max_length + 1) // 2, least)
    if distinct is not None and args.max_length > LONGEST_FORMULA:
        raise UserError(
            f"--max-length {args.max_length}: with --distinct-symbols formulas can have at most "
            f"{LONGEST_FORMULA} tokens."
        )
    return distinct


def check_sampling_options(args: argparse.Namespace) -> None:
    """Refuses values of the sampling options that cannot be met.

    Args:
        args: the parsed options.

    Raises:
        UserError: one cannot.
    """
    if not 1 <= args.min_length <= args.max_length:
        raise UserError(
            f"--min-length {args.min_length} --max-length {args.max_length}: "
            "lengths must be at least 1 and the maximum no less than the minimum."
        )
    if args.size < 1 or args.workers < 1:
        raise UserError(f"--size {args.size} --workers {args.workers}: both must be at least 1.")
