"""Prefix notation: numbers of operands, and the check that tokens are exactly one tree."""

from typing import Dict, Mapping, Optional, Sequence


class OwnArity(Dict[str, int]):
    """Numbers of operands that no domain of the package says, so that the weights must."""


def tree_fault(tokens: Sequence[str], arity: Mapping[str, int]) -> Optional[str]:
    """Why tokens are not exactly one formula in prefix notation, else None. Tokens without an arity
    are leaves."""
    if not tokens:
        return "the formula is empty"
    missing = 1
    for position, token in enumerate(tokens, start=1):
        missing += arity.get(token, 0) - 1
        if missing == 0 and position < len(tokens):
            more = len(tokens) - position
            return f"the formula is complete after token {position}, but {more} more follow"
    if missing:
        return f"the formula ends too early: {missing} operand(s) missing after token {len(tokens)}"
    return None
