"""Random formulas of which length and symbols are given, see :mod:`sit_fairseq.datasets.sampling`."""

from bisect import bisect
from itertools import accumulate
from math import comb
from random import Random
from typing import Collection, Dict, Hashable, List, Mapping, Sequence, Tuple

from sit_fairseq.datasets.sampling import SymbolSequences
from sit_fairseq.logic.syntax import ARITY, CONSTANTS

# The time for the tables of the sampler grows with the fourth power of the length.
LONGEST_FORMULA = 100

# The operators of LTLRandom35, and with which tokens an operand must not begin because Spot
# would rewrite the formula to a shorter one.
LTL_OPERATORS = ("!", "X", "U", "&")
LTL_FORBIDDEN = {
    ("!", 0): ("0", "1", "!"),
    ("X", 0): ("1",),
    ("U", 0): ("0",),
    ("U", 1): ("0", "1"),
    ("&", 0): ("0", "1"),
    ("&", 1): ("0", "1"),
}

# Where a formula has a symbol, as long as nobody has said which one.
_SYMBOL = ""


class FormulaSampler:
    """Random formulas, given their length and which symbols occur.

    A formula grows from its root, as in :func:`~sit_fairseq.logic.propositional.random_formula`
    and in Spot's ``randltl``: a single token is one of n symbols or a constant, all with equal
    probability; two begin with a unary operator; with more tokens every operator has equal
    probability, and the tokens left for two operands are split uniformly. Drawn is from this
    distribution under the condition that the tokens are as many as said, that just the given
    symbols occur, and that no operand is forbidden.

    Args:
        operators: the operators.
        n_symbols: the n symbols of the unconditional distribution.
        forbidden: for an operator and the number of its operand the operators and constants that
            this operand must not begin with.
    """

    def __init__(
        self,
        operators: Sequence[str],
        n_symbols: int,
        forbidden: Mapping[Tuple[str, int], Collection[str]],
    ) -> None:
        self._operators = operators
        self._n_symbols = n_symbols
        self._forbidden = forbidden
        # Probability that a formula of a length has the first token that is the key, and
        # symbols at so many leaves, any one symbol at each.
        leaf = 1 / (n_symbols + len(CONSTANTS))
        leaves = {_SYMBOL: [0.0, leaf], **{constant: [leaf, 0.0] for constant in CONSTANTS}}
        self._tables: List[Dict[str, List[float]]] = [{}, leaves]
        self._sequences: Dict[int, SymbolSequences] = {}
        self._choices: Dict[Hashable, Tuple[List, List[float]]] = {}

    def feasible(self, length: int, k: int) -> bool:
        """Whether there are formulas of a length in which k symbols occur."""
        return self.share(length, k) > 0

    def share(self, length: int, k: int) -> float:
        """Probability that any k different symbols occur in a formula of a length."""
        return comb(self._n_symbols, k) * sum(self._leaf_weights(length, k))

    def draw(self, rng: Random, length: int, symbols: Sequence[str]) -> List[str]:
        """Draws a formula.

        Args:
            rng: the source of randomness.
            length: number of tokens, such that the formula is feasible.
            symbols: the symbols that occur; the order does not matter.

        Returns:
            The tokens in prefix notation.
        """
        k = len(symbols)
        n_leaves = self._choose(rng, ("leaves", length, k), self._leaf_choices)
        names = iter(self._sequences[k].draw(rng, n_leaves, symbols))
        tokens = []
        todo: List[Tuple] = [(length, n_leaves, None)]  # the next operand is on top
        while todo:
            root = self._choose(rng, ("root", *todo[-1]), self._root_choices)
            size, leaves, _ = todo.pop()
            tokens.append(next(names) if root == _SYMBOL else root)
            arity = ARITY.get(root, 0)
            if arity == 1:
                todo.append((size - 1, leaves, (root, 0)))
            elif arity == 2:
                left = self._choose(rng, ("split", size, leaves, root), self._split_choices)
                todo.append((size - 1 - left[0], leaves - left[1], (root, 1)))
                todo.append((*left, (root, 0)))
        return tokens

    def _choose(self, rng: Random, key: Tuple, make):
        """Draws one of the alternatives of a key, which ``make`` lists with their weights."""
        if key not in self._choices:
            alternatives, weights = make(*key[1:])
            self._choices[key] = alternatives, list(accumulate(weights))
        alternatives, sums = self._choices[key]
        # The product may be rounded up to the sum.
        return alternatives[min(bisect(sums, rng.random() * sums[-1]), len(sums) - 1)]

    def _leaf_weights(self, length: int, k: int) -> List[float]:
        """Probability of just k given symbols at 0, 1, 2, ... leaves."""
        sequences = self._sequences.setdefault(k, SymbolSequences(k))
        return [p * sequences.count(n) for n, p in enumerate(self._operand(None, length))]

    def _leaf_choices(self, length: int, k: int) -> Tuple[List, List[float]]:
        weights = self._leaf_weights(length, k)
        return list(range(len(weights))), weights

    def _root_choices(self, size: int, leaves: int, place) -> Tuple[List, List[float]]:
        forbidden = self._forbidden.get(place, ())
        table = self._table(size)
        roots = [root for root in table if root not in forbidden]
        return roots, [table[root][leaves] for root in roots]

    def _split_choices(self, size: int, leaves: int, root: str) -> Tuple[List, List[float]]:
        """Lengths and numbers of symbol leaves of the left operand."""
        splits, weights = [], []
        for length in range(1, size - 1):
            left = self._operand((root, 0), length)
            right = self._operand((root, 1), size - 1 - length)
            for n in range(max(0, leaves - len(right) + 1), min(leaves, len(left) - 1) + 1):
                splits.append((length, n))
                weights.append(left[n] * right[leaves - n])
        return splits, weights

    def _operand(self, place, length: int) -> List[float]:
        """Probability of 0, 1, 2, ... symbol leaves in a formula that may be at a place."""
        forbidden = self._forbidden.get(place, ())
        rows = [row for root, row in self._table(length).items() if root not in forbidden]
        return [sum(column) for column in zip(*rows)]

    def _table(self, length: int) -> Dict[str, List[float]]:
        while len(self._tables) <= length:
            self._tables.append(self._next_table(len(self._tables)))
        return self._tables[length]

    def _next_table(self, size: int) -> Dict[str, List[float]]:
        usable = [operator for operator in self._operators if ARITY[operator] < size]
        table = {}
        for operator in usable:
            row = [0.0] * ((size + 1) // 2 + 1)
            if ARITY[operator] == 1:
                for n, p in enumerate(self._operand((operator, 0), size - 1)):
                    row[n] = p / len(usable)
            else:
                share = 1 / (len(usable) * (size - 2))
                for left in range(1, size - 1):
                    second = self._operand((operator, 1), size - 1 - left)
                    for n, p in enumerate(self._operand((operator, 0), left)):
                        for m, q in enumerate(second):
                            row[n + m] += share * p * q
            table[operator] = row
        return table
