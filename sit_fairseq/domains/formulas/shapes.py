"""Formulas as people write them, which random trees hardly ever resemble.

Random trees lack what specifications and Boolean functions are made of: wide conjunctions and
disjunctions of literals, chains that nest to the right, implications below ``G``, several
requirements joined, and the negations of all that. These are drawn here from a small grammar.
"""

from random import Random
from typing import Dict, List, Sequence, Tuple

from sit_fairseq.domains.formulas.syntax import halved

Tokens = List[str]

# The most literals of one conjunction or disjunction.
WIDEST = 16

_ARROWS = ("->", "<->", "xor")

# Of a chain a . (b . (c . d)): the operators at its links, and what stands before the rest.
_BOOLEAN_CHAINS = "-> & | &| <-> xor".split()
_TEMPORAL_CHAINS = "U W R M U.X &.X &.F &.G ->.X ->.F |.X".split()

# A requirement from some moment on, and what more it may be if it holds another one.
_DUTY = "0.17 F boolean, 0.08 G boolean, 0.17 nexts boolean, 0.18 U/U/W/W/R/M boolean boolean, "
_DUTY += "0.05 boolean"
_DUTY_OF = """, 0.05 X/F/G {0}, 0.06 U/W/R/M boolean {0}, 0.04 U/W/R/M {0} boolean,
    0.06 F/X & boolean {0}, 0.05 pair:{0}, 0.03 & boolean {0}, 0.03 -> boolean {0},
    0.03 | {0} G boolean"""
# Junctions of junctions, as factored functions have them.
_TREE = "0.75 join:{0}:0.3, 0.1 ! {0}, 0.15 literal"

# The weight of each way to draw something, and its tokens in order: the name of what is drawn, here
# or by a method of Shapes; one of several, between slashes; or an operator.
_GRAMMAR = {
    "arrow": "0.6 ->, 0.25 <->, 0.15 xor",
    "small": "0.6 literal, 0.4 clause",
    "link": "0.7 literal, 0.3 clause",
    # A condition on one moment.
    "boolean": """0.5 literal, 0.34 clause, 0.06 arrow small small, 0.05 join:clause:0.25,
        0.05 ! clause""",
    # A Boolean function.
    "function": """0.4 join:part:0.4, 0.2 clause, 0.15 arrow part part, 0.25 tree3,
        0.4 normal_form""",
    "part": """0.3 literal, 0.4 clause, 0.1 ! clause, 0.12 join:small:0.4,
        0.08 arrow small small""",
    **{"tree1": _TREE.format("small"), "tree2": _TREE.format("tree1")},
    "tree3": _TREE.format("tree2"),
    "function_whole": "0.25 wide, 0.1 chain, 0.65 function",
    "wide_function": "0.7 literals, 0.3 beside",
    # A requirement on time.
    "requirement": """0.3 G -> boolean duty2, 0.06 G boolean, 0.05 G duty2, 0.06 F boolean,
        0.1 GF/FG boolean, 0.03 -> G F boolean G F boolean, 0.12 duty2, 0.05 -> boolean duty2,
        0.5 scope, 0.04 boolean, 0.03 <-> boolean duty2, 0.03 ! duty2""",
    **{"duty0": _DUTY, "duty1": _DUTY + _DUTY_OF.format("duty0")},
    "duty2": _DUTY + _DUTY_OF.format("duty1"),
    "temporal_whole": "0.25 wide, 0.1 chain, 0.65 requirements",
    "wide_temporal": """0.5 literals, 0.2 X/F/G literals, 0.1 GF/FG/XX literals,
        0.1 U/W/R/M literal literals, 0.05 U/W/R/M literals literal, 0.05 beside""",
    # Of a scenario.
    "event": "0.7 name, 0.15 literal, 0.15 clause",
    "step": """0.4 G -> event duty1, 0.18 F event, 0.12 G F event, 0.12 G ! & name event,
        0.08 event, 0.05 U/W ! name event, 0.05 F & event X/F event""",
    # A duty before, after or between events (Dwyer et al. 1999, in general terms).
    "scoped": """0.2 -> F last until, 0.15 G -> first duty, 0.15 G -> first G boolean,
        0.2 G -> & first not_last weak, 0.1 G -> & & first not_last F last until,
        0.1 | G not_first F & first duty, 0.1 W not_first duty""",
    # A duty up to an event: also a reaction, or a chain of two, that comes before it.
    "before": """0.4 duty0, 0.12 yet boolean, 0.12 ! yet boolean,
        0.18 -> boolean yet & boolean not_event, 0.09 -> boolean yet & boolean X yet boolean,
        0.09 -> & boolean X yet boolean X yet boolean""",
}


def _ways(text: str) -> Tuple[List[Tokens], List[float]]:
    """The ways of a line of the grammar, and their weights."""
    ways = [way.split() for way in text.split(",")]
    return [words for _, *words in ways], [float(weight) for weight, *_ in ways]


_RULES = {name: _ways(text) for name, text in _GRAMMAR.items()}


class Shapes:
    """Draws formulas, each over a few of the symbols and of at most ``max_length`` tokens.

    They are requirements on time if ``temporal``, otherwise Boolean functions.
    """

    def __init__(
        self, rng: Random, symbols: Sequence[str], max_length: int, temporal: bool
    ) -> None:
        self._rng = rng
        self._symbols = list(symbols)
        self._max_length = max_length
        self._temporal = temporal
        self._names: List[str] = []  # of the formula that is being drawn
        self._signs: Dict[str, Tokens] = {}  # before each name, where it always has the same sign
        self._many: Tokens = []  # its wide conjunction or disjunction

    def draw(self) -> Tokens:
        """The tokens of a formula in prefix notation."""
        while True:
            self._choose_names(self._count(1, len(self._symbols), 0.8))
            tokens = self._formula()
            if len(tokens) <= self._max_length:
                return tokens

    def _choose_names(self, number: int) -> None:
        self._names = self._rng.sample(self._symbols, number)
        fixed = self._rng.random() < 0.4
        self._signs = {name: self._sign() for name in self._names} if fixed else {}

    def _count(self, least: int, most: int, more: float) -> int:
        """A geometric number: each further one with probability ``more``."""
        count = least
        while count < most and self._rng.random() < more:
            count += 1
        return count

    def _rule(self, name: str, **known: Tokens) -> Tokens:
        """Draws by a rule of the grammar, some of whose words are known."""
        (way,) = self._rng.choices(*_RULES[name])
        return [t for word in way for t in (known[word] if word in known else self._word(word))]

    def _word(self, word: str) -> Tokens:
        if "/" in word:
            return list(self._rng.choice(word.split("/")))
        if word in _RULES:
            return self._rule(word)
        name, *arguments = word.split(":")
        draw = getattr(self, f"_{name}", None)
        return [word] if draw is None else draw(*arguments)

    def _formula(self) -> Tokens:
        if self._temporal and self._rng.random() < 0.3:
            return self._scenario()
        tokens = self._rule("temporal_whole" if self._temporal else "function_whole")
        return ["!", *tokens] if self._rng.random() < 0.45 else tokens

    # Boolean parts.

    def _sign(self) -> Tokens:
        return ["!"] if self._rng.random() < 0.3 else []

    def _name(self) -> Tokens:
        return [self._rng.choice(self._names)]

    def _signed(self, name: str) -> Tokens:
        sign = self._signs.get(name)
        return [*(self._sign() if sign is None else sign), name]

    def _literal(self) -> Tokens:
        return self._signed(*self._name())

    def _nested(self, operator: str, parts: Sequence[Tokens]) -> Tokens:
        """Parts joined to the left, to the right, or in halves."""
        shape = self._rng.randrange(3)
        if shape == 0:
            return [operator] * (len(parts) - 1) + [token for part in parts for token in part]
        if shape == 1:
            return [t for part in parts[:-1] for t in (operator, *part)] + parts[-1]
        return halved(operator, parts)

    def _join(self, part: str, more: str) -> Tokens:
        """Two or more parts joined by ``&`` or ``|``."""
        parts = [self._word(part) for _ in range(self._count(2, 8, float(more)))]
        return self._nested(self._rng.choice("&|"), parts)

    def _pair(self, part: str) -> Tokens:
        return self._nested(self._rng.choice("&|"), [self._word(part), self._word(part)])

    def _clause(self, number: int = 0) -> Tokens:
        """A few literals of different symbols, or so many."""
        number = number or min(self._count(2, 8, 0.45), len(self._names))
        literals = list(map(self._signed, self._rng.sample(self._names, number)))
        return self._nested(self._rng.choice("&|"), literals)

    def _wide(self) -> Tokens:
        """Many literals in one conjunction or disjunction, alone or with something small."""
        number = self._rng.randint(min(2, len(self._symbols)), min(WIDEST, len(self._symbols)))
        if len(self._names) < number:
            self._choose_names(number)
        self._many = self._clause(number)
        return self._rule("wide_temporal" if self._temporal else "wide_function")

    def _literals(self) -> Tokens:
        return self._many

    def _beside(self) -> Tokens:
        pair = [self._many, self._rule("small")]
        self._rng.shuffle(pair)
        return [self._rng.choice(("&", "|", *_ARROWS)), *pair[0], *pair[1]]

    def _chain(self) -> Tokens:
        """Nested to the right: ``-> a -> b c``, ``& a F & b F c``, ``X X X a``."""
        number = self._count(2, 8, 0.6)
        kinds = [*_BOOLEAN_CHAINS, *(2 * [*_TEMPORAL_CHAINS, "X"] if self._temporal else [])]
        link, _, before = self._rng.choice(kinds).partition(".")
        if link == "X":
            return ["X"] * number + self._rule("boolean")
        operators = [link] if link in _ARROWS else list(link)
        parts = [self._rule("link") for _ in range(number)]
        tokens = parts[-1]
        for part in parts[:-1]:
            tokens = [self._rng.choice(operators), *part, *before, *tokens]
        return [*before, *tokens] if self._rng.random() < 0.5 else tokens

    def _normal_form(self) -> Tokens:
        """Clauses of one kind over the same few symbols, as minimised tables have them."""
        inner, outer = self._rng.choice(("&|", "|&"))
        names = self._rng.sample(self._names, min(self._rng.randint(2, 6), len(self._names)))

        def clause() -> Tokens:
            used = [name for name in names if self._rng.random() < 0.85] or names
            return self._nested(inner, [["!"] * self._rng.randrange(2) + [n] for n in used])

        return self._nested(outer, [clause() for _ in range(self._count(2, 6, 0.65))])

    # Requirements on time.

    def _requirements(self) -> Tokens:
        parts = [self._rule("requirement") for _ in range(self._count(1, 6, 0.42))]
        if len(parts) == 1:
            return parts[0]
        joined = self._nested("&" if self._rng.random() < 0.8 else "|", parts)
        if self._rng.random() < 0.8:
            return joined
        (operator,) = self._rng.choices(_ARROWS, (0.8, 0.1, 0.1))
        return [operator, *self._rule("requirement"), *joined]

    def _scenario(self) -> Tokens:
        """Requirements on the same few names: what one of them asks for sets off another."""
        self._names = self._names[: self._count(2, 5, 0.6)]
        return self._nested("&", [self._rule("step") for _ in range(self._count(2, 8, 0.65))])

    def _nexts(self) -> Tokens:
        return ["X"] * self._count(1, 4, 0.3)

    def _scope(self) -> Tokens:
        first, last = self._literal(), self._literal()
        not_first, not_last = _negated(first), _negated(last)
        until, weak = (
            [operator, *self._rule("before", yet=["U", *not_last], not_event=not_last), *last]
            for operator in "UW"
        )
        duty = self._rule("duty1")
        known = {"first": first, "last": last, "not_first": not_first, "not_last": not_last}
        return self._rule("scoped", until=until, weak=weak, duty=duty, **known)


def _negated(literal: Tokens) -> Tokens:
    return literal[1:] if literal[0] == "!" else ["!", *literal]
