"""Training conditions of the paper, and random renamings, made from existing pairs."""

from collections import Counter
from random import Random
from typing import Dict, Iterable, Iterator, List, Sequence

from sit_fairseq.datasets.names import symbol_names
from sit_fairseq.datasets.pair_files import Pair
from sit_fairseq.errors import UserError
from sit_fairseq.logic.ltl import data_symbols
from sit_fairseq.logic.syntax import tokenize
from sit_fairseq.symbols.pattern import SymbolPattern
from sit_fairseq.symbols.renaming import Renaming, random_renamings


def by_first_appearance(pairs: Sequence[Pair]) -> List[Pair]:
    """Renames the symbols of each pair by their first appearance, in the answer before all.

    Args:
        pairs: source and target of each pair.

    Returns:
        The renamed pairs.
    """
    orders = [data_symbols(tokenize(target) + tokenize(source)) for source, target in pairs]
    names = symbol_names(max(map(len, orders), default=0))
    renamings = [Renaming(dict(zip(symbols, names))) for symbols in orders]
    return [
        (renaming(source), renaming(target)) for renaming, (source, target) in zip(renamings, pairs)
    ]


def random_pairs(pairs: Sequence[Pair], size: int, seed: int) -> List[Pair]:
    """Draws pairs without replacement and leaves them in their order.

    Args:
        pairs: what to draw from.
        size: how many.
        seed: the same one brings the same pairs.

    Returns:
        The pairs drawn.

    Raises:
        UserError: there are not so many.
    """
    if not 1 <= size <= len(pairs):
        raise UserError(f"--size {size}: there are {len(pairs)} pairs to draw from.")
    return [pairs[index] for index in sorted(Random(seed).sample(range(len(pairs)), size))]


def supplement(pairs: Sequence[Pair], extra: Iterable[Pair]) -> List[Pair]:
    """Adds pairs whose source has at most one symbol and is new.

    Args:
        pairs: the pairs there are.
        extra: pairs to choose from.

    Returns:
        The pairs there are, then the new ones.
    """
    result = list(pairs)
    known = {tuple(tokenize(source)) for source, _ in pairs}
    for source, target in extra:
        tokens = tuple(tokenize(source))
        if len(data_symbols(tokens)) <= 1 and tokens not in known:
            known.add(tokens)
            result.append((source, target))
    return result


def numbers_of_symbols(pairs: Sequence[Pair]) -> Dict[int, int]:
    """How many pairs there are with each number of symbols in the source."""
    return Counter(len(data_symbols(tokenize(source))) for source, _ in pairs)


def report_supplement(before: Sequence[Pair], after: Sequence[Pair]) -> str:
    """Says how many pairs there are with each number of symbols.

    Args:
        before: the pairs there were.
        after: the same and more.

    Returns:
        One line, and another for symbols that there were not before.
    """
    old, new = (
        [data_symbols(tokenize(source)) for source, _ in pairs] for pairs in (before, after)
    )
    counts, more = (Counter(map(len, lists)) for lists in (old, new))
    text = ", ".join(f"{number}: {counts[number]} -> {more[number]}" for number in sorted(more))
    text = f"pairs by number of symbols: {text}"
    strange = sorted(set().union(*new) - set().union(*old))
    return f"{text}\nsymbols that IN does not have: {' '.join(strange)}" if strange else text


def renamed_at_random(
    pairs: Iterable[Pair], pattern: SymbolPattern, names: Sequence[str], seed: int
) -> Iterator[Pair]:
    """Renames the symbols of each pair by a random renaming of its own.

    Args:
        pairs: source and target of each pair.
        pattern: matches the symbols.
        names: what they may be called; symbols themselves.
        seed: the same one brings the same renamings.

    Yields:
        The renamed pairs.

    Raises:
        UserError: a name is no symbol, or a pair has more symbols than there are names.
    """
    for name in names:
        if not pattern.is_symbol(name):
            raise UserError(f"--names: {name!r} is no symbol, --symbols does not match it")
    rng = Random(seed)
    for number, (source, target) in enumerate(pairs, 1):
        symbols = pattern.symbols(tokenize(source) + tokenize(target))
        if len(symbols) > len(names):
            raise UserError(
                f"line {number} has {len(symbols)} symbols, but --names gives {len(names)}; "
                "add names"
            )
        renaming = random_renamings(symbols, names, 1, rng)[0]
        yield renaming(source), renaming(target)
