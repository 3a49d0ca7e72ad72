"""Infix notation for people, Spot and language models: ``a U (b & !X c)`` for ``U a & b ! X c``."""

import math
import re
from typing import Callable, List, Mapping, Optional, Sequence

from sit_fairseq.domains.formulas.notation import TEMPORAL_WORDS, WORDS
from sit_fairseq.domains.formulas.syntax import CONSTANTS, Tree, parse

# Names anybody, Spot included, reads as one symbol; others are quoted for people. A
# capital letter may be an operator (Ga is G a).
_PLAIN_NAME = re.compile(r"[a-z_][a-zA-Z0-9_]*", re.ASCII)
# What a formula is read over; whatever people call their symbols takes the place afterwards.
_NUMBERED = re.compile(r"\bp\d+\b")
# Words with a meaning: the last one stands for the answer that demands nothing.
_MEANT = {*WORDS, *TEMPORAL_WORDS, "anything"}


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


def infix(
    tokens: Sequence[str], binding: Optional[Mapping[str, int]] = None, tight: bool = False
) -> str:
    """Writes a formula for people, and in the notation of Spot, however deep it is: ``(a U b) & !X
    c``.

    Every binary operator below another operator is in parentheses, unless ``binding``, how tightly
    operators bind, makes them needless. ``tight`` leaves out the space after a letter; the names
    must then begin with small ones. A MalformedFormula if the tokens are not one formula.
    """
    binding = binding or {}

    def bracketed(operand: Tree, limit: float = math.inf) -> List:
        """Puts an operand of an operator that binds by ``limit`` on a stack of things to write."""
        binary = isinstance(operand, tuple) and len(operand) == 3
        bare = not binary or binding.get(operand[0], -math.inf) > limit
        return [operand] if bare else [[")"], operand, ["("]]

    parts: List[str] = []
    todo: List = [parse(tokens)]  # subtrees, and text in lists; the next one is on top
    while todo:
        item = todo.pop()
        if isinstance(item, list):
            parts += item
        elif isinstance(item, str):
            parts.append(item if item in CONSTANTS else quoted(item))
        elif len(item) == 2:
            operator, operand = item
            # A letter needs a space, or it could run into a name.
            parts.append(operator if operator == "!" or tight else operator + " ")
            todo += bracketed(operand)
        else:
            operator, left, right = item
            limit = binding.get(operator, math.inf)
            todo += [*bracketed(right, limit), [f" {operator} "], *bracketed(left, limit)]
    return "".join(parts)
