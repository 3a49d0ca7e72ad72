"""Infix notation, for people, for Spot and for language models: writing it and reading it.

``a U (b & !X c)`` in place of ``U a & b ! X c``. Any formula can be written; what is read
back is Boolean, as the steps of a trace are.
"""

import math
import re
from types import MappingProxyType
from typing import Dict, List, Mapping, Sequence

from sit_fairseq.logic.syntax import ARITY, CONSTANTS, TRACE_MARKS, MalformedFormula, parse

# Names anybody, Spot included, reads as one symbol; others are quoted for people. A
# capital letter may be an operator (Ga is G a), and two words are constants of Spot.
_PLAIN_NAME = re.compile(r"(?!(true|false)$)[a-z_][a-zA-Z0-9_]*", re.ASCII)

# What a text is made of: marks, names in quotes, words.
_LEXEME = re.compile(r'\s*(<->|->|[!&|();{}]|"(?:[^"\\]|\\.)*"|\w+)', re.ASCII | re.DOTALL)

# How tightly a binary operator binds, by the rules of Spot (the paper's prompt for
# propositional logic has | before xor). Of two of the same strength the left one comes
# first, but of two arrows the right one.
_BINDING: Dict[str, int] = {"&": 4, "xor": 3, "|": 2, "<->": 1, "->": 1}
_ARROWS = ("<->", "->")
_NONE: Mapping[str, int] = MappingProxyType({})

# Marks that are no operators, beside those of traces.
_PARENTHESES = ("(", ")")


def quoted(symbol: str) -> str:
    """Writes a symbol so that nothing in its name can be taken for an operator.

    Args:
        symbol: any name.

    Returns:
        The name, in double quotes unless it is plain.
    """
    if _PLAIN_NAME.fullmatch(symbol):
        return symbol
    escaped = symbol.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def infix(tokens: Sequence[str], binding: Mapping[str, int] = _NONE, tight: bool = False) -> str:
    """Writes a formula for people, and in the notation of Spot, however deep it is.

    Every binary operator below another operator is in parentheses, so that nobody has to
    know which of them binds tighter, unless ``binding`` says it.

    Args:
        tokens: a formula in prefix notation.
        binding: how tightly binary operators bind, for those that need no parentheses below
            one that binds less tightly.
        tight: leave out the space after a letter; the names must then begin with small ones.

    Returns:
        The formula in infix notation, e.g. ``(a U b) & !X c``.

    Raises:
        MalformedFormula: the tokens are not one formula.
    """
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
            todo += _bracketed(operand)
        else:
            operator, left, right = item
            limit = binding.get(operator, math.inf)
            todo += _bracketed(right, binding, limit)
            todo += [[f" {operator} "], *_bracketed(left, binding, limit)]
    return "".join(parts)


def _bracketed(operand, binding: Mapping[str, int] = _NONE, limit: float = math.inf) -> List:
    """What is to be written for an operand of what binds by ``limit``, last thing first."""
    binary = isinstance(operand, tuple) and len(operand) == 3
    bare = not binary or binding.get(operand[0], -math.inf) > limit
    return [operand] if bare else [[")"], operand, ["("]]


def infix_tokens(text: str) -> List[str]:
    """Splits a text in infix notation into operators, symbols, constants and marks.

    Args:
        text: a Boolean formula or a trace.

    Returns:
        The tokens in the order of the text, with the quotes of names taken off.

    Raises:
        MalformedFormula: something in it is none of these.
    """
    tokens: List[str] = []
    text = text.rstrip()
    position = 0
    while position < len(text):
        match = _LEXEME.match(text, position)
        if match is None:
            raise MalformedFormula(f"cannot read {text[position:].lstrip()[:20]!r}")
        tokens.append(_token(match.group(1)))
        position = match.end()
    return tokens


def _token(lexeme: str) -> str:
    """The token that a piece of text stands for."""
    if lexeme.startswith('"'):
        name = re.sub(r"\\(.)", r"\1", lexeme[1:-1], flags=re.DOTALL)
        reserved = (*ARITY, *CONSTANTS, *_PARENTHESES, *TRACE_MARKS)
        if name.split() != [name] or name in reserved:
            raise MalformedFormula(f"{lexeme} cannot be the name of a symbol")
        return name
    known = lexeme in _BINDING or lexeme in (*CONSTANTS, "!", *_PARENTHESES, *TRACE_MARKS)
    if not known and not _PLAIN_NAME.fullmatch(lexeme):
        raise MalformedFormula(f"'{lexeme}' is neither an operator nor a symbol")
    return lexeme


def to_prefix(tokens: Sequence[str]) -> List[str]:
    """Turns a Boolean formula in infix notation into prefix notation.

    Args:
        tokens: what :func:`infix_tokens` gives for one formula.

    Returns:
        The tokens of the formula in prefix notation.

    Raises:
        MalformedFormula: they are not one formula.
    """
    # Dijkstra's shunting yard from right to left, which brings the prefix notation, also
    # from right to left, without a tree and without recursion.
    output: List[str] = []
    waiting: List[str] = []  # binary operators and closing parentheses, the latest on top
    complete = False  # whether an operand begins right after the token
    for token in reversed(tokens):
        leaf = token not in _BINDING and token not in ("!", "(", ")")
        if complete == (leaf or token == ")"):
            raise MalformedFormula(
                f"'{token}' is out of place, or an operator or operand is missing"
            )
        if leaf:
            output.append(token)
            complete = True
        elif token == "!":
            output.append(token)
        elif token == ")":
            waiting.append(token)
        elif token == "(":
            while waiting and waiting[-1] != ")":
                output.append(waiting.pop())
            if not waiting:
                raise MalformedFormula("a ')' is missing")
            waiting.pop()
        else:
            limit = _BINDING[token] + (token not in _ARROWS)
            while waiting and _BINDING.get(waiting[-1], -1) >= limit:
                output.append(waiting.pop())
            waiting.append(token)
            complete = False
    if not complete:
        raise MalformedFormula("an operand is missing" if tokens else "the formula is empty")
    if ")" in waiting:
        raise MalformedFormula("a '(' is missing")
    return [*output, *reversed(waiting)][::-1]
