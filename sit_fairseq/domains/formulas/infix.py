"""Infix notation for people, Spot and language models: ``a U (b & !X c)`` for ``U a & b ! X c``."""

import re
from typing import Callable, List, Mapping, Sequence, Tuple

from sit_fairseq.domains.formulas.reading import PERHAPS_CONSTANTS, WORDS
from sit_fairseq.domains.formulas.syntax import CONSTANTS, check_formula, fold

# Names anybody, Spot included, reads as one symbol; others are quoted for people. A
# capital letter may be an operator (Ga is G a).
_PLAIN_NAME = re.compile(r"[a-z_][a-zA-Z0-9_]*", re.ASCII)
# What a formula is read over; whatever people call their symbols takes the place afterwards.
_NUMBERED = re.compile(r"\bp\d+\b")
# Words with a meaning: the last one stands for the answer that demands nothing.
_MEANT = {*WORDS, *PERHAPS_CONSTANTS, "t", "f", "anything"}


def quoted(symbol: str) -> str:
    """A symbol, in double quotes if its name could be taken for something else."""
    if _PLAIN_NAME.fullmatch(symbol) and symbol.lower() not in _MEANT:
        return symbol
    escaped = symbol.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def named(
    write: Callable[[Sequence[str]], str],
) -> Callable[[Sequence[str], Mapping[str, str]], str]:
    """A writer of answers over p0, p1, ... that puts the :func:`quoted` names in their place."""

    def written(tokens: Sequence[str], names: Mapping[str, str]) -> str:
        return _NUMBERED.sub(lambda match: quoted(names[match[0]]), write(tokens))

    return written


def infix(tokens: Sequence[str]) -> str:
    """Writes a formula for people, and in the notation of Spot, however deep it is: ``(a U b) & !X
    c``. A MalformedFormula if the tokens are not one formula."""

    def combine(token: str, operands: List[Tuple[str, bool]]) -> Tuple[str, bool]:
        """The text, and whether it needs parentheses below another operator."""
        if not operands:
            return token if token in CONSTANTS else quoted(token), False
        texts = [f"({text})" if binary else text for text, binary in operands]
        if texts[1:]:
            return f" {token} ".join(texts), True
        # A letter needs a space, or it could run into a name.
        return (token if token == "!" else f"{token} ") + texts[0], False

    check_formula(tokens)
    return fold(tokens, combine)[0]
