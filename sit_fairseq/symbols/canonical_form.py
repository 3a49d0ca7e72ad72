"""Sentences up to renaming: the form that all renamings of a sentence share."""

from hashlib import blake2b
from typing import Optional, Sequence

from sit_fairseq.symbols.pattern import SymbolPattern


def canonical_form(
    tokens: Sequence[str], symbols: Sequence[str], pattern: Optional[SymbolPattern] = None
) -> str:
    """The tokens of a sentence, separated by spaces, with its symbols numbered by first appearance.

    Two sentences have the same form exactly if an injective renaming of symbols within their sorts
    turns one into the other. ``symbols`` are those of the sentence in that order, and the pattern
    gives their sorts; None if there is one.
    """
    # A number begins with a tab, as no token does: none is ever taken for a base token.
    numbers = {symbol: f"\t{number}" for number, symbol in enumerate(symbols)}
    if pattern is not None and len(pattern.sorts) > 1:
        numbers = {symbol: f"{text} {pattern.sort(symbol)}" for symbol, text in numbers.items()}
    return " ".join([numbers.get(token, token) for token in tokens])


def text_key(text: str) -> int:
    """A number of 64 bits that stands for a text, the same in every process. Two of ten million
    texts share one with a probability of 1 in 370,000."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def form_key(
    tokens: Sequence[str], symbols: Sequence[str], pattern: Optional[SymbolPattern] = None
) -> int:
    """The :func:`text_key` of a :func:`canonical_form`."""
    return text_key(canonical_form(tokens, symbols, pattern))
