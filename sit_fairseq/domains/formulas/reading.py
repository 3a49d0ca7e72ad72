"""Formulas and traces as people and data sets write them, read into prefix notation.

People write in the notations of Spot and of many other tools: ``G (req -> F grant)``,
``[] (req => <> grant)``, ``!close U open``, ``a /\\ ~b``, ``GFa``, ``not a and b``. Operators bind as
in Spot, from tight to loose: ``! X F G``, then ``U W R M``, ``&``, ``xor``, ``|``, and ``-> <->``;
``U W R M -> <->`` associate to the right, the others to the left.
"""

import re
from typing import Dict, List, NamedTuple, Optional, Sequence

from sit_fairseq.domains.formulas.syntax import (
    ARITY,
    CONSTANTS,
    CYCLE_START,
    OPERATORS,
    RESERVED,
    TRACE_MARKS,
    check_formula,
)
from sit_fairseq.domains.ltl.traces import Trace, parse_trace
from sit_fairseq.errors import MalformedAnswer, MalformedFormula

_BINDING: Dict[str, int] = {
    **dict.fromkeys("UWRM", 5),
    **{"&": 4, "xor": 3, "|": 2, "->": 1, "<->": 1},
}
_RIGHT_ASSOCIATIVE = frozenset(("U", "W", "R", "M", "->", "<->"))

_SIGNS = {
    **dict.fromkeys(("!", "~", "¬"), "!"),
    **dict.fromkeys(("&", "&&", "/\\", "*", "∧", "∩", "⋀"), "&"),
    **dict.fromkeys(("|", "||", "\\/", "+", "∨", "∪", "⋁"), "|"),
    **dict.fromkeys(("->", "=>", "-->", "→", "⟶", "⇒", "⟹"), "->"),
    **dict.fromkeys(("<->", "<=>", "<-->", "↔", "⇔", "⟺", "≡"), "<->"),
    **dict.fromkeys(("^", "⊕", "⊻"), "xor"),
    **{"⊤": "1", "⊥": "0", "(": "(", ")": ")"},
}
_TEMPORAL_SIGNS = {
    **dict.fromkeys(("[]", "□", "⬜", "◻"), "G"),
    **dict.fromkeys(("<>", "◇", "⋄", "♢"), "F"),
    **dict.fromkeys(("()", "○", "◯"), "X"),
}
_WORDS = {
    **{"not": "!", "and": "&", "or": "|", "xor": "xor", "implies": "->", "iff": "<->"},
    **{"true": "1", "false": "0", "1": "1", "0": "0"},
}
_TEMPORAL_WORDS = {**{letter: letter for letter in "XFGUWRM"}, "V": "R"}

_WORD = r"\w[\w.]*"
_NAME = rf'"(?:[^"\\]|\\.)*"|{_WORD}'
# GFa and Xp0, as Spot prints them; but Grant may be G rant or a name, and FB F B.
_RUN_TOGETHER = re.compile(r"([XFG]+)([a-z]\d*)?")
_PERHAPS_RUN_TOGETHER = re.compile(r"[XFG]+[A-Za-z_][\w.]*|[XFG]{2,}\d[\w.]*")

# What to do about the first character of a text that cannot be read.
_ADVICE = {
    "[": "; bounds such as X[3] are to be written out: X X X",
    "=": "; for a = 1 and a = 0 write a and !a, for a = b write a <-> b",
}

# Said of a letter that stands where an operator should.
_CAPITAL = ", as it is read as a name: temporal operators are X F G U W R M, in ltl alone"

# The longest token first: <-> is not - and >, xor is not x, o and r.
_COMPACT = re.compile(
    "|".join([*map(re.escape, sorted(RESERVED, key=len, reverse=True)), r"[a-z]|(\S)"])
)


class Reading(NamedTuple):
    """A formula that was read.

    Attributes:
        tokens: in prefix notation, over p0, p1, ... by first appearance in the text.
        names: what p0, p1, ... are called in it; any text.
    """

    tokens: List[str]
    names: List[str]


class _Lexeme(NamedTuple):
    """A token, and the piece of text that it stands for with its place, from 0."""

    token: str
    place: int
    text: str

    def __str__(self) -> str:
        return f"{self.text[:20]!r} at character {self.place + 1}"


def read_formula(text: str, temporal: bool) -> Reading:
    """Reads a formula in infix or prefix notation; names are words, or any text in double quotes.

    Args:
        temporal: whether ``X F G U W R M`` are operators; otherwise they are names.

    Raises:
        MalformedFormula: it is neither; the message names the place in the text.
    """
    names: Dict[str, str] = {}
    tokens = _in_prefix(text.split(), temporal, names)
    if tokens is None:
        names.clear()
        tokens = _to_prefix(_lexemes(text, temporal, names))
    return Reading(tokens, list(names))


def read_infix_trace(text: str) -> Trace:
    """Reads a trace as :meth:`~sit_fairseq.domains.ltl.traces.Trace.infix` writes it: ``a; a & !b;
    cycle{b}``.

    Raises:
        MalformedAnswer: the text is none.
    """
    names: Dict[str, str] = {}
    tokens: List[str] = []
    step: List[_Lexeme] = []
    try:
        for lexeme in _lexemes(text, False, names, TRACE_MARKS):
            if lexeme.token not in TRACE_MARKS:
                step.append(lexeme)
                continue
            if lexeme.token != CYCLE_START:
                tokens += _to_prefix(step) if step else []
            elif [word.text for word in step] != ["cycle"]:
                raise MalformedAnswer(f"{lexeme} does not follow the word 'cycle'")
            tokens.append(lexeme.token)
            step = []
    except MalformedFormula as error:
        raise MalformedAnswer(str(error))
    symbols = {token: name for name, token in names.items()}
    for name in names:
        if name in RESERVED or name.split() != [name]:
            raise MalformedAnswer(f"{name!r} cannot be the name of a symbol")
    return parse_trace([symbols.get(t, t) for t in tokens + [lexeme.token for lexeme in step]])


def read_dimacs(text: str) -> Reading:
    """Reads DIMACS CNF, up to a line of ``%``, as a conjunction of disjunctions over x1, x2, ...

    Raises:
        MalformedFormula: it is no such text; the message names the line.
    """
    names: Dict[str, str] = {}
    clauses: List[List[str]] = [[]]  # the last one has no end yet
    announced = None
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("%"):
            break
        if line.startswith("p"):
            header = re.fullmatch(r"p\s+cnf\s+\d+\s+(\d+)\s*", line)
            if header is None:
                raise MalformedFormula(
                    f"line {number} of DIMACS is not 'p cnf VARIABLES CLAUSES', and no other kind "
                    "is read"
                )
            announced = int(header[1])
        if line.startswith(("c", "p")):
            continue
        for word in line.split():
            if not re.fullmatch(r"-?\d+", word):
                raise MalformedFormula(f"line {number} of DIMACS: {word!r} is no number")
            literal = int(word)
            if literal:
                clauses[-1] += ["!"] * (literal < 0) + [_numbered(f"x{abs(literal)}", names)]
            else:
                clauses.append([])
    rest = clauses.pop()
    if announced is None:
        raise MalformedFormula("DIMACS without a line 'p cnf VARIABLES CLAUSES'")
    if rest or len(clauses) != announced:
        raise MalformedFormula(
            f"DIMACS announces {announced} clauses, and {len(clauses)} end with 0"
            + (", but the last one does not" if rest else "")
        )
    joined = []
    for number, clause in enumerate(clauses):
        literals = sum(token != "!" for token in clause)
        joined += ["&"] * (number < len(clauses) - 1) + ["|"] * (literals - 1)
        joined += clause or ["0"]
    return Reading(joined or ["1"], list(names))


def compact_tokens(text: str) -> List[str]:
    """Splits a sentence in the compact notation of DeepLTL and of the published data sets.

    ``&!ab``, ``Ua<->bXc``, ``a;&ab;{b}`` and ``a1b0`` are the sentences ``& ! a b``, ``U a <-> b X
    c``, ``a ; & a b ; { b }`` and ``a 1 b 0``, as every symbol is one small letter. ``xor`` is
    always the operator. Whether the tokens make sense together is not looked at.

    Raises:
        MalformedFormula: a character belongs to no token.
    """
    tokens = []
    for match in _COMPACT.finditer(text):
        if match[1]:
            raise MalformedFormula(
                f"'{match[1]}' is neither an operator nor a symbol, which are the letters a to z"
            )
        tokens.append(match[0])
    return tokens


def _numbered(name: str, names: Dict[str, str]) -> str:
    """p0, p1, ... for a name; a new one is added to ``names``."""
    return names.setdefault(name, f"p{len(names)}")


def _in_prefix(words: List[str], temporal: bool, names: Dict[str, str]) -> Optional[List[str]]:
    """The tokens of a formula in prefix notation, None if the words are none.

    A name is what the infix notation takes for one, too.
    """
    fixed = (*(ARITY if temporal else OPERATORS), *CONSTANTS)
    constants = {"true": "1", "false": "0"}
    words = [constants.get(word.lower(), word) for word in words]
    if not all(word in fixed or _is_name(word, temporal) for word in words):
        return None
    tokens = [word if word in fixed else _numbered(word, names) for word in words]
    try:
        check_formula(tokens)
    except MalformedFormula:
        return None
    return tokens


def _is_name(word: str, temporal: bool) -> bool:
    """Whether a text without white space is a name that needs no quotes."""
    others = (_RUN_TOGETHER, _PERHAPS_RUN_TOGETHER)
    return bool(
        re.fullmatch(_WORD, word)
        and not word[0].isdecimal()
        and word.lower() not in _WORDS
        and not (temporal and (word in _TEMPORAL_WORDS or any(o.fullmatch(word) for o in others)))
    )


def _lexemes(
    text: str, temporal: bool, names: Dict[str, str], marks: Sequence[str] = ()
) -> List[_Lexeme]:
    signs = {**_SIGNS, **(_TEMPORAL_SIGNS if temporal else {}), **{mark: mark for mark in marks}}
    words = {**_WORDS, **(_TEMPORAL_WORDS if temporal else {})}
    ordered = sorted(signs, key=len, reverse=True)
    pattern = re.compile(rf"\s*(?:({'|'.join(map(re.escape, ordered))})|({_NAME}))", re.DOTALL)
    found: List[_Lexeme] = []
    position, text = 0, text.rstrip()
    while position < len(text):
        match = pattern.match(text, position)
        if match is None:
            place = len(text) - len(text[position:].lstrip())
            lexeme, advice = _Lexeme("", place, text[place:][:10]), _ADVICE.get(text[place], "")
            raise MalformedFormula(f"{lexeme} cannot be read{advice}")
        lexeme = _Lexeme("", match.start(match.lastindex), match[match.lastindex])
        position = match.end()
        sign, word = match.groups()
        token = signs.get(sign) or words.get(word) or words.get((word or "").lower())
        run_together = _RUN_TOGETHER.fullmatch(word or "") if temporal else None
        if token is not None:
            tokens = [token]
        elif run_together:
            operators, name = run_together.groups()
            tokens = [*operators, *([_numbered(name, names)] if name else [])]
        elif temporal and _PERHAPS_RUN_TOGETHER.fullmatch(word):
            raise MalformedFormula(
                f"{lexeme} may be {word[0]} {word[1:]} or a name: write a space, or the name in "
                "double quotes"
            )
        elif word[0].isdecimal():
            raise MalformedFormula(f"{lexeme} is neither a constant nor a name")
        else:
            if word.startswith('"'):
                word = re.sub(r"\\(.)", r"\1", word[1:-1], flags=re.DOTALL)
            tokens = [_numbered(word, names)]
        found += [lexeme._replace(token=token) for token in tokens]
    return found


def _to_prefix(lexemes: Sequence[_Lexeme]) -> List[str]:
    # Dijkstra's shunting yard from right to left, which brings the prefix notation, also
    # from right to left, without a tree and without recursion.
    output: List[str] = []
    waiting: List[_Lexeme] = []  # binary operators and closing parentheses, the latest on top
    complete = False  # whether an operand begins right after the token
    for lexeme in reversed(lexemes):
        token = lexeme.token
        if complete == (token == ")" or token not in ARITY and token != "("):
            lacking = "operator" if complete else "operand"
            reason = _CAPITAL if complete and re.fullmatch("[A-Z]", lexeme.text) else ""
            raise MalformedFormula(f"{lexeme}: an {lacking} is missing after it{reason}")
        if token == ")":
            waiting.append(lexeme)
        elif token == "(":
            while waiting and waiting[-1].token != ")":
                output.append(waiting.pop().token)
            if not waiting:
                raise MalformedFormula(f"{lexeme} is never closed")
            waiting.pop()
        elif token in _BINDING:
            limit = _BINDING[token] + (token not in _RIGHT_ASSOCIATIVE)
            while waiting and _BINDING.get(waiting[-1].token, -1) >= limit:
                output.append(waiting.pop().token)
            waiting.append(lexeme)
            complete = False
        else:
            output.append(token)
            complete = True
    if not lexemes:
        raise MalformedFormula("the formula is empty")
    if not complete:
        raise MalformedFormula(f"{lexemes[0]}: an operand is missing before it")
    for lexeme in waiting:
        if lexeme.token == ")":
            raise MalformedFormula(f"{lexeme} closes nothing")
    return [*output, *reversed([lexeme.token for lexeme in waiting])][::-1]
