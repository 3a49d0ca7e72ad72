"""Formulas as people write them, read into prefix notation.

Notations of Spot and of many other tools: ``G (req -> F grant)``, ``[] (req => <> grant)``,
``!close U open``, ``a /\\ ~b``, ``GFa``, ``not a and b``. Operators bind as in Spot, from tight to
loose: ``! X F G``, then ``U W R M``, ``&``, ``xor``, ``|``, and ``-> <->``; ``U W R M -> <->``
associate to the right, the others to the left.
"""

import re
from typing import Dict, List, NamedTuple, Optional, Sequence

from sit_fairseq.logic.propositional import OPERATORS
from sit_fairseq.logic.syntax import ARITY, CONSTANTS, MalformedFormula, check_formula

BINDING: Dict[str, int] = {
    **dict.fromkeys("UWRM", 5),
    **{"&": 4, "xor": 3, "|": 2, "->": 1, "<->": 1},
}
RIGHT_ASSOCIATIVE = frozenset(("U", "W", "R", "M", "->", "<->"))

_SIGNS = {
    **dict.fromkeys(("!", "~", "¬"), "!"),
    **dict.fromkeys(("&", "&&", "/\\", "∧"), "&"),
    **dict.fromkeys(("|", "||", "\\/", "∨"), "|"),
    **dict.fromkeys(("->", "=>", "-->", "→", "⇒"), "->"),
    **dict.fromkeys(("<->", "<=>", "<-->", "↔", "⇔"), "<->"),
    **dict.fromkeys(("^", "⊕"), "xor"),
    **{"(": "(", ")": ")"},
}
_TEMPORAL_SIGNS = {
    **dict.fromkeys(("[]", "□"), "G"),
    **dict.fromkeys(("<>", "◇"), "F"),
    **dict.fromkeys(("()", "○"), "X"),
}
_WORDS = {
    **{"not": "!", "and": "&", "or": "|", "xor": "xor", "implies": "->", "iff": "<->"},
    **{"true": "1", "false": "0", "1": "1", "0": "0"},
}
_TEMPORAL_WORDS = {**{letter: letter for letter in "XFGUWRM"}, "V": "R"}

_WORD = r"\w[\w.]*"
_NAME = rf'"(?:[^"\\]|\\.)*"|{_WORD}'
# GFa and Xp0, as Spot prints them; but Grant may be G rant or a name.
_RUN_TOGETHER = re.compile(r"([XFG]+)([a-z]\d*)?")
_PERHAPS_RUN_TOGETHER = re.compile(r"[XFG]+[a-z_]\w*")


class Reading(NamedTuple):
    """A formula that was read.

    Attributes:
        tokens: in prefix notation, over p0, p1, ... by first appearance in the text.
        names: what p0, p1, ... are called in it; any text.
    """

    tokens: List[str]
    names: List[str]


class _Lexeme(NamedTuple):
    """A token and the piece of the text that it stands for, with its place, from 0."""

    token: str
    place: int
    text: str


def read_formula(text: str, temporal: bool) -> Reading:
    """Reads a formula in infix or prefix notation.

    Args:
        text: the formula. Names are words, or any text in double quotes.
        temporal: whether ``X F G U W R M`` are operators; otherwise they are names.

    Returns:
        The formula.

    Raises:
        MalformedFormula: it is neither; the message names the place in the text.
    """
    names: Dict[str, str] = {}
    tokens = _in_prefix(text.split(), temporal, names)
    if tokens is None:
        names.clear()
        tokens = _to_prefix(_lexemes(text, temporal, names))
    return Reading(tokens, list(names))


def read_dimacs(text: str) -> Reading:
    """Reads a formula in DIMACS CNF.

    Args:
        text: comments, ``p cnf VARIABLES CLAUSES``, and numbers, each clause ended by 0.

    Returns:
        A conjunction of disjunctions over x1, x2, ...

    Raises:
        MalformedFormula: it is no such text; the message names the line.
    """
    names: Dict[str, str] = {}
    clauses: List[List[str]] = [[]]
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith(("c", "p", "%")) or not line.strip():
            continue
        for word in line.split():
            if not re.fullmatch(r"-?\d+", word):
                raise MalformedFormula(f"line {number} of DIMACS: {word!r} is no number")
            literal = int(word)
            if literal:
                clauses[-1] += ["!"] * (literal < 0) + [_numbered(f"x{abs(literal)}", names)]
            else:
                clauses.append([])
    clauses = [clause for clause in clauses if clause]
    if not clauses:
        raise MalformedFormula("DIMACS without a clause")
    joined = []
    for number, clause in enumerate(clauses):
        literals = sum(token != "!" for token in clause)
        joined += ["&"] * (number < len(clauses) - 1) + ["|"] * (literals - 1) + clause
    return Reading(joined, list(names))


def _numbered(name: str, names: Dict[str, str]) -> str:
    """p0, p1, ... for a name; a new one is added to ``names``."""
    return names.setdefault(name, f"p{len(names)}")


def _in_prefix(words: List[str], temporal: bool, names: Dict[str, str]) -> Optional[List[str]]:
    """The tokens of a formula in prefix notation, None if the words are none."""
    operators = ARITY if temporal else OPERATORS
    leaves = [word for word in words if word not in operators]
    if not all(re.fullmatch(_WORD, leaf) for leaf in leaves):
        return None
    fixed = (*operators, *CONSTANTS)
    tokens = [word if word in fixed else _numbered(word, names) for word in words]
    try:
        check_formula(tokens)
    except MalformedFormula:
        return None
    return tokens


def _lexemes(text: str, temporal: bool, names: Dict[str, str]) -> List[_Lexeme]:
    signs = {**_SIGNS, **(_TEMPORAL_SIGNS if temporal else {})}
    words = {**_WORDS, **(_TEMPORAL_WORDS if temporal else {})}
    ordered = sorted(signs, key=len, reverse=True)
    lexeme = re.compile(rf"\s*(?:({'|'.join(map(re.escape, ordered))})|({_NAME}))", re.DOTALL)
    found: List[_Lexeme] = []
    position, text = 0, text.rstrip()
    while position < len(text):
        match = lexeme.match(text, position)
        if match is None:
            place = len(text) - len(text[position:].lstrip())
            raise MalformedFormula(f"{_at(place, text[place : place + 10])} cannot be read")
        place, position = match.start(match.lastindex), match.end()
        sign, word = match.groups()
        run_together = _RUN_TOGETHER.fullmatch(word or "") if temporal else None
        tokens = [signs.get(sign, words.get(word, words.get((word or "").lower(), "")))]
        if run_together and not tokens[0]:
            operators, name = run_together.groups()
            tokens = [*operators, *([_numbered(name, names)] if name else [])]
        elif not tokens[0]:
            if temporal and _PERHAPS_RUN_TOGETHER.fullmatch(word):
                raise MalformedFormula(
                    f"{_at(place, word)} may be {word[0]} {word[1:]} or a name: write a space, or "
                    "the name in double quotes"
                )
            if word[0].isdigit():
                raise MalformedFormula(f"{_at(place, word)} is neither a constant nor a name")
            if word.startswith('"'):
                word = re.sub(r"\\(.)", r"\1", word[1:-1], flags=re.DOTALL)
            tokens = [_numbered(word, names)]
        found += [_Lexeme(token, place, match[match.lastindex]) for token in tokens]
    return found


def _to_prefix(lexemes: Sequence[_Lexeme]) -> List[str]:
    # Dijkstra's shunting yard from right to left, which brings the prefix notation, also
    # from right to left, without a tree and without recursion.
    output: List[str] = []
    waiting: List[_Lexeme] = []  # binary operators and closing parentheses, the latest on top
    complete = False  # whether an operand begins right after the token
    for lexeme in reversed(lexemes):
        token, place, shown = lexeme
        if complete == (token == ")" or token not in ARITY and token != "("):
            lacking = "operator" if complete else "operand"
            raise MalformedFormula(f"{_at(place, shown)}: an {lacking} is missing after it")
        if token == ")":
            waiting.append(lexeme)
        elif token == "(":
            while waiting and waiting[-1].token != ")":
                output.append(waiting.pop().token)
            if not waiting:
                raise MalformedFormula(f"{_at(place, shown)} is never closed")
            waiting.pop()
        elif token in BINDING:
            limit = BINDING[token] + (token not in RIGHT_ASSOCIATIVE)
            while waiting and BINDING.get(waiting[-1].token, -1) >= limit:
                output.append(waiting.pop().token)
            waiting.append(lexeme)
            complete = False
        else:
            output.append(token)
            complete = True
    if not complete:
        if not lexemes:
            raise MalformedFormula("the formula is empty")
        first = lexemes[0]
        raise MalformedFormula(f"{_at(first.place, first.text)}: an operand is missing before it")
    for token, place, shown in waiting:
        if token == ")":
            raise MalformedFormula(f"{_at(place, shown)} closes nothing")
    return [*output, *reversed([lexeme.token for lexeme in waiting])][::-1]


def _at(place: int, text: str) -> str:
    return f"{text[:20]!r} at character {place + 1}"
