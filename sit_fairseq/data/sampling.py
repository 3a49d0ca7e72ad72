"""Random strings and formulas of which length and number of symbols are given.

Drawing until both happen to be right takes for ever where that is rare. Here the number of
ways, or the probability of all the trees, is summed up first and one of them drawn after
that: nothing is rejected, and the distribution is exactly the conditional one.
"""

from bisect import bisect
from itertools import accumulate
from math import comb
from random import Random
from typing import Collection, Dict, Hashable, List, Mapping, Sequence, Tuple, Union

from sit_fairseq.logic.syntax import ARITY, CONSTANTS

# The time for the tables of the sampler grows with the fourth power of the length.
LONGEST_FORMULA = 100

# Where a formula has a symbol, as long as nobody has said which one.
_SYMBOL = ""


class SymbolSequences:
    """Sequences in which each of k symbols occurs, all with equal probability.

    Args:
        k: number of symbols.
    """

    def __init__(self, k: int) -> None:
        self._k = k
        # How many sequences of some length have all of those of the k symbols that still
        # are missing, by their number; for the longest length that was asked for.
        self._ways = [1] + [0] * k
        self._counts = [self._ways[k]]
        # Probability that the first of so many tokens is one of so many missing symbols.
        self._chances: List[List[float]] = [[]]

    def count(self, length: int) -> int:
        """Number of the sequences of a length."""
        self._extend(length)
        return self._counts[length]

    def draw(self, rng: Random, length: int, symbols: Sequence[str]) -> List[str]:
        """Draws a sequence.

        Args:
            rng: the source of randomness.
            length: number of tokens, at least as many as there are symbols.
            symbols: the k symbols.

        Returns:
            The tokens.
        """
        self._extend(length)
        used: List[str] = []
        missing = list(symbols)
        tokens = []
        for rest in range(length, 0, -1):
            if rng.random() < self._chances[rest][len(missing)]:
                index = int(rng.random() * len(missing))
                missing[index], missing[-1] = missing[-1], missing[index]
                used.append(missing.pop())
                tokens.append(used[-1])
            else:
                tokens.append(used[int(rng.random() * len(used))])
        return tokens

    def _extend(self, length: int) -> None:
        while len(self._counts) <= length:
            old, ways, chances = self._ways, [], []
            for missing in range(self._k + 1):
                new = missing * old[missing - 1] if missing else 0
                ways.append(new + (self._k - missing) * old[missing])
                # Of huge integers; there are no ways if more are missing than can come.
                chances.append(new / ways[-1] if ways[-1] else 0.0)
            self._ways = ways
            self._counts.append(ways[self._k])
            self._chances.append(chances)


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


class StringSampler:
    """Random strings, given their length and which symbols occur.

    Drawn is from the strings of which each token is one of n symbols with equal probability.

    Args:
        n_symbols: the n symbols of the unconditional distribution.
    """

    def __init__(self, n_symbols: int) -> None:
        self._n_symbols = n_symbols
        self._sequences: Dict[int, SymbolSequences] = {}

    def share(self, length: int, k: int) -> float:
        """Probability that any k different symbols occur in a string of a length."""
        n = self._n_symbols
        return comb(n, k) * self._of(k).count(length) / n**length  # of huge integers

    def draw(self, rng: Random, length: int, symbols: Sequence[str]) -> List[str]:
        """Draws a string, at least as long as there are symbols, in which just these occur."""
        return self._of(len(symbols)).draw(rng, length, symbols)

    def _of(self, k: int) -> SymbolSequences:
        return self._sequences.setdefault(k, SymbolSequences(k))


class SymbolRangeSampler:
    """Random formulas or strings, given their length and how many different symbols they have.

    Drawn is from the distribution of the sampler under the condition that the number of
    different symbols lies in a range; which ones they are is all the same.

    Args:
        sampler: a sampler of formulas or of strings.
        symbols: its n symbols.
        fewest: fewest of them in a sample.
        most: most of them.
    """

    def __init__(
        self,
        sampler: Union[FormulaSampler, StringSampler],
        symbols: Sequence[str],
        fewest: int,
        most: int,
    ) -> None:
        self._sampler = sampler
        self._symbols = list(symbols)
        self._range = range(fewest, most + 1)
        self._sums: Dict[int, List[float]] = {}

    def feasible(self, length: int) -> bool:
        """Whether there are samples of a length."""
        return self._weights(length)[-1] > 0

    def draw(self, rng: Random, length: int) -> List[str]:
        """Draws a sample.

        Args:
            rng: the source of randomness.
            length: number of tokens, such that the sample is feasible.

        Returns:
            The tokens.
        """
        (k,) = rng.choices(self._range, cum_weights=self._weights(length))
        return self._sampler.draw(rng, length, rng.sample(self._symbols, k))

    def _weights(self, length: int) -> List[float]:
        """Probabilities of the numbers in the range, summed up one after the other."""
        if length not in self._sums:
            shares = (self._sampler.share(length, k) for k in self._range)
            self._sums[length] = list(accumulate(shares))
        return self._sums[length]
