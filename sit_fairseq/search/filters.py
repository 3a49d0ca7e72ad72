"""Filters: what keeps a search to the answers that are asked for.

Shapes: H hypotheses, V columns of canonical ids.
"""

import math
from typing import Protocol

from torch import Tensor


class Filter(Protocol):
    """Masks tokens. It holds a row for each hypothesis."""

    def __call__(self, step: int, log_probs: Tensor) -> None:
        """Sets, in (H, V) log-probabilities, to -inf what no answer has at a step, from 0."""

    def follow(self, parents: Tensor, columns: Tensor) -> None:
        """Goes on with the rows ``parents``, each after one more token; both have (H',)."""


class Prefixes:
    """Answers begin with given tokens.

    Args:
        tokens: (H, P) canonical ids, padded on the right with ``pad``.
    """

    def __init__(self, tokens: Tensor, pad: int) -> None:
        self._tokens, self._pad = tokens, pad

    def __call__(self, step: int, log_probs: Tensor) -> None:
        """Leaves the given token, where there is one."""
        if step < self._tokens.size(1):
            given = self._tokens[:, step : step + 1]
            kept = log_probs.gather(1, given)
            log_probs.masked_fill_(given.ne(self._pad), -math.inf).scatter_(1, given, kept)

    def follow(self, parents: Tensor, columns: Tensor) -> None:
        self._tokens = self._tokens[parents]


class Lengths:
    """Answers have at least and at most so many tokens, (H,) each, without ``</s>``. The last filter:
    a shorter answer may end where nothing else can follow."""

    def __init__(self, least: Tensor, most: Tensor, eos: int) -> None:
        self._least, self._most, self._eos = least, most, eos

    def __call__(self, step: int, log_probs: Tensor) -> None:
        """Leaves ``</s>`` alone, or all but it."""
        end = log_probs[:, self._eos].clone()
        full = step >= self._most
        log_probs[:, self._eos] = -math.inf
        log_probs.masked_fill_(full.unsqueeze(1), -math.inf)
        short = (step < self._least) & (log_probs.amax(1) > -math.inf)
        log_probs[:, self._eos] = end.masked_fill(short, -math.inf)

    def follow(self, parents: Tensor, columns: Tensor) -> None:
        self._least, self._most = self._least[parents], self._most[parents]
