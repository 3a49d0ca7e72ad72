"""Expands temporal formulas into demands on this step and on the next one."""

from typing import Dict, List, Optional, Sequence, Tuple

from sit_fairseq.domains.formulas.syntax import CONSTANTS, fold
from sit_fairseq.domains.ltl.traces import Step

FALSE, TRUE = 0, 1

# What an operator becomes when a negation is pushed through it.
_DUAL = {"&": "|", "|": "&", "X": "X", "U": "R", "R": "U", "W": "M", "M": "W"}

# A subformula and its negation.
_Pair = Tuple[int, int]


class Expansion:
    """The subformulas of an LTL formula whose negations were pushed down to its symbols.

    Each is a node, an integer; equal ones are the same node. Bit n of a set of nodes stands for
    node n.

    Attributes:
        root: the node of the formula.
        ways: of each node the lists of nodes that make it true, in the order to be tried; None for
            literals, ``X`` and false.
        literals: of each literal its tokens.
        opposites: of each literal the one that contradicts it.
        operands: of each ``X`` its operand.
        eventualities: the set of nodes that may not be put off for ever; their first way meets
            them.
    """

    def __init__(self, formula: Sequence[str]) -> None:
        self.ways: List[Optional[Tuple[Tuple[int, ...], ...]]] = [None, ((),)]
        self.literals: Dict[int, Step] = {}
        self.opposites: Dict[int, int] = {}
        self.operands: Dict[int, int] = {}
        self.eventualities = 0
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
        elif operator == "&":
            self.ways[node] = ((left, right),)
        elif operator == "|":
            self.ways[node] = (left,), (right,)
        else:
            again = self._node("X", node, node)
            if operator == "U":
                self.ways[node] = (right,), (left, again)
            elif operator == "M":
                self.ways[node] = (left, right), (right, again)
            elif operator == "W":
                self.ways[node] = (left, again), (right,)
            else:
                self.ways[node] = (right, again), (left, right)
            if operator in "UM":
                self.eventualities |= 1 << node
        return node

    def _new(self, key: Tuple) -> int:
        node = self._known[key] = len(self.ways)
        self.ways.append(None)
        return node
