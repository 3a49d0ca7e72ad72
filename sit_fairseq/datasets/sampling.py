"""Random strings and formulas of which length and number of symbols are given.

Drawing until both happen to be right takes for ever where that is rare. Here the number of
ways, or the probability of all the trees, is summed up first and one of them drawn after
that: nothing is rejected, and the distribution is exactly the conditional one.
"""

from itertools import accumulate
from math import comb
from random import Random
from typing import Dict, List, Protocol, Sequence


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


class Sampler(Protocol):
    """Random formulas or strings, given their length and which symbols occur."""

    def share(self, length: int, k: int) -> float:
        """Probability that any k different symbols occur in a sample of a length."""

    def draw(self, rng: Random, length: int, symbols: Sequence[str]) -> List[str]:
        """Draws a sample in which just these symbols occur."""


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
        sampler: Sampler,
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
