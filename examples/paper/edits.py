"""Edits of existing pairs: training data of the paper's tables, and random renamings."""

from collections import Counter
from random import Random
from typing import Dict, Iterable, Iterator, List, Sequence

from sit_fairseq.datasets.drawing import symbol_names
from sit_fairseq.datasets.pair_files import Pair
from sit_fairseq.errors import UserError
from sit_fairseq.logic.ltl import data_symbols
from sit_fairseq.symbols.pattern import SymbolPattern
from sit_fairseq.symbols.renaming import Renaming, random_renamings


def by_first_appearance(pairs: Sequence[Pair]) -> List[Pair]:
    """Renames the symbols of each pair to a, b, c, ... by their first appearance, in the answer
    before the source; no two symbols of a pair become one."""
    orders = [data_symbols(target.split() + source.split()) for source, target in pairs]
    names = symbol_names(max(map(len, orders), default=0))
    renamings = [Renaming(dict(zip(symbols, names))) for symbols in orders]
    return [
        (renaming(source), renaming(target)) for renaming, (source, target) in zip(renamings, pairs)
    ]


def supplement(pairs: Sequence[Pair], extra: Iterable[Pair]) -> List[Pair]:
    """The pairs, and those of the extra pairs whose source is new and has at most one symbol."""
    result = list(pairs)
    known = {tuple(source.split()) for source, _ in pairs}
    for source, target in extra:
        tokens = tuple(source.split())
        if len(data_symbols(tokens)) <= 1 and tokens not in known:
            known.add(tokens)
            result.append((source, target))
    return result


def numbers_of_symbols(pairs: Sequence[Pair]) -> Dict[int, int]:
    """Number of pairs by the number of symbols of their source."""
    return Counter(len(data_symbols(source.split())) for source, _ in pairs)


def renamed_at_random(
    pairs: Iterable[Pair], pattern: SymbolPattern, names: Sequence[str], seed: int
) -> Iterator[Pair]:
    """Renames the symbols of each pair by a random renaming of its own.

    Args:
        pairs: source and target of each pair.
        pattern: matches the symbols.
        names: new names to choose from; symbols themselves.
        seed: the same seed gives the same renamings.

    Raises:
        UserError: a name is no symbol, or a pair has more symbols of a sort than there are names.
    """
    for name in names:
        if not pattern.is_symbol(name):
            raise UserError(f"{name!r} is no symbol", "names symbols")
    rng = Random(seed)
    for number, (source, target) in enumerate(pairs, 1):
        symbols = pattern.symbols(source.split() + target.split())
        try:
            renaming = random_renamings(symbols, names, 1, rng, pattern)[0]
        except UserError as error:
            raise UserError(f"line {number}: {error}")
        yield renaming(source), renaming(target)
