"""Formulas as people write them, which random trees hardly ever resemble.

Random trees lack what specifications and Boolean functions are made of: wide conjunctions and
disjunctions of literals, chains that nest to the right, implications below ``G``, several
requirements joined, and the negations of all that. These are drawn here from a small grammar.
"""

from random import Random
from typing import Callable, Dict, List, Sequence, Tuple

from sit_fairseq.domains.formulas.syntax import halved

Tokens = List[str]
Rule = Tuple[float, Callable[[], Tokens]]  # weight, and what draws

# The most literals of one conjunction or disjunction.
WIDEST = 16

_ARROWS = ("->", "<->", "xor")

# Of a chain a . (b . (c . d)): the operator at each link, and what stands before the rest.
_BOOLEAN_CHAINS = [("->", ""), ("&", ""), ("|", ""), ("&|", ""), ("<->", ""), ("xor", "")]
_TEMPORAL_CHAINS = [
    *(("U", ""), ("W", ""), ("R", ""), ("M", ""), ("U", "X")),
    *(("&", "X"), ("&", "F"), ("&", "G"), ("->", "X"), ("->", "F"), ("|", "X")),
]


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

    def _choose(self, *rules: Rule) -> Tokens:
        ((_, draw),) = self._rng.choices(rules, [weight for weight, _ in rules])
        return draw()

    def _formula(self) -> Tokens:
        if self._temporal and self._rng.random() < 0.3:
            return self._scenario()
        whole = self._requirements if self._temporal else self._function
        tokens = self._choose((0.25, self._wide), (0.1, self._chain), (0.65, whole))
        return ["!", *tokens] if self._rng.random() < 0.45 else tokens

    # Boolean parts.

    def _sign(self) -> Tokens:
        return ["!"] if self._rng.random() < 0.3 else []

    def _signed(self, name: str) -> Tokens:
        sign = self._signs.get(name)
        return [*(self._sign() if sign is None else sign), name]

    def _literal(self) -> Tokens:
        return self._signed(self._rng.choice(self._names))

    def _nested(self, operator: str, parts: Sequence[Tokens]) -> Tokens:
        """Parts joined to the left, to the right, or in halves."""
        shape = self._rng.randrange(3)
        if shape == 0:
            return [operator] * (len(parts) - 1) + [token for part in parts for token in part]
        if shape == 1:
            return [t for part in parts[:-1] for t in (operator, *part)] + parts[-1]
        return halved(operator, parts)

    def _junction(self, part: Callable[[], Tokens], more: float) -> Tokens:
        """Two or more parts joined by ``&`` or ``|``."""
        parts = [part() for _ in range(self._count(2, 8, more))]
        return self._nested(self._rng.choice("&|"), parts)

    def _clause(self) -> Tokens:
        """A few literals of different symbols."""
        number = min(self._count(2, 8, 0.45), len(self._names))
        literals = list(map(self._signed, self._rng.sample(self._names, number)))
        return self._nested(self._rng.choice("&|"), literals)

    def _small(self) -> Tokens:
        return self._choose((0.6, self._literal), (0.4, self._clause))

    def _arrow(self, part: Callable[[], Tokens]) -> Tokens:
        (operator,) = self._rng.choices(_ARROWS, (0.6, 0.25, 0.15))
        return [operator, *part(), *part()]

    def _boolean(self) -> Tokens:
        """A condition on one moment."""
        return self._choose(
            (0.5, self._literal),
            (0.34, self._clause),
            (0.06, lambda: self._arrow(self._small)),
            (0.05, lambda: self._junction(self._clause, 0.25)),
            (0.05, lambda: ["!", *self._clause()]),
        )

    def _wide(self) -> Tokens:
        """Many literals in one conjunction or disjunction, alone or with something small."""
        number = self._rng.randint(min(2, len(self._symbols)), min(WIDEST, len(self._symbols)))
        if len(self._names) < number:
            self._choose_names(number)
        literals = list(map(self._signed, self._rng.sample(self._names, number)))
        tokens = self._nested(self._rng.choice("&|"), literals)
        if not self._temporal:
            return self._choose((0.7, lambda: tokens), (0.3, lambda: self._beside(tokens)))
        return self._choose(
            (0.5, lambda: tokens),
            (0.2, lambda: [self._rng.choice("XFG"), *tokens]),
            (0.1, lambda: [*self._rng.choice((["G", "F"], ["F", "G"], ["X", "X"])), *tokens]),
            (0.1, lambda: [self._rng.choice("UWRM"), *self._literal(), *tokens]),
            (0.05, lambda: [self._rng.choice("UWRM"), *tokens, *self._literal()]),
            (0.05, lambda: self._beside(tokens)),
        )

    def _beside(self, tokens: Tokens) -> Tokens:
        pair = [tokens, self._small()]
        self._rng.shuffle(pair)
        return [self._rng.choice(("&", "|", *_ARROWS)), *pair[0], *pair[1]]

    def _chain(self) -> Tokens:
        """Nested to the right: ``-> a -> b c``, ``& a F & b F c``, ``X X X a``."""
        number = self._count(2, 8, 0.6)
        kinds = [*_BOOLEAN_CHAINS, *(2 * [*_TEMPORAL_CHAINS, ("X", "")] if self._temporal else [])]
        link, before = self._rng.choice(kinds)
        if link == "X":
            return ["X"] * number + self._boolean()
        operators = [link] if link in _ARROWS else list(link)
        parts = [self._choose((0.7, self._literal), (0.3, self._clause)) for _ in range(number)]
        tokens = parts[-1]
        for part in parts[:-1]:
            tokens = [self._rng.choice(operators), *part, *before, *tokens]
        return [*before, *tokens] if self._rng.random() < 0.5 else tokens

    # Boolean functions.

    def _function(self) -> Tokens:
        return self._choose(
            (0.4, lambda: self._junction(self._part, 0.4)),
            (0.2, self._clause),
            (0.15, lambda: self._arrow(self._part)),
            (0.25, lambda: self._tree(3)),
            (0.4, self._normal_form),
        )

    def _normal_form(self) -> Tokens:
        """Clauses of one kind over the same few symbols, as minimised tables have them."""
        inner, outer = self._rng.choice(("&|", "|&"))
        names = self._rng.sample(self._names, min(self._rng.randint(2, 6), len(self._names)))

        def clause() -> Tokens:
            used = [name for name in names if self._rng.random() < 0.85] or names
            return self._nested(inner, [["!"] * self._rng.randrange(2) + [n] for n in used])

        return self._nested(outer, [clause() for _ in range(self._count(2, 6, 0.65))])

    def _part(self) -> Tokens:
        return self._choose(
            (0.3, self._literal),
            (0.4, self._clause),
            (0.1, lambda: ["!", *self._clause()]),
            (0.12, lambda: self._junction(self._small, 0.4)),
            (0.08, lambda: self._arrow(self._small)),
        )

    def _tree(self, depth: int) -> Tokens:
        """Junctions of junctions, as factored functions have them."""
        if depth == 0:
            return self._small()
        return self._choose(
            (0.75, lambda: self._junction(lambda: self._tree(depth - 1), 0.3)),
            (0.1, lambda: ["!", *self._tree(depth - 1)]),
            (0.15, self._literal),
        )

    # Requirements on time.

    def _requirements(self) -> Tokens:
        parts = [self._requirement() for _ in range(self._count(1, 6, 0.42))]
        if len(parts) == 1:
            return parts[0]
        joined = self._nested("&" if self._rng.random() < 0.8 else "|", parts)
        if self._rng.random() < 0.8:
            return joined
        (operator,) = self._rng.choices(_ARROWS, (0.8, 0.1, 0.1))
        return [operator, *self._requirement(), *joined]

    def _requirement(self) -> Tokens:
        boolean, duty = self._boolean, self._duty
        return self._choose(
            (0.3, lambda: ["G", "->", *boolean(), *duty()]),
            (0.06, lambda: ["G", *boolean()]),
            (0.05, lambda: ["G", *duty()]),
            (0.06, lambda: ["F", *boolean()]),
            (0.1, lambda: [*self._rng.choice((["G", "F"], ["F", "G"])), *boolean()]),
            (0.03, lambda: ["->", "G", "F", *boolean(), "G", "F", *boolean()]),
            (0.12, duty),
            (0.05, lambda: ["->", *boolean(), *duty()]),
            (0.5, self._scope),
            (0.04, boolean),
            (0.03, lambda: ["<->", *boolean(), *duty()]),
            (0.03, lambda: ["!", *duty()]),
        )

    def _scenario(self) -> Tokens:
        """Requirements on the same few names: what one of them asks for sets off another."""
        self._names = self._names[: self._count(2, 5, 0.6)]

        def name() -> Tokens:
            return [self._rng.choice(self._names)]

        def event() -> Tokens:
            return self._choose((0.7, name), (0.15, self._literal), (0.15, self._clause))

        def requirement() -> Tokens:
            return self._choose(
                (0.4, lambda: ["G", "->", *event(), *self._duty(1)]),
                (0.18, lambda: ["F", *event()]),
                (0.12, lambda: ["G", "F", *event()]),
                (0.12, lambda: ["G", "!", "&", *name(), *event()]),
                (0.08, event),
                (0.05, lambda: [self._rng.choice("UW"), "!", *name(), *event()]),
                (0.05, lambda: ["F", "&", *event(), self._rng.choice("XF"), *event()]),
            )

        return self._nested("&", [requirement() for _ in range(self._count(2, 8, 0.65))])

    def _duty(self, depth: int = 2) -> Tokens:
        """A requirement from some moment on."""
        boolean = self._boolean
        rules: List[Rule] = [
            (0.17, lambda: ["F", *boolean()]),
            (0.08, lambda: ["G", *boolean()]),
            (0.17, lambda: ["X"] * self._count(1, 4, 0.3) + boolean()),
            (0.18, lambda: [self._rng.choice("UUWWRM"), *boolean(), *boolean()]),
            (0.05, boolean),
        ]
        if depth:

            def inner() -> Tokens:
                return self._duty(depth - 1)

            rules += [
                (0.05, lambda: [self._rng.choice("XFG"), *inner()]),
                (0.06, lambda: [self._rng.choice("UWRM"), *boolean(), *inner()]),
                (0.04, lambda: [self._rng.choice("UWRM"), *inner(), *boolean()]),
                (0.06, lambda: [self._rng.choice("FX"), "&", *boolean(), *inner()]),
                (0.05, lambda: self._nested(self._rng.choice("&|"), [inner(), inner()])),
                (0.03, lambda: ["&", *boolean(), *inner()]),
                (0.03, lambda: ["->", *boolean(), *inner()]),
                (0.03, lambda: ["|", *inner(), "G", *boolean()]),
            ]
        return self._choose(*rules)

    def _scope(self) -> Tokens:
        """A duty before, after or between events (Dwyer et al. 1999, in general terms)."""
        first, last = self._literal(), self._literal()
        until, weak = ([operator, *self._before(last), *last] for operator in "UW")
        body = self._duty(1)
        return self._choose(
            (0.2, lambda: ["->", "F", *last, *until]),
            (0.15, lambda: ["G", "->", *first, *body]),
            (0.15, lambda: ["G", "->", *first, "G", *self._boolean()]),
            (0.2, lambda: ["G", "->", "&", *first, *_negated(last), *weak]),
            (0.1, lambda: ["G", "->", "&", "&", *first, *_negated(last), "F", *last, *until]),
            (0.1, lambda: ["|", "G", *_negated(first), "F", "&", *first, *body]),
            (0.1, lambda: ["W", *_negated(first), *body]),
        )

    def _before(self, event: Tokens) -> Tokens:
        """A duty up to an event: also a reaction, or a chain of two, that comes before it."""
        boolean, yet = self._boolean, ["U", *_negated(event)]
        return self._choose(
            (0.4, lambda: self._duty(0)),
            (0.12, lambda: [*yet, *boolean()]),
            (0.12, lambda: ["!", *yet, *boolean()]),
            (0.18, lambda: ["->", *boolean(), *yet, "&", *boolean(), *_negated(event)]),
            (0.09, lambda: ["->", *boolean(), *yet, "&", *boolean(), "X", *yet, *boolean()]),
            (0.09, lambda: ["->", "&", *boolean(), "X", *yet, *boolean(), "X", *yet, *boolean()]),
        )


def _negated(literal: Tokens) -> Tokens:
    return literal[1:] if literal[0] == "!" else ["!", *literal]
