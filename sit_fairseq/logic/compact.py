"""The compact notation of the published data sets: DeepLTL's, without spaces.

``&!ab``, ``Ua<->bXc``, ``a;&ab;{b}`` and ``a1b0`` are the sentences ``& ! a b``,
``U a <-> b X c``, ``a ; & a b ; { b }`` and ``a 1 b 0``. That works because every symbol is
one small letter. Where ``xor`` could also be the three symbols x, o and r, it is the
operator, as it is for DeepLTL.
"""

import re
from typing import List

from sit_fairseq.logic.syntax import ARITY, CONSTANTS, TRACE_MARKS

_FIXED = (*ARITY, *CONSTANTS, *TRACE_MARKS)

# The longest token first: <-> is not - and >, xor is not x, o and r.
_TOKEN = re.compile("|".join([*map(re.escape, sorted(_FIXED, key=len, reverse=True)), "[a-z]"]))


class UnknownToken(ValueError):
    """A text with a character that no token has; the message names it."""


def compact_tokens(text: str) -> List[str]:
    """Splits a sentence in compact notation.

    Args:
        text: a formula, a trace or an assignment; white space may separate tokens.

    Returns:
        Its tokens, whether or not they make sense together.

    Raises:
        UnknownToken: a character belongs to no token.
    """
    tokens: List[str] = []
    for word in text.split():
        found = _TOKEN.findall(word)
        if sum(map(len, found)) < len(word):
            raise UnknownToken(
                f"'{_first_unknown(word)}' is neither an operator nor a symbol, which are the "
                "letters a to z"
            )
        tokens += found
    return tokens


def _first_unknown(word: str) -> str:
    """The first character of a word that begins no token."""
    position = 0
    while True:
        match = _TOKEN.match(word, position)
        if match is None:
            return word[position]
        position = match.end()
