"""Random formulas of a given length and number of symbols."""

from itertools import accumulate
from math import comb
from random import Random
from typing import Any, Callable, Collection, Dict, List, Mapping, Optional, Sequence, Tuple

from sit_fairseq.datasets.sampling import Sampler
from sit_fairseq.domains.formulas.syntax import ARITY, CONSTANTS
from sit_fairseq.errors import UserError

# The time for the tables of formulas grows with the fourth power of the length.
LONGEST_FORMULA = 100

_SYMBOL = ""  # stands in a formula for a symbol that is still to be chosen
_Place = Optional[Tuple[str, int]]  # an operator and the number of its operand; None for the root
_Weighted = Tuple[List[Any], List[float]]  # alternatives and their weights


class FormulaSampler(Sampler):
    """Formulas in prefix notation.

    A formula grows from its root, as in :func:`random_formula` and in Spot's ``randltl``. Formulas
    are drawn from this distribution under the condition that no operand begins with what is
    ``forbidden`` for its operator and its number. A UserError if formulas are to be too long.
    """

    def __init__(
        self,
        operators: Sequence[str],
        symbols: Sequence[str],
        max_length: int = LONGEST_FORMULA,
        forbidden: Optional[Mapping[Tuple[str, int], Collection[str]]] = None,
    ) -> None:
        super().__init__(symbols)
        if max_length > LONGEST_FORMULA:
            most = f"at most {LONGEST_FORMULA} tokens, not {max_length}"
            raise UserError(f"formulas with a given number of symbols have {most}", "max_length")
        self._operators = operators
        self._forbidden = forbidden or {}
        # Probability that a formula of a length has the first token that is the key, and
        # symbols at so many leaves, any one symbol at each.
        leaf = 1 / (len(symbols) + len(CONSTANTS))
        leaves = {_SYMBOL: [0.0, leaf], **{constant: [leaf, 0.0] for constant in CONSTANTS}}
        self._tables: List[Dict[str, List[float]]] = [{}, leaves]
        self._choices: Dict[Tuple, _Weighted] = {}

    def share(self, length: int, k: int) -> float:
        return comb(len(self.symbols), k) * sum(self._leaf_weights(length, k))

    def draw(self, rng: Random, length: int, symbols: Sequence[str]) -> List[str]:
        k = len(symbols)
        n_leaves = self._choose(rng, self._leaf_choices, length, k)
        names = iter(self._sequences_of(k).draw(rng, n_leaves, symbols))
        tokens = []
        todo: List[Tuple[int, int, _Place]] = [(length, n_leaves, None)]  # the next operand on top
        while todo:
            root = self._choose(rng, self._root_choices, *todo[-1])
            size, leaves, _ = todo.pop()
            tokens.append(next(names) if root == _SYMBOL else root)
            arity = ARITY.get(root, 0)
            if arity == 1:
                todo.append((size - 1, leaves, (root, 0)))
            elif arity == 2:
                left = self._choose(rng, self._split_choices, size, leaves, root)
                todo.append((size - 1 - left[0], leaves - left[1], (root, 1)))
                todo.append((*left, (root, 0)))
        return tokens

    def _choose(self, rng: Random, choices: Callable[..., _Weighted], *arguments: Any) -> Any:
        """Draws one of the alternatives that a method lists with their weights."""
        key = (choices.__name__, *arguments)
        if key not in self._choices:
            alternatives, weights = choices(*arguments)
            self._choices[key] = alternatives, list(accumulate(weights))
        alternatives, sums = self._choices[key]
        return rng.choices(alternatives, cum_weights=sums)[0]

    def _leaf_weights(self, length: int, k: int) -> List[float]:
        """Probability of just k given symbols at 0, 1, 2, ... leaves."""
        sequences = self._sequences_of(k)
        return [p * sequences.count(n) for n, p in enumerate(self._operand(None, length))]

    def _leaf_choices(self, length: int, k: int) -> _Weighted:
        weights = self._leaf_weights(length, k)
        return [*range(len(weights))], weights

    def _root_choices(self, size: int, leaves: int, place: _Place) -> _Weighted:
        rows = self._rows(place, size)
        return list(rows), [row[leaves] for row in rows.values()]

    def _split_choices(self, size: int, leaves: int, root: str) -> _Weighted:
        """Lengths and numbers of symbol leaves of the left operand."""
        splits, weights = [], []
        for length in range(1, size - 1):
            left = self._operand((root, 0), length)
            right = self._operand((root, 1), size - 1 - length)
            for n in range(max(0, leaves - len(right) + 1), min(leaves, len(left) - 1) + 1):
                splits.append((length, n))
                weights.append(left[n] * right[leaves - n])
        return splits, weights

    def _operand(self, place: _Place, length: int) -> List[float]:
        """Probability of 0, 1, 2, ... symbol leaves in a formula that may be at a place."""
        return [sum(column) for column in zip(*self._rows(place, length).values())]

    def _rows(self, place: _Place, length: int) -> Dict[str, List[float]]:
        """The part of the table of a length that may be at a place."""
        while len(self._tables) <= length:
            self._tables.append(self._next_table(len(self._tables)))
        forbidden = self._forbidden.get(place, ())
        return {root: row for root, row in self._tables[length].items() if root not in forbidden}

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
                    first = self._operand((operator, 0), left)
                    second = self._operand((operator, 1), size - 1 - left)
                    _add_products(row, share, first, second)
            table[operator] = row
        return table


def _add_products(row: List[float], share: float, first: List[float], second: List[float]) -> None:
    """Adds to the probability of each number of leaves that of two operands having so many together."""
    for n, p in enumerate(first):
        for m, q in enumerate(second):
            row[n + m] += share * p * q
