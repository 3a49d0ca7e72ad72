"""Prefix (Polish) notation shared by propositional logic and LTL.

Every operator precedes its operands, so the numbers of operands suffice to read a formula. In a
text file a sentence is one line, tokens separated by white space: ``<->`` and ``xor`` are one token
each, and a symbol may have a name of any length.
"""

import re
from random import Random
from typing import Callable, Dict, List, Optional, Sequence, Tuple, TypeVar, Union

from sit_fairseq.errors import MalformedFormula
from sit_fairseq.symbols.pattern import SPECIAL_TOKENS
from sit_fairseq.symbols.prefix import tree_fault

# Operators of the datasets (PropRandom35, LTLRandom35) and the derived ones Spot
# knows. Every other token is a leaf.
ARITY: Dict[str, int] = {
    **dict.fromkeys(("!", "X", "F", "G"), 1),
    **dict.fromkeys(("&", "|", "->", "<->", "xor", "U", "W", "R", "M"), 2),
}

OPERATORS = ("!", "&", "|", "<->", "xor", "->")  # of propositional logic
COMMUTATIVE = ("&", "|", "<->", "xor")
CONSTANTS = ("0", "1")  # false and true; every other leaf is a symbol

# Tokens that give a trace its shape; none of them can be a symbol of a formula.
TRACE_MARKS = SEPARATOR, CYCLE_START, CYCLE_END = ";", "{", "}"

# Words that no symbol is called in a data set, lest they are read as something else.
RESERVED = (*ARITY, *CONSTANTS, *TRACE_MARKS)

# The pattern of symbols: all other tokens, but fairseq's own.
SYMBOLS = rf"(?!(?:{'|'.join(map(re.escape, (*RESERVED, *SPECIAL_TOKENS)))})$).+"

# A leaf, or an operator followed by its operands.
Tree = Union[str, Tuple]

T = TypeVar("T")


def check_formula(tokens: Sequence[str]) -> None:
    """Raises MalformedFormula unless tokens are exactly one formula in prefix notation."""
    fault = tree_fault(tokens, ARITY)
    if fault is not None:
        raise MalformedFormula(fault)


def fold(tokens: Sequence[str], combine: Callable[[str, List[T]], T]) -> T:
    """Folds a well-formed formula by ``combine(token, operands)``, from its leaves up,
    however deep."""
    stack: List[T] = []
    for token in reversed(tokens):  # operands come before their operator
        stack.append(combine(token, [stack.pop() for _ in range(ARITY.get(token, 0))]))
    return stack[0]


def parse(tokens: Sequence[str]) -> Tree:
    """The syntax tree of a formula in prefix notation, however deep; raises MalformedFormula."""
    check_formula(tokens)
    return fold(tokens, lambda token, operands: (token, *operands) if operands else token)


def halved(operator: str, parts: Sequence[List[str]]) -> List[str]:
    """Formulas joined by an operator, the tree as flat as it can be."""
    if len(parts) == 1:
        return parts[0]
    half = len(parts) // 2
    return [operator, *halved(operator, parts[:half]), *halved(operator, parts[half:])]


def balanced(tokens: Sequence[str]) -> List[str]:
    """A well-formed formula whose chains of ``&`` and of ``|`` are :func:`halved`: ``& & a b & c
    d`` for ``& & & a b c d``."""

    def halves(tree: Tuple) -> Sequence[Tree]:
        return halved(tree[0], [[part] for part in _chain(tree)]) if tree[0] in ("&", "|") else tree

    return _rearranged(tokens, halves)


def exchanged(tokens: Sequence[str], rng: Optional[Random] = None) -> List[str]:
    """A well-formed formula whose commutative operators have their operands the other way round:
    ``& b a`` for ``& a b``. With ``rng`` a coin decides for each operator."""

    def exchange(tree: Tuple) -> Sequence[Tree]:
        if tree[0] in COMMUTATIVE and (rng is None or rng.random() < 0.5):
            return (tree[0], *reversed(tree[1:]))
        return tree

    return _rearranged(tokens, exchange)


def _rearranged(tokens: Sequence[str], parts: Callable[[Tuple], Sequence[Tree]]) -> List[str]:
    """A formula in which the ``parts`` of each subtree stand in its place, from the root down."""
    found: List[str] = []
    todo = [parse(tokens)]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            found.append(item)
        else:
            todo += reversed(parts(item))
    return found


def _chain(tree: Tuple) -> List[Tree]:
    """The formulas that a tree joins by its first operator."""
    parts, todo = [], [tree]
    while todo:
        item = todo.pop()
        if isinstance(item, tuple) and item[0] == tree[0]:
            todo += reversed(item[1:])
        else:
            parts.append(item)
    return parts


def conjuncts(tokens: Sequence[str]) -> List[List[str]]:
    """The formulas that a well-formed formula joins by ``&``: ``a``, ``| b c`` and ``d`` of ``& a &
    | b c d``."""
    found: List[List[str]] = []
    missing = 0  # operands of the conjunct that is being read
    for token in tokens:
        if not missing:
            if token == "&":
                continue
            found.append([])
            missing = 1
        found[-1].append(token)
        missing += ARITY.get(token, 0) - 1
    return found


def formula_symbols(tokens: Sequence[str]) -> List[str]:
    """The symbols of a formula, the leaves that are no constants, by first appearance."""
    return list(dict.fromkeys(t for t in tokens if t not in ARITY and t not in CONSTANTS))


def canonical_names(tokens: Sequence[str]) -> Dict[str, str]:
    """p0, p1, ... for each symbol of a formula, by first appearance."""
    return {symbol: f"p{index}" for index, symbol in enumerate(formula_symbols(tokens))}
