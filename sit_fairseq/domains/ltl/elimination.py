"""Formulas without the parts that may be met once and for all.

Symbols may all be false for ever, or all true, where that makes each conjunct true that has one of
them (an autarky; Monien and Speckenmeyer 1985). The formula has a model exactly if its other
conjuncts have one: an arbiter's clients that nobody needs never ask.
"""

from typing import Callable, Dict, List, Sequence, Set, Tuple

from sit_fairseq.domains.formulas.syntax import (
    CONSTANTS,
    balanced,
    conjuncts,
    fold,
    formula_symbols,
)
from sit_fairseq.domains.ltl.traces import Trace, parse_trace

# The truth of a formula where each operand is true for ever, 1, false for ever, 0, or unknown, 1/2.
_TRUTH: Dict[str, Callable[..., float]] = {
    "!": lambda x: 1 - x,
    **dict.fromkeys("XFG", lambda x: x),
    **dict.fromkeys("&M", min),
    **dict.fromkeys("|W", max),
    **dict.fromkeys("UR", lambda x, y: y),
    "->": lambda x, y: max(1 - x, y),
    "<->": lambda x, y: max(min(x, y), min(1 - x, 1 - y)),
    "xor": lambda x, y: max(min(x, 1 - y), min(1 - x, y)),
}


def without_idle_symbols(
    tokens: Sequence[str],
) -> Tuple[List[str], Callable[[Sequence[str]], List[str]]]:
    """The other conjuncts of a well-formed formula, and what makes their traces those of the whole.

    Rules (``G``) come last, and short conjuncts before long ones: models know such an order better.
    Chains are :func:`~sit_fairseq.domains.formulas.syntax.balanced`. Where nothing would be left,
    the shortest conjunct stays.
    """
    parts, before = conjuncts(tokens), []
    for value in CONSTANTS:
        symbols = {symbol for part in parts for symbol in formula_symbols(part)}
        idle = _idle(parts, symbols, value)
        if not any(idle.isdisjoint(part) for part in parts):
            idle = _idle(parts, symbols.difference(min(parts, key=len)), value)
        parts = [part for part in parts if idle.isdisjoint(part)]
        signs = ["!"] if value == "0" else []
        before += [t for s in formula_symbols(tokens) if s in idle for t in ("&", *signs, s)]
    parts.sort(key=lambda part: (part[0] == "G", len(part)))

    def whole(answer: Sequence[str]) -> List[str]:
        trace = parse_trace(answer)
        return Trace(*(tuple((*before, *step) for step in part) for part in trace)).tokens

    return balanced(["&"] * (len(parts) - 1) + [t for part in parts for t in part]), whole


def _idle(parts: Sequence[List[str]], symbols: Set[str], value: str) -> Set[str]:
    """The most symbols that, all at ``value``, make true each conjunct that has one of them."""
    idle = set(symbols)

    def truth(token: str, operands: List[float]) -> float:
        if operands:
            return _TRUTH[token](*operands)
        constant = value if token in idle else token
        return float(constant) if constant in CONSTANTS else 0.5

    todo = list(parts)
    while todo:
        part = todo.pop()
        if not idle.isdisjoint(part) and fold(part, truth) < 1:
            needed = idle.intersection(part)
            idle -= needed
            todo += [other for other in parts if not needed.isdisjoint(other)]
    return idle
