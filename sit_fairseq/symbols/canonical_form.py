"""Sentences up to renaming: the form that all renamings of a sentence share."""

from hashlib import blake2b
from typing import Optional, Sequence

from sit_fairseq.symbols.pattern import SymbolPattern


def canonical_form(
    tokens: Sequence[str], symbols: Sequence[str], pattern: Optional[SymbolPattern] = None
) -> str:
    """Numbers the symbols of a sentence by first appearance.

    Two sentences have the same form exactly if an injective renaming of symbols within their sorts
    turns one into the other.

    Args:
        tokens: the sentence.
        symbols: its symbols in order of first appearance, as
            :func:`~sit_fairseq.domains.formulas.syntax.formula_symbols` lists those of a formula.
        pattern: gives the sort of each symbol; None if there is one sort.

    Returns:
        The tokens, separated by spaces, with numbers in place of the symbols.
    """
    # A number begins with a tab, as no token does: none is ever taken for a base token.
    numbers = {symbol: f"\t{number}" for number, symbol in enumerate(symbols)}
    if pattern is not None and len(pattern.sorts) > 1:
        numbers = {symbol: f"{text} {pattern.sort(symbol)}" for symbol, text in numbers.items()}
    return " ".join([numbers.get(token, token) for token in tokens])


def text_key(text: str) -> int:
    """A number that stands for a text, where millions of texts are kept.

    It has 64 bits and is the same in every process. Two of ten million texts share a key with a
    probability of 1 in 370,000.
    """
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def form_key(
    tokens: Sequence[str], symbols: Sequence[str], pattern: Optional[SymbolPattern] = None
) -> int:
    """The :func:`text_key` of a :func:`canonical_form`."""
    return text_key(canonical_form(tokens, symbols, pattern))
