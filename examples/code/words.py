"""A Python function as words: its tokens, a word for each, with local names as symbols.

    def clip ( $x , $low ) : <newline> <indent> return max ( $x , $low ) <newline> <dedent>

A local name is marked by ``$``. Docstrings and comments are left out, spaces in strings are ``␣``.
"""

import ast
import tokenize
from typing import Iterator, List, Sequence

from examples.code.names import FunctionNode, Tokens, Unsuited, local_names
from sit_fairseq.symbols.pattern import SymbolPattern

MARK = "$"
PATTERN = SymbolPattern(r"[$]\w+")
NEWLINE, INDENT, DEDENT = LAYOUT = "<newline>", "<indent>", "<dedent>"

_LAYOUT = {tokenize.NEWLINE: NEWLINE, tokenize.INDENT: INDENT, tokenize.DEDENT: DEDENT}
_LEFT_OUT = (tokenize.COMMENT, tokenize.NL, tokenize.ENDMARKER)
_SPACE = "␣"
_TAKEN = (_SPACE, "▁")  # the second one is what SentencePiece writes before a word


def words_of(node: FunctionNode, lines: List[str]) -> List[str]:
    """The words of a function.

    Args:
        node: the function.
        lines: of its file, each with its line break.

    Raises:
        Unsuited: the names of the function cannot be told, a string goes over several lines, or
            there is nothing but a docstring.
    """
    tokens = Tokens(lines, node.lineno, node.end_lineno)
    names, docstrings = local_names(node, tokens)
    words = [
        MARK + names[place] if place in names else _word(token)
        for place, token in enumerate(tokens.tokens)
        if place not in docstrings and token.type not in _LEFT_OUT
    ]
    return words[1:-1] if words[0] == INDENT else words  # the function stands in something


def _word(token: tokenize.TokenInfo) -> str:
    if token.type in _LAYOUT:
        return _LAYOUT[token.type]
    word = token.string
    if token.type == tokenize.STRING:
        word = word.replace(" ", _SPACE)
        if word.split() != [word] or any(sign in token.string for sign in _TAKEN):
            raise Unsuited("a string over several lines, or of rare signs")
    return word


def functions_of(text: str) -> Iterator[FunctionNode]:
    """The functions of a module and of its classes, without those inside of others.

    Raises:
        SyntaxError, ValueError or RecursionError: the text is no module.
    """

    def inside(node: ast.AST) -> Iterator[FunctionNode]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield child
            elif isinstance(child, (ast.stmt, ast.ExceptHandler)):
                yield from inside(child)

    return inside(ast.parse(text))


def source_of(words: Sequence[str]) -> str:
    """Python's text of a function, which has the given words again."""
    lines, line, depth = [], [], 0
    for word in words:
        if word == NEWLINE:
            lines.append("    " * depth + " ".join(line))
            line = []
        elif word in (INDENT, DEDENT):
            depth += 1 if word == INDENT else -1
        else:
            line.append(word.removeprefix(MARK).replace(_SPACE, " "))
    return "\n".join(lines) + "\n"
