"""Depth-first labels of temporal formulas: the trace that a walk through a tableau finds first.

The root is to hold now, and the walk goes from it to the operands, the left one first. It takes
formulas apart into literals of this step and formulas that are to hold from the next step on, after
``!`` was pushed down to the symbols. Where there is a choice it tries the first way first, and takes
back what leads nowhere, the last choice first. What must come comes at once, and what need not come
does not.

When all is taken apart, the next step begins with what is to hold then, in the order found. A step
is the conjunction of its literals in the order found, ``1`` if it has none. It is nested to the
right, ``& a & b c``: a left-nested one begins with as many ``&`` as literals are to come, which a
writer would have to count in advance.

The walk ends where the formulas that are to hold next are those of an earlier step and whatever
must come (``U``, ``F``, ``M``) has come since. Where they are but nothing has come that had not
come before, it turns back (Reynolds 2016, "A new rule for LTL tableaux"). Only the tree decides, so
a renamed formula gets the renamed trace.
"""

from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Dict, List, Optional, Sequence, Set, Tuple

from sit_fairseq.domains.formulas.syntax import CONSTANTS, fold
from sit_fairseq.domains.ltl.traces import Step, Trace, check_ltl

# Subformulas that may be taken apart. 8 are on average where randltl's formulas have at most
# 14 tokens; of those of 25 to 35 tokens that have a trace this finds one for 99.9 %.
BUDGET = 1000

FALSE, TRUE = 0, 1

# What an operator becomes when a negation is pushed through it.
_DUAL = {"&": "|", "|": "&", "X": "X", "U": "R", "R": "U", "W": "M", "M": "W"}

# The ways to make an operator true, in the order to be tried: its left operand, its right one, and
# the same formula in the next step.
_LEFT, _RIGHT, _AGAIN = range(3)
_WAYS: Dict[str, Tuple[Tuple[int, ...], ...]] = {
    "&": ((_LEFT, _RIGHT),),
    "|": ((_LEFT,), (_RIGHT,)),
    "U": ((_RIGHT,), (_LEFT, _AGAIN)),
    "M": ((_LEFT, _RIGHT), (_RIGHT, _AGAIN)),
    "W": ((_LEFT, _AGAIN), (_RIGHT,)),
    "R": ((_RIGHT, _AGAIN), (_LEFT, _RIGHT)),
}

_Pair = Tuple[int, int]  # a subformula and its negation


class Expansion:
    """The subformulas of an LTL formula whose negations were pushed down to its symbols.

    Each is a node, an integer; equal ones are the same node, and ``root`` is that of the formula.
    Bit n of a set of nodes stands for node n.
    """

    def __init__(self, formula: Sequence[str]) -> None:
        # Of each node the nodes that make it true, by the ways in the order to be tried; None for
        # literals, X and false.
        self.ways: List[Optional[Tuple[Tuple[int, ...], ...]]] = [None, ((),)]
        self.literals: Dict[int, Step] = {}  # of each literal its tokens
        self.opposites: Dict[int, int] = {}  # of each literal the one that contradicts it
        self.operands: Dict[int, int] = {}  # of each X its operand
        self.eventualities = 0  # nodes not to be put off for ever; their first way meets them
        self._known: Dict[Tuple, int] = {("0",): FALSE, ("1",): TRUE}
        self.root, _ = fold(formula, self._pair)

    def _pair(self, token: str, operands: Sequence[_Pair]) -> _Pair:
        """The nodes of a formula and of its negation, given those of its operands."""
        if not operands:
            return self._leaf(token)
        left, right = operands[0], operands[-1]
        if token == "!":
            return left[::-1]
        if token == "->":
            return self._pair("|", (left[::-1], right))
        if token == "F":
            return self._pair("U", ((TRUE, FALSE), right))
        if token == "G":
            return self._pair("R", ((FALSE, TRUE), right))
        if token in ("xor", "<->"):
            equal = self._either(*zip(left, right))
            different = self._either(*zip(left, right[::-1]))
            return (different, equal) if token == "xor" else (equal, different)
        positive, negative = zip(left, right)
        return self._node(token, *positive), self._node(_DUAL[token], *negative)

    def _either(self, first: _Pair, second: _Pair) -> int:
        return self._node("|", self._node("&", *first), self._node("&", *second))

    def _leaf(self, token: str) -> _Pair:
        if token in CONSTANTS:
            return (FALSE, TRUE) if token == "0" else (TRUE, FALSE)
        if (token,) not in self._known:
            node, negation = self._new((token,)), self._new(("!", token))
            self.literals.update({node: (token,), negation: ("!", token)})
            self.opposites.update({node: negation, negation: node})
        return self._known[(token,)], self._known[("!", token)]

    def _node(self, operator: str, left: int, right: int) -> int:
        key = operator, left, right
        if key in self._known:
            return self._known[key]
        node = self._new(key)
        if operator == "X":
            self.operands[node] = left
            return node
        again = 0 if operator in "&|" else self._node("X", node, node)
        nodes = left, right, again
        self.ways[node] = tuple(tuple(nodes[part] for part in way) for way in _WAYS[operator])
        if operator in "UM":
            self.eventualities |= 1 << node
        return node

    def _new(self, key: Tuple) -> int:
        node = self._known[key] = len(self.ways)
        self.ways.append(None)
        return node


# Nodes to be taken apart: the next one, and the rest.
_Agenda = Optional[Tuple[int, "_Agenda"]]


@dataclass
class _Moment:
    """A step of the walk, as far as it was taken apart."""

    duties: int  # the set of what is to hold from it on
    agenda: _Agenda  # what is still to be taken apart
    seen: int = 0  # the set of what was taken apart
    met: int = 0  # the set of eventualities that come in it
    literals: Tuple[int, ...] = ()  # in order
    following: Tuple[int, ...] = ()  # what is to hold from the next step on, in order


class _Walk:
    """A walk through the tableau of a formula: the steps before this one, and this step."""

    def __init__(self, formula: Sequence[str]) -> None:
        self.expansion = Expansion(formula)
        self.past: List[_Moment] = []
        self.now = _Moment(1 << self.expansion.root, (self.expansion.root, None))
        self._choices: List[Tuple[int, _Moment]] = []  # number of a step, and its other way
        self._hopeless: Set[int] = set()  # duties that nothing fulfils
        self._open: Set[int] = set()  # numbers of steps whose failure does not prove that

    def take_apart(self) -> bool:
        """Takes the next node of this step apart; whether that is possible."""
        now, expansion = self.now, self.expansion
        node, now.agenda = now.agenda
        bit = 1 << node
        if now.seen & bit:
            return True
        now.seen |= bit
        if node in expansion.literals:
            now.literals += (node,)
            return not now.seen >> expansion.opposites[node] & 1
        if node in expansion.operands:
            if expansion.operands[node] not in now.following:
                now.following += (expansion.operands[node],)
            return True
        if node == FALSE:
            return False
        way, *others = expansion.ways[node]
        for other in others:
            self._choices.append((len(self.past), replace(now, agenda=_before(other, now.agenda))))
        now.agenda = _before(way, now.agenda)
        now.met |= bit & expansion.eventualities
        return True

    def loop(self, visits: Sequence[int]) -> Optional[int]:
        """The last of the steps of the same duties since which all has come that must come."""
        pending = self.now.duties & self.expansion.eventualities
        return next((i for i in reversed(visits) if not pending & ~_met(self.past[i:])), None)

    def hopeful(self, visits: Sequence[int]) -> bool:
        """Whether to go on, given the steps of the same duties."""
        if not visits:
            duties = self.now.duties
            return not any(duties & hopeless == hopeless for hopeless in self._hopeless)
        pending = self.now.duties & self.expansion.eventualities
        before = _met(self.past[visits[0] : visits[-1]])
        if pending & ~before & _met(self.past[visits[-1] :]):
            return True
        # The steps in between were left for what the first one still has to offer.
        self._open.update(range(visits[0] + 1, len(self.past) + 1))
        return False

    def turn_back(self) -> bool:
        """Takes the other way at the last choice, if there is one."""
        if not self._choices:
            return False
        number, moment = self._choices.pop()
        steps = [*self.past, self.now]
        left = range(number + 1, len(steps))
        self._hopeless.update(steps[i].duties for i in left if i not in self._open)
        self._open.difference_update(left)
        del self.past[number:]
        self.now = moment
        return True

    def trace(self, start: int) -> Trace:
        """The trace of the past, of which the steps from a start on repeat."""
        steps = [self._step(moment.literals) for moment in self.past]
        return _shortened(steps[:start], steps[start:])

    def _step(self, literals: Sequence[int]) -> Step:
        if not literals:
            return ("1",)
        *before, last = (self.expansion.literals[node] for node in literals)
        return tuple(token for literal in before for token in ("&", *literal)) + last


def depth_first_trace(formula: Sequence[str], budget: int = BUDGET) -> Optional[Trace]:
    """The trace of the walk; None if the formula is unsatisfiable, or ``budget`` subformulas were
    taken apart before, counted again in each step. A MalformedFormula if the tokens are not one."""
    check_ltl(formula)
    walk = _Walk(formula)
    for _ in range(budget):
        if walk.now.agenda is not None:
            possible = walk.take_apart()
        else:
            walk.past.append(walk.now)
            following = walk.now.following
            duties = sum(1 << node for node in following)
            walk.now = _Moment(duties, _before(following, None))
            visits = [i for i, moment in enumerate(walk.past) if moment.duties == duties]
            start = walk.loop(visits)
            if start is not None:
                return walk.trace(start)
            possible = walk.hopeful(visits)
        if not possible and not walk.turn_back():
            return None
    return None


def _before(nodes: Sequence[int], agenda: _Agenda) -> _Agenda:
    """An agenda with nodes put before it."""
    for node in reversed(nodes):
        agenda = (node, agenda)
    return agenda


def _met(moments: Sequence[_Moment]) -> int:
    """The eventualities that come in some steps, as a set."""
    return reduce(or_, (moment.met for moment in moments), 0)


def _shortened(prefix: List[Step], cycle: List[Step]) -> Trace:
    """The shortest lasso of the same steps: ``c ; { b ; a }`` for ``c ; b ; { a ; b ; a ; b }``."""
    period = next(n for n in range(1, len(cycle) + 1) if cycle == cycle[n:] + cycle[:n])
    cycle = cycle[:period]
    while prefix and prefix[-1] == cycle[-1]:
        cycle = [prefix[-1], *cycle[:-1]]
        prefix = prefix[:-1]
    return Trace(tuple(prefix), tuple(cycle))
