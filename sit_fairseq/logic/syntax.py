"""Prefix (Polish) notation shared by propositional logic and LTL.

A formula is a sequence of tokens in which every operator precedes its operands;
the number of operands is the only thing needed to read it back. In a text file a
sentence is one line and its tokens are separated by white space, so ``<->`` and
``xor`` are one token each and a symbol may have a name of any length.
"""

import codecs
from typing import Dict, List, Sequence, Tuple, Union

from sit_fairseq.errors import UserError

# Operators of the datasets (PropRandom35, LTLRandom35) and the derived ones Spot
# knows. Every other token is a leaf.
ARITY: Dict[str, int] = {
    **dict.fromkeys(("!", "X", "F", "G"), 1),
    **dict.fromkeys(("&", "|", "->", "<->", "xor", "U", "W", "R", "M"), 2),
}

# Those of propositional logic.
OPERATORS = ("!", "&", "|", "<->", "xor", "->")

# Leaves with a fixed meaning: false and true. Every other leaf is a symbol.
CONSTANTS = ("0", "1")

# Tokens that give a trace its shape; none of them can be a symbol of a formula.
TRACE_MARKS = SEPARATOR, CYCLE_START, CYCLE_END = ";", "{", "}"

# A leaf, or an operator followed by its operands.
Tree = Union[str, Tuple]


class MalformedFormula(ValueError):
    """A text that is no formula; the message says why."""


class MalformedAnswer(ValueError):
    """A text that is no answer to a formula; the message says why."""


def tokenize(text: str) -> List[str]:
    """Splits a sentence at white space."""
    return text.split()


def read_sentences(path: str) -> List[str]:
    """Reads a text file of one sentence per line, as it is except for line ends.

    What is refused is what fairseq-preprocess would fail on or take for tokens.

    Args:
        path: a UTF-8 file with Unix or Windows line ends.

    Returns:
        The lines, empty ones included.

    Raises:
        UserError: the file cannot be opened, a line of it is not UTF-8, it begins with a
            byte order mark, or a line has a carriage return before its end.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise UserError(f"Cannot read {path}: {error.strerror}; name an existing text file.")
    if data.startswith(codecs.BOM_UTF8):
        raise UserError(f"Line 1 of {path} begins with a byte order mark; save it without one.")
    raw_lines = data.split(b"\n")
    if not raw_lines[-1]:
        raw_lines.pop()  # nothing follows the last line end
    lines = []
    for number, raw in enumerate(raw_lines, start=1):
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise UserError(f"Line {number} of {path} is not UTF-8; convert the file to UTF-8.")
        lines.append(line[:-1] if line.endswith("\r") else line)
        if "\r" in lines[-1]:
            raise UserError(
                f"Line {number} of {path} has a carriage return in it; save the file with Unix or "
                "Windows line ends."
            )
    return lines


def read_formulas(path: str) -> List[str]:
    """Reads a text file of one formula in prefix notation per line, as :func:`read_sentences` does.

    Raises:
        UserError: as for sentences, or a line is no formula.
    """
    lines = read_sentences(path)
    for number, line in enumerate(lines, start=1):
        try:
            check_formula(line.split())
        except MalformedFormula as error:
            raise UserError(f"Line {number} of {path} is malformed: {error}.")
    return lines


def check_formula(tokens: Sequence[str]) -> None:
    """Checks that tokens form exactly one formula in prefix notation.

    Raises:
        MalformedFormula: there are none, too few or too many of them.
    """
    if not tokens:
        raise MalformedFormula("the formula is empty")
    missing = 1
    for position, token in enumerate(tokens, start=1):
        missing += ARITY.get(token, 0) - 1
        if missing == 0 and position < len(tokens):
            raise MalformedFormula(
                f"the formula is complete after token {position}, "
                f"but {len(tokens) - position} more follow"
            )
    if missing:
        raise MalformedFormula(
            f"the formula ends too early: {missing} operand(s) missing after token {len(tokens)}"
        )


def parse(tokens: Sequence[str]) -> Tree:
    """Builds the syntax tree of a formula in prefix notation, however deep.

    Returns:
        The leaf, or ``(operator, operand, ...)`` with operands of the same form.

    Raises:
        MalformedFormula: the tokens are not one complete formula.
    """
    check_formula(tokens)
    stack: List[Tree] = []
    for token in reversed(tokens):  # operands come before their operator
        operands = [stack.pop() for _ in range(ARITY.get(token, 0))]
        stack.append((token, *operands) if operands else token)
    return stack[0]


def formula_symbols(tokens: Sequence[str]) -> List[str]:
    """Lists the symbols of a formula, the leaves that are no constants, by first appearance."""
    return list(dict.fromkeys(t for t in tokens if t not in ARITY and t not in CONSTANTS))
