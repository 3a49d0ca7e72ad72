"""Formulas and traces as people and data sets write them, read into prefix notation.

People write in the notations of Spot and of many other tools: ``G (req -> F grant)``,
``[] (req => <> grant)``, ``!close U open``, ``a /\\ ~b``, ``GFa``, ``always (call -> eventually
reply)``. Operators bind as in Spot, from tight to loose: ``! X F G``, then ``U W R M``, ``&``,
``xor``, ``|``, and ``-> <->``; ``U W R M -> <->`` associate to the right, the others to the left.

A name without quotes begins with a letter, a digit or ``_``, where a digit alone does not do. It
goes on with these, with dots, with hyphens between them (``door-open``; ``a->b`` has an arrow), and
with subscripts of one word (``r[0]``). In double quotes a name is any text of one line. Words of
operators count in any case, letters of operators (``X F G U W R M V``) as they are; neither is a
name without quotes. Refused, with advice, is whatever has several meanings:

* comparisons, as ``a = b`` may be a value or an equivalence, and ``a = 1`` is ``a`` to Spot;
* other signs in a name: ``x'`` is a negation, a next value or a name;
* ``X[3]``, ``not[a]``: bounds or brackets;
* ``until!``: PSL's strong until, or until and not; ``t`` and ``f`` in prefix notation beside p0;
* ``Grant``: G rant or a name; but ``Ga`` and ``GFp0`` are read as Spot writes them;
* a dot at the end of a name; in propositional logic ``A.B``, and ``in.a + out.b``: products;
* a formula that is one name in quotes, if the name reads as a formula with operators.
"""

import re
from typing import Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence

from sit_fairseq.domains.formulas.syntax import (
    ARITY,
    CONSTANTS,
    OPERATORS,
    RESERVED,
    check_formula,
)
from sit_fairseq.errors import MalformedFormula, excerpt

# Signs and words for operators, constants and parentheses; examples/playground/reader.js has the same.
SIGNS: Dict[str, str] = {
    **dict.fromkeys(("!", "~", "¬", "￢", "∼"), "!"),
    **dict.fromkeys(("&", "&&", "/\\", "*", "∧", "∩", "⋀", "⋂", "·", "⋅", "∙", "＆"), "&"),
    **dict.fromkeys(("|", "||", "\\/", "+", "∨", "∪", "⋁", "⋃", "｜"), "|"),
    **dict.fromkeys(("->", "=>", "-->", "==>", "→", "⟶", "⇒", "⟹", "⊃"), "->"),
    **dict.fromkeys(("<->", "<=>", "<-->", "<==>", "↔", "⟷", "⇔", "⟺", "≡"), "<->"),
    **dict.fromkeys(("^", "⊕", "⨁", "⊻", "↮", "⇎", "≢"), "xor"),
    **{"⊤": "1", "⊥": "0", "(": "(", ")": ")"},
}
TEMPORAL_SIGNS: Dict[str, str] = {
    **dict.fromkeys(("[]", "□", "⬜", "◻", "◽", "▢", "☐"), "G"),
    **dict.fromkeys(("<>", "◇", "◊", "⋄", "♢", "⬦", "⬨", "⟡"), "F"),
    **dict.fromkeys(("()", "○", "◯", "⚪", "∘"), "X"),
}

# In any case.
WORDS: Dict[str, str] = {
    **{"not": "!", "and": "&", "or": "|", "xor": "xor", "implies": "->", "iff": "<->"},
    **{"true": "1", "false": "0", "1": "1", "0": "0"},
}
TEMPORAL_WORDS: Dict[str, str] = {
    **dict.fromkeys(("always", "globally", "henceforth"), "G"),
    **dict.fromkeys(("eventually", "finally", "sometime", "sometimes"), "F"),
    **dict.fromkeys(("next", "nexttime"), "X"),
    **{"until": "U", "weak until": "W", "weakuntil": "W"},
    **{"release": "R", "releases": "R", "strong release": "M"},
}

# As they are.
LETTERS: Dict[str, str] = {**{letter: letter for letter in "XFGUWRM"}, "V": "R"}

# The same in lbt's prefix notation, whose symbols are p0, p1, ...
LBT: Dict[str, str] = {"i": "->", "e": "<->", "^": "xor", "t": "1", "f": "0", "V": "R"}

_BINDING: Dict[str, int] = {
    **dict.fromkeys("UWRM", 5),
    **{"&": 4, "xor": 3, "|": 2, "->": 1, "<->": 1},
}
_RIGHT_ASSOCIATIVE = frozenset(("U", "W", "R", "M", "->", "<->"))

_WORD = r"\w(?:[\w.]|-(?=\w)|\[\w+\])*"
_TWO_WORDS = r"(?i:weak\s+until|strong\s+release)(?![\w.[-])"
_STRONG = r"(?i:next|until|eventually)!(?!=)"
_QUOTED = r'"(?:[^"\\]|\\.)*"'
# GFa and Xp0, as Spot prints them; but Grant may be G rant or a name, and FB F B.
_RUN_TOGETHER = re.compile(r"([XFG]+)([a-z]\d*)?")
_PERHAPS_RUN_TOGETHER = re.compile(r"[XFG]+[A-Za-z_.].*|[XFG]{2,}\d.*")
_PRODUCT = re.compile(r"[A-Za-z]\d*(\.[A-Za-z]\d*)+")
# With these a name could end its line, or show as what it is not.
_CONTROL = re.compile("[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

_OPERATORS = "; operators are ! & | xor -> <->"
_TEMPORAL = " X F G U W R M"
_NAME = "; a name that holds it stands in double quotes"
_COMPARISON = '; put a comparison in double quotes, as "x <= 3"'
_COMMENT = "; comments stand in files alone, after a space, and /* ends with */"
_LISTED = "; give each formula by itself, without the commas and quotes of a list"
_BRACKETS = "; brackets are ( ), and a name with others stands in double quotes"
_BOUNDS = (
    " is an operator with brackets or bounds: write bounds such as X[3] a out, X X X a; other "
    "brackets are ( ); a name or a comparison stands in double quotes"
)
_LTL_ALONE = f": temporal operators are{_TEMPORAL}, in ltl alone"
_ADVICE = {
    **dict.fromkeys(TEMPORAL_SIGNS, _LTL_ALONE),
    **dict.fromkeys(("=", "==", "===", "!=", "!==", "~=", "/=", ":="), _COMPARISON),
    **dict.fromkeys(("<", ">", "<=", ">=", "=<", "<<", ">>"), _COMPARISON),
    **dict.fromkeys("≠≤≥⩽⩾≦≧≨≩≮≯≰≱≲≳≪≫≈≃≅≔≝≜∈∉∋＝＜＞", _COMPARISON),
    "<>": f"{_COMPARISON}{_LTL_ALONE}",
    **dict.fromkeys(
        ("<-", "<--", "<==", "←", "⇐", "⟵", "⟸"), f"; turn a <- b into b -> a{_COMPARISON}"
    ),
    **dict.fromkeys(("~>", "|->", "|=>", "->>", "=>>", "<~>", "!->", "!<->", "##"), ""),
    **dict.fromkeys("[]{}", _BRACKETS),
    **dict.fromkeys("“”„", "; write straight double quotes"),
    '"': "; its double quotes are never closed",
    **dict.fromkeys(("//", "/*", "*/", "#", "--"), f"{_COMMENT}{_NAME}"),
    **dict.fromkeys(",", f"{_LISTED}{_NAME}"),
    **dict.fromkeys("'`‘’", f"; leave out quotes around a formula{_NAME}"),
    "-": '; not is !, and a name that holds - stands in double quotes, as "a-"',
    ".": "; leave the full stop out; a product is written a & b",
    ";": "; give each formula by itself",
}


class Reading(NamedTuple):
    """The tokens of a formula in prefix notation, over p0, p1, ... by first appearance in the text,
    and what these are called in it: any text."""

    tokens: List[str]
    names: List[str]


class _Lexeme(NamedTuple):
    """A token, and the piece of text that it stands for with its place, from 0."""

    token: str
    place: int
    text: str

    def __str__(self) -> str:
        return f"{excerpt(self.text)} at character {self.place + 1}"


def read_formula(text: str, temporal: bool) -> Reading:
    """Reads a formula in infix or prefix notation; a MalformedFormula names the place of a fault.

    ``X F G U W R M`` are operators if it is ``temporal``, and names otherwise.
    """
    names: Dict[str, str] = {}
    tokens = _in_prefix(text.split(), temporal, names)
    if tokens is None:
        lexemes = _lexemes(text, temporal, names)
        if not temporal:
            _refuse_products(lexemes)
        tokens = _to_prefix(lexemes)
    reading = Reading(tokens, list(names))
    if tokens == ["p0"] and '"' in text:
        _refuse_formula(reading.names[0], temporal)
    return reading


def _refuse_products(lexemes: Sequence["_Lexeme"]) -> None:
    algebra = any(lexeme.text == "+" for lexeme in lexemes)
    for lexeme in lexemes:
        dotted = "." in lexeme.text and not lexeme.text.startswith('"')
        if dotted and (algebra or _PRODUCT.fullmatch(lexeme.text)):
            raise MalformedFormula(
                f"{lexeme} is one name or a product: put the name in double quotes, or write a & b"
            )


def _refuse_formula(name: str, temporal: bool) -> None:
    for either in (temporal, not temporal):
        try:
            if len(read_formula(name, either).tokens) == 1:
                return
        except MalformedFormula:
            continue
        raise MalformedFormula("the double quotes hold a formula, not a name: leave them out")


def _numbered(name: str, names: Dict[str, str]) -> str:
    """p0, p1, ... for a name; a new one is added to ``names``."""
    return names.setdefault(name, f"p{len(names)}")


def _in_prefix(words: List[str], temporal: bool, names: Dict[str, str]) -> Optional[List[str]]:
    """The tokens of a formula in prefix notation, ours or lbt's; None if the words are none. Names
    are those of the infix notation."""
    lowered = [word.lower() if word.lower() in ("true", "false") else word for word in words]
    own = _formula(lowered, temporal, {"true": "1", "false": "0"}, lambda w: _is_name(w, temporal))
    lbt = _formula(words, temporal, LBT, re.compile(r"p\d+").fullmatch)
    if own and lbt and own != lbt and set(own) & set(lbt) - set(RESERVED):
        raise MalformedFormula("t and f are lbt's 1 and 0, or names: write 1 and 0, or other names")
    tokens = own or lbt
    return tokens and [
        token if _is_fixed(token, temporal) else _numbered(token, names) for token in tokens
    ]


def _formula(
    words: Sequence[str],
    temporal: bool,
    meanings: Mapping[str, str],
    is_name: Callable[[str], object],
) -> Optional[List[str]]:
    tokens = [meanings.get(word, word) for word in words]
    try:
        check_formula([token if _is_fixed(token, temporal) else "" for token in tokens])
    except MalformedFormula:
        return None
    return tokens if all(_is_fixed(token, temporal) or is_name(token) for token in tokens) else None


def _is_fixed(token: str, temporal: bool) -> bool:
    """Whether a token is an operator or a constant."""
    return token in CONSTANTS or token in (ARITY if temporal else OPERATORS)


def _is_name(word: str, temporal: bool) -> bool:
    """Whether a text without white space is a name that needs no quotes."""
    if not re.fullmatch(_WORD, word):
        return False
    try:
        return _tokens_of(_Lexeme("", 0, word), temporal, {}) == ["p0"] and (
            temporal or not _PRODUCT.fullmatch(word)
        )
    except MalformedFormula:
        return False


def _lexemes(text: str, temporal: bool, names: Dict[str, str]) -> List[_Lexeme]:
    signs = {**SIGNS, **(TEMPORAL_SIGNS if temporal else {})}
    ordered = sorted({**_ADVICE, **signs}, key=len, reverse=True)
    words = f"{_STRONG}|{_TWO_WORDS}|{_WORD}" if temporal else _WORD
    pattern = re.compile(
        rf"\s*(?:({_QUOTED}|{words})|({'|'.join(map(re.escape, ordered))})|(\S))", re.DOTALL
    )
    found: List[_Lexeme] = []
    for match in pattern.finditer(text.rstrip()):
        lexeme = _Lexeme("", match.start(match.lastindex), match[match.lastindex])
        word, sign, _ = match.groups()
        if word is not None:
            found += [lexeme._replace(token=t) for t in _tokens_of(lexeme, temporal, names)]
        elif found and _has_bounds(found[-1], sign):
            raise MalformedFormula(f"{found[-1]}{_BOUNDS}")
        elif sign in signs:
            found.append(lexeme._replace(token=signs[sign]))
        elif not lexeme.text.isprintable():
            raise MalformedFormula(f"{lexeme} cannot be read; leave out what is invisible")
        else:
            operators = f"{_OPERATORS}{_TEMPORAL if temporal else ''}{_NAME}"
            raise MalformedFormula(f"{lexeme} cannot be read{_ADVICE.get(sign) or operators}")
    return found


def _has_bounds(operator: _Lexeme, sign: Optional[str]) -> bool:
    """Whether ``X[3]``, ``X^3`` or ``F<=3`` begins: a sign that follows an operator in letters."""
    if operator.token not in ARITY or not operator.text.isalpha():
        return False
    bounds = ("^", "<", "<=", ">", ">=", "≤", "≥")
    return sign == "[" or sign in bounds and operator.token.isalpha()


def _tokens_of(lexeme: _Lexeme, temporal: bool, names: Dict[str, str]) -> List[str]:
    """The tokens of a word or of a name in quotes."""
    word = lexeme.text
    if word.startswith('"'):
        name = re.sub(r"\\(.)", r"\1", word[1:-1], flags=re.DOTALL)
        if _CONTROL.search(name):
            raise MalformedFormula(f"{lexeme}: a name holds no line ends and no control characters")
        return [_numbered(name, names)]
    if word.endswith("!"):
        advice = "write U, X or F, or a space before !"
        raise MalformedFormula(f"{lexeme} is an operator of PSL or a negation: {advice}")
    head = word.partition("[")[0]
    lowered = " ".join(head.lower().split())
    token = WORDS.get(lowered)
    run_together = None
    if temporal:
        token = token or TEMPORAL_WORDS.get(lowered) or LETTERS.get(head)
        run_together = _RUN_TOGETHER.fullmatch(head)
    if head != word and (token or run_together and not run_together[2]):
        raise MalformedFormula(f"{lexeme}{_BOUNDS}")
    if token:
        return [token]
    if run_together and head == word:
        operators, name = run_together.groups()
        return [*operators, *([_numbered(name, names)] if name else [])]
    if temporal and _PERHAPS_RUN_TOGETHER.fullmatch(word):
        advice = f"may be {word[0]} {word[1:20]} or a name: write a space, or the name"
        raise MalformedFormula(f"{lexeme} {advice} in double quotes")
    if word[0].isdecimal():
        advice = "put a name or a comparison in double quotes"
        raise MalformedFormula(f"{lexeme} is neither a constant nor a name; {advice}")
    if word.endswith("."):
        advice = "leave it out, or put the name in double quotes"
        raise MalformedFormula(f"{lexeme} ends in a dot: {advice}")
    return [_numbered(word, names)]


def _to_prefix(lexemes: Sequence[_Lexeme]) -> List[str]:
    # Dijkstra's shunting yard from right to left, which brings the prefix notation, also
    # from right to left, without a tree and without recursion.
    output: List[str] = []
    waiting: List[_Lexeme] = []  # binary operators and closing parentheses, the latest on top
    complete = False  # whether an operand begins right after the token
    after = None  # the token to the right
    for lexeme in reversed(lexemes):
        token = lexeme.token
        if complete == (token == ")" or token not in ARITY and token != "("):
            raise MalformedFormula(_lacking(lexeme, after, complete))
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
        after = lexeme
    if not lexemes:
        raise MalformedFormula("the formula is empty")
    if not complete:
        raise MalformedFormula(f"{lexemes[0]}: an operand is missing before it{_named(lexemes[0])}")
    for lexeme in waiting:
        if lexeme.token == ")":
            raise MalformedFormula(f"{lexeme} closes nothing")
    return [*output, *reversed([lexeme.token for lexeme in waiting])][::-1]


def _lacking(lexeme: _Lexeme, after: Optional[_Lexeme], complete: bool) -> str:
    """Says that an operator is missing between two tokens, or an operand."""
    if complete:
        if after is not None and after.text == "<>":
            return f"{after} is F, and an operator is missing before it{_COMPARISON}"
        reason = ""
        if after is not None and lexeme.text[0] == after.text[0] == '"':
            reason = "; of doubled quotes, as CSV has them, write one"
        if re.match(r"\w", lexeme.text) and lexeme.token not in CONSTANTS:
            reason = ", as it is read as a name"
            if re.fullmatch("[A-Z]", lexeme.text) or lexeme.text.lower() in TEMPORAL_WORDS:
                reason += _LTL_ALONE
        return f"{lexeme}: an operator is missing after it{reason}"
    if after is not None and after.token in _BINDING and _named(after) and not _named(lexeme):
        return f"{after}: an operand is missing before it{_named(after)}"
    return f"{lexeme}: an operand is missing after it{_named(lexeme)}"


def _named(lexeme: _Lexeme) -> str:
    """Advice on an operator that may have been meant as a name."""
    if not lexeme.text[0].isalpha():
        return ""
    return f'; it is an operator: write "{lexeme.text}" in double quotes to use it as a name'
