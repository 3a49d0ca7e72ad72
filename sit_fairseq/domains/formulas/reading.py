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
* definitions, ``a = b & c`` and ``a := b``;
* other signs in a name: ``x'`` is a negation, a next value or a name;
* calls: ``And(a, b)``, and ``req()``, as ``()`` is X;
* ``X[3]``, ``not[a]``: bounds or brackets;
* ``until!``: PSL's strong until, or until and not;
* ``T``, ``tt``, ``ff``, a lone ``t`` or ``f``, and these in prefix notation beside p0: constants or
  names;
* ``Grant``: G rant or a name; but ``Ga`` and ``GFp0`` are read as Spot writes them;
* a dot at the end of a name; in propositional logic ``A.B``, and ``in.a + out.b``: products;
* a formula that is one name in quotes, if the name reads as a formula with operators.
"""

import re
from typing import Callable, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence

from sit_fairseq.domains.formulas.syntax import ARITY, CONSTANTS, OPERATORS, check_formula
from sit_fairseq.domains.solver import Reading
from sit_fairseq.errors import MalformedFormula, excerpt


def _pieces(table: Mapping[str, str]) -> Dict[str, str]:
    """The meaning of each piece of text; the table lists the pieces of each meaning, with spaces."""
    return {piece: token for token, pieces in table.items() for piece in pieces.split()}


# Signs for operators, constants and parentheses.
SIGNS = _pieces(
    {
        "!": "! ~ ¬ ￢ ∼ ！",
        "&": "& && /\\ * ∧ ∩ ⋀ ⋂ · ⋅ ∙ ＆",
        "|": "| || \\/ + ∨ ∪ ⋁ ⋃ ｜",
        "->": "-> => --> ==> → ⟶ ⇒ ⟹ ⊃",
        "<->": "<-> <=> <--> <==> ↔ ⟷ ⇔ ⟺ ≡",
        "xor": "^ ⊕ ⨁ ⊻ ↮ ⇎ ≢",
        **{"1": "⊤", "0": "⊥", "(": "( （", ")": ") ）"},
        "G": "[] □ ⬜ ◻ ◽ ▢ ☐",
        "F": "<> ◇ ◊ ⋄ ♢ ⬦ ⬨ ⟡",
        "X": "() ○ ◯ ⚪ ∘",
    }
)

# In any case.
WORDS: Dict[str, str] = {
    **{"not": "!", "and": "&", "or": "|", "xor": "xor", "implies": "->", "iff": "<->"},
    **{"true": "1", "false": "0", "1": "1", "0": "0", "weak until": "W", "strong release": "M"},
    **_pieces({"G": "always globally henceforth", "F": "eventually finally sometime sometimes"}),
    **_pieces({"X": "next nexttime", "U": "until", "W": "weakuntil", "R": "release releases"}),
}

# As they are.
LETTERS: Dict[str, str] = {**{letter: letter for letter in "XFGUWRM"}, "V": "R"}

# The same in lbt's prefix notation, whose symbols are p0, p1, ... or stand in double quotes.
LBT: Dict[str, str] = {"i": "->", "e": "<->", "^": "xor", "t": "1", "f": "0", "V": "R"}

# Names that are constants in other notations.
PERHAPS_CONSTANTS: Dict[str, str] = {"T": "1", "tt": "1", "ff": "0"}

# Words and signs of other notations, and what they are.
ELSEWHERE: Dict[str, str] = {
    **_pieces(
        {
            "past LTL": "since once historically previously yesterday triggered",
            "CTL": "AG AF AX AU AR AW EG EF EX EU ER EW",
            "PSL": "never before before_ until_ next_a next_e next_event abort",
            "SVA": "s_until until_with s_until_with s_always s_eventually s_nexttime throughout "
            "intersect first_match posedge negedge ##",
            "PSL and SVA": "assert assume cover property within |-> |=>",
            "a shift": ">> <<",
            "a quantifier": "exists forall ∃ ∀",
        }
    ),
    **{"unless": "W", "nand": "!(a & b)", "nor": "!(a | b)", "xnor": "<->", "equiv": "<->"},
    **{"ite": "(a & b) | (!a & c)", "if": "a -> b", "~>": "G (a -> F b)"},
}

# The same beside temporal operators alone.
ELSEWHERE_TEMPORAL = _pieces({"past LTL or a name": "S O H Y", "CTL or a name": "A E"})

_BINDING = {**dict.fromkeys("UWRM", 5), "&": 4, "xor": 3, "|": 2, "->": 1, "<->": 1}
_RIGHT_ASSOCIATIVE = frozenset("U W R M -> <->".split())

_WORD = r"\w(?:[\w.]|-(?=\w)|\[\w+\])*"
_TWO_WORDS = r"(?i:weak\s+until|strong\s+release)(?![\w.[-])"
_STRONG = r"(?i:next|until|eventually)!(?!=)"
_QUOTED = r'"(?:[^"\\]|\\.)*"'
_PREFIX_WORD = re.compile(rf"{_QUOTED}(?!\S)|\S+", re.DOTALL)
# GFa and Xp0, as Spot prints them; but Grant may be G rant or a name, and FB F B.
_RUN_TOGETHER = re.compile(r"([XFG]+)([a-z]\d*)?")
_PERHAPS_RUN_TOGETHER = re.compile(r"[XFG]+[A-Za-z_.].*|[XFG]{2,}\d.*")
_PRODUCT = re.compile(r"[A-Za-z]\d*(\.[A-Za-z]\d*)+")
_SIGN = re.compile("|".join(re.escape(sign) for sign, token in SIGNS.items() if token in ARITY))
# With these a name could end its line, or show as what it is not.
_CONTROL = re.compile("[\0-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

_OPERATORS = "; operators are ! & | xor -> <->"
_TEMPORAL_ONES = {True: " X F G U W R M", False: "; temporal ones are X F G U W R M, in ltl alone"}
_NAME = "; a name that holds it stands in double quotes"
_COMPARISON = '; put a comparison in double quotes, as "x <= 3"'
_UNEQUAL = f"; write xor between formulas{_COMPARISON}"
_DEFINITION = "; leave out what is defined, or write <->"
_FUNCTION = "; functions are written a & b, an operator between operands"
_COMMENT = "; comments stand in files alone, after a space, and /* ends with */"
_BOUNDS = (
    " is an operator with brackets or bounds: write bounds such as X[3] a out, X X X a; other "
    "brackets are ( ); a name or a comparison stands in double quotes"
)
# What to say of a sign; the operators are said where this is nothing.
_ADVICE = _pieces(
    {
        "": " ".join([*SIGNS, *(sign for sign in ELSEWHERE if not sign[0].isalpha())])
        + " ->> =>> <~> !-> !<->",
        f"; write <-> between formulas{_COMPARISON}": "= == === ＝ ≈ ≃ ≅",
        _UNEQUAL: "!= !== ~= /= ≠ <>",
        _COMPARISON: "< > <= >= =< ≤ ≥ ⩽ ⩾ ≦ ≧ ≨ ≩ ≮ ≯ ≰ ≱ ≲ ≳ ≪ ≫ ∈ ∉ ∋ ＜ ＞",
        _DEFINITION: ":= ::= *= += -= &= |= ^= ≔ ≝ ≜",
        f"; turn a <- b into b -> a{_COMPARISON}": "<- <-- <== ← ⇐ ⟵ ⟸",
        "; brackets are ( ), and a name with others stands in double quotes": "[ ] { }",
        "; write straight double quotes": "“ ” „",
        "; its double quotes are never closed": '"',
        f"{_COMMENT}{_NAME}": "// /* */ # --",
        "; give each formula by itself, without the commas and quotes of a list": ",",
        "; leave out quotes around a formula": "' ` ‘ ’",
        '; not is !; leave out the dash of a list; a name with - stands in double quotes, as "a-"': "-",
        "; leave the full stop out; a product is written a & b": ".",
        "; give each formula by itself": ";",
    }
)


class _Lexeme(NamedTuple):
    """A token, and the piece of text that it stands for with its place, from 0."""

    token: str
    place: int
    text: str

    @property
    def end(self) -> int:
        return self.place + len(self.text)

    def __str__(self) -> str:
        return f"{excerpt(self.text)} at character {self.place + 1}"


def read_formula(text: str, temporal: bool) -> Reading:
    """Reads a formula in infix or prefix notation, over p0, p1, ... by first appearance; a
    MalformedFormula names the place of a fault.

    ``X F G U W R M`` are operators if it is ``temporal``, and names otherwise.
    """
    names: Dict[str, str] = {}
    tokens = _in_prefix(re.findall(_PREFIX_WORD, text), temporal, names)
    if tokens is None:
        lexemes = _lexemes(text, temporal, names)
        if not temporal:
            _refuse_products(lexemes)
        tokens = _to_prefix(lexemes, temporal)
    if tokens == ["p0"] and '"' in text:
        _refuse_formula(*names, temporal)
    return Reading.numbered(tokens, list(names))


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
    lbt = _formula(words, temporal, LBT, re.compile(rf"p\d+|{_QUOTED}", re.DOTALL).fullmatch)
    if own and lbt and own != lbt:
        raise MalformedFormula(
            "t and f are lbt's 1 and 0, or names: write 1 and 0, or the names in double quotes"
        )
    tokens: List[str] = []
    for token in own or lbt or ():
        fixed = _is_fixed(token, temporal)
        tokens += [token] if fixed else _tokens_of(_Lexeme("", 0, token), temporal, names)
    return tokens or None


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
    """Whether a word is a name, in quotes or without need of them."""
    if not re.fullmatch(f"{_WORD}|{_QUOTED}", word, re.DOTALL):
        return False
    try:
        return _tokens_of(_Lexeme("", 0, word), temporal, {}) == ["p0"] and (
            temporal or not _PRODUCT.fullmatch(word)
        )
    except MalformedFormula:
        return False


def _lexemes(text: str, temporal: bool, names: Dict[str, str]) -> List[_Lexeme]:
    signs = {sign: token for sign, token in SIGNS.items() if temporal or token not in LETTERS}
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
        elif sign in signs and not _is_call(lexeme, found):
            found.append(lexeme._replace(token=signs[sign]))
        else:
            advice = _advice(lexeme, found, text, temporal)
            raise MalformedFormula(f"{lexeme} cannot be read{advice}")
    return found


def _is_call(lexeme: _Lexeme, found: Sequence[_Lexeme]) -> bool:
    return lexeme.text == "()" and _follows_name(lexeme, found)


def _follows_name(lexeme: _Lexeme, found: Sequence[_Lexeme]) -> bool:
    """Whether a sign stands right behind a name."""
    return bool(found) and found[-1].token[0] == "p" and found[-1].end == lexeme.place


def _advice(lexeme: _Lexeme, found: Sequence[_Lexeme], text: str, temporal: bool) -> str:
    """Advice on a sign that cannot be read, behind what was ``found``."""
    sign, rest = lexeme.text, text[lexeme.end :]
    tokens = [one.token for one in found]
    if not sign.isprintable():
        return "; leave out what is invisible"
    if _is_call(lexeme, found):
        return "; leave it out behind a name, as it is X in ltl"
    if sign == "," and tokens.count("(") > tokens.count(")"):
        return f"{_FUNCTION}{_operators(found, temporal)}"
    if sign in "'’" and _follows_name(lexeme, found):
        return f"; write a negation as !x{', a next value as X x' * temporal}, or another name"
    names_alone = {token[0] for token in tokens} == {"p"}
    if sign == "=" and (not found or names_alone and _is_definition(rest)):
        return _DEFINITION + (_FUNCTION if "," in rest else "")
    name = _NAME if sign not in _ADVICE and re.match(r"\w", rest) else ""
    advice = _ADVICE.get(sign) or name
    return f"{_operators([lexeme, *found], temporal, not advice or advice is name)}{advice}"


def _is_definition(value: str) -> bool:
    """Whether what follows ``a =`` is a formula, and no number or further comparison."""
    return has_operator(value) and not re.match(r"\s*\d|.*[^-<>=!]=[^=>]", value, re.DOTALL)


def has_operator(text: str) -> bool:
    """Whether a text has an operator of some logic, as far as signs and words show. A letter alone is a
    name."""
    words = re.findall(r"\w+", text)
    return _SIGN.search(text) is not None or any(
        _RUN_TOGETHER.fullmatch(word)
        or WORDS.get(word.lower()) in ARITY
        or words != [text]
        and (word in LETTERS or word in LBT or bool(_elsewhere(word, temporal=True)))
        for word in words
    )


def _operators(lexemes: Iterable[_Lexeme], temporal: bool, always: bool = True) -> str:
    """The operators, and what the first word or sign of another notation is; if there is none, and
    not ``always``, nothing."""
    elsewhere = (one.text for one in lexemes if _elsewhere(one.text, temporal))
    word = next(elsewhere, None)
    if word is None and not always:
        return ""
    said = f"; {word!r} is {_elsewhere(word, temporal)}" if word else ""
    return f"{said}{_OPERATORS}{_TEMPORAL_ONES[temporal]}"


def _elsewhere(word: str, temporal: bool) -> Optional[str]:
    found = ELSEWHERE.get(word) or ELSEWHERE.get(word.lower())
    return found or (ELSEWHERE_TEMPORAL.get(word) if temporal else None)


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
    if word in PERHAPS_CONSTANTS:
        advice = f"write {PERHAPS_CONSTANTS[word]}, or the name in double quotes"
        raise MalformedFormula(f"{lexeme} may be {PERHAPS_CONSTANTS[word]} or a name: {advice}")
    token = WORDS.get(lowered) or LETTERS.get(head)
    token = token if temporal or token not in LETTERS else None
    run_together = _RUN_TOGETHER.fullmatch(head) if temporal else None
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
        advice = "leave out a line's number, or put a name or a comparison in double quotes"
        raise MalformedFormula(f"{lexeme} is neither a constant nor a name; {advice}")
    if word.endswith("."):
        advice = "leave it out, or put the name in double quotes"
        raise MalformedFormula(f"{lexeme} ends in a dot: {advice}")
    return [_numbered(word, names)]


def _to_prefix(lexemes: Sequence[_Lexeme], temporal: bool) -> List[str]:
    # Dijkstra's shunting yard from right to left, which brings the prefix notation, also
    # from right to left, without a tree and without recursion.
    output: List[str] = []
    waiting: List[_Lexeme] = []  # binary operators and closing parentheses, the latest on top
    complete = False  # whether an operand begins right after the token
    after = None  # the token to the right
    for lexeme in reversed(lexemes):
        token = lexeme.token
        if complete == (token == ")" or token not in ARITY and token != "("):
            if complete:
                raise MalformedFormula(_unjoined(lexeme, after, lexemes, temporal))
            raise MalformedFormula(_lacking(lexeme, after))
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


def _unjoined(
    lexeme: _Lexeme, after: Optional[_Lexeme], lexemes: Sequence[_Lexeme], temporal: bool
) -> str:
    """Says that an operator is missing between two tokens."""
    if after is not None and after.text == "<>":
        return f"{after} is F, and an operator is missing before it{_UNEQUAL}"
    reason = ""
    if after is not None and lexeme.text[0] == after.text[0] == '"':
        reason = "; of doubled quotes, as CSV has them, write one"
    elif lexeme.token[0] == "p":
        reason = ", as it is read as a name"
    return f"{lexeme}: an operator is missing after it{reason}{_operators([lexeme, *lexemes], temporal)}"


def _lacking(lexeme: _Lexeme, after: Optional[_Lexeme]) -> str:
    """Says that an operand is missing between two tokens."""
    if after is not None and after.token in _BINDING and _named(after) and not _named(lexeme):
        return f"{after}: an operand is missing before it{_named(after)}"
    return f"{lexeme}: an operand is missing after it{_named(lexeme)}"


def _named(lexeme: _Lexeme) -> str:
    """Advice on an operator that may have been meant as a name."""
    if not lexeme.text[0].isalpha():
        return ""
    return f'; it is an operator: write "{lexeme.text}" in double quotes to use it as a name'
