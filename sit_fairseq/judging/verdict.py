"""Verdicts of judges on answers: never just yes or no."""

from collections import Counter
from enum import Enum
from typing import Optional


class Verdict(str, Enum):
    """The outcome of judging one answer."""

    satisfied = "satisfied"  # the answer describes something, and all of it satisfies the problem
    violated = "violated"  # the answer can be read and does not guarantee the problem
    vacuous = "vacuous"  # the answer contradicts itself and so describes nothing at all
    invalid = "invalid"  # the answer cannot be read
    timeout = "timeout"  # the judge was stopped before it came to a decision
    error = "error"  # the problem cannot be read, or the judge failed on it
    unavailable = "unavailable"  # a library is missing, or the problem is beyond the judge's limits

    @property
    def decided(self) -> bool:
        """Whether the judge would say the same again, whatever time and libraries it has."""
        return self not in (Verdict.timeout, Verdict.error, Verdict.unavailable)


class VerdictCounts(Counter):
    """How often each verdict was given; every judged item is in the denominator. ``distance`` is
    the sum of the distances from the right answers, None if none was measured."""

    distance: Optional[int] = None

    def add_distance(self, distance: Optional[int]) -> None:
        """Adds what :meth:`~sit_fairseq.judging.judge.Judge.distance` says of an answer."""
        if distance is not None:
            self.distance = (self.distance or 0) + distance

    @property
    def total(self) -> int:
        """Number of verdicts of any kind."""
        return sum(self.values())

    @property
    def correct(self) -> int:
        """Number of right answers: the satisfied ones and no others."""
        return self[Verdict.satisfied]

    def __str__(self) -> str:
        counts = ", ".join(f"{verdict.value} {self[verdict]}" for verdict in Verdict)
        text = f"{self.correct}/{self.total} correct; {counts}"
        if self.distance is not None:
            text += f"; mean edit distance {self.distance / self.total:.4g}"
        return text
