"""Random strings and formulas of a given length and number of symbols.

Drawing until both happen to be right takes for ever where that is rare. Here the number of ways, or
the probability of all the trees, is summed up first and one of them drawn after that: nothing is
rejected, and the distribution is exactly the conditional one.
"""

from abc import ABC, abstractmethod
from itertools import accumulate
from math import comb
from random import Random
from typing import Dict, List, Sequence


class SymbolSequences:
    """Sequences in which each of k symbols occurs, all with equal probability."""

    def __init__(self, k: int) -> None:
        self._k = k
        # For each length the number of sequences that have all of the missing symbols among the
        # k, by the number of missing symbols.
        self._ways = [[1] + [0] * k]

    def count(self, length: int) -> int:
        """Number of the sequences of a length."""
        k = self._k
        while len(self._ways) <= length:
            old = self._ways[-1]
            self._ways.append(
                [k * old[0], *(m * old[m - 1] + (k - m) * old[m] for m in range(1, k + 1))]
            )
        return self._ways[length][k]

    def draw(self, rng: Random, length: int, symbols: Sequence[str]) -> List[str]:
        """Draws a sequence of the k symbols, which is at least as long."""
        self.count(length)
        used: List[str] = []
        missing = list(symbols)
        tokens = []
        for rest in range(length, 0, -1):
            m = len(missing)
            new = m * self._ways[rest - 1][m - 1]  # if the first of the rest is a missing symbol
            if rng.random() < new / self._ways[rest][m]:  # of huge integers
                index = int(rng.random() * m)
                missing[index], missing[-1] = missing[-1], missing[index]
                used.append(missing.pop())
                tokens.append(used[-1])
            else:
                tokens.append(used[int(rng.random() * len(used))])
        return tokens


class Sampler(ABC):
    """Random formulas or strings over symbols, given their length and the symbols that occur."""

    def __init__(self, symbols: Sequence[str]) -> None:
        self.symbols = list(symbols)
        self._sequences: Dict[int, SymbolSequences] = {}

    @abstractmethod
    def share(self, length: int, k: int) -> float:
        """Probability that any k different symbols occur in a sample of a length."""

    @abstractmethod
    def draw(self, rng: Random, length: int, symbols: Sequence[str]) -> List[str]:
        """Draws a sample, of a length that is possible, with exactly the given symbols."""

    def _sequences_of(self, k: int) -> SymbolSequences:
        return self._sequences.setdefault(k, SymbolSequences(k))


class StringSampler(Sampler):
    """Strings whose tokens are uniform."""

    def share(self, length: int, k: int) -> float:
        n = len(self.symbols)
        return comb(n, k) * self._sequences_of(k).count(length) / n**length  # of huge integers

    def draw(self, rng: Random, length: int, symbols: Sequence[str]) -> List[str]:
        return self._sequences_of(len(symbols)).draw(rng, length, symbols)


class SymbolRangeSampler:
    """The samples of a sampler that have ``fewest`` to ``most`` different symbols."""

    def __init__(self, sampler: Sampler, fewest: int, most: int) -> None:
        self._sampler = sampler
        self._numbers = range(fewest, most + 1)
        self._sums: Dict[int, List[float]] = {}

    def feasible(self, length: int) -> bool:
        """Whether there are samples of a length."""
        return self._weights(length)[-1] > 0

    def draw(self, rng: Random, length: int) -> List[str]:
        """Draws the tokens of a sample of a feasible length."""
        (k,) = rng.choices(self._numbers, cum_weights=self._weights(length))
        return self._sampler.draw(rng, length, rng.sample(self._sampler.symbols, k))

    def _weights(self, length: int) -> List[float]:
        """The probabilities of the numbers in the range, summed up one after the other."""
        if length not in self._sums:
            shares = (self._sampler.share(length, k) for k in self._numbers)
            self._sums[length] = list(accumulate(shares))
        return self._sums[length]
