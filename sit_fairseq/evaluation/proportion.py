"""Shares of a sample, with how much they can be trusted."""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Dict, Tuple

_Z = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True)
class Proportion:
    """``count`` successes of ``total`` trials."""

    count: int
    total: int

    @property
    def share(self) -> float:
        """The share of successes, 0 if nothing was tried."""
        return self.count / self.total if self.total else 0.0

    def interval(self) -> Tuple[float, float]:
        """The 95 % interval of Wilson (1927); from 0 to 1 if nothing was tried."""
        if not self.total:
            return 0.0, 1.0
        weight = _Z**2 / self.total
        center = (self.share + weight / 2) / (1 + weight)
        variance = self.share * (1 - self.share) / self.total + weight / (4 * self.total)
        margin = _Z / (1 + weight) * math.sqrt(variance)
        return max(0.0, center - margin), min(1.0, center + margin)

    def as_json(self) -> Dict[str, Any]:
        """The numbers for a result file."""
        return {
            "count": self.count,
            "total": self.total,
            "share": self.share,
            "interval_95": list(self.interval()),
        }

    def __str__(self) -> str:
        if not self.total:
            return "no samples"
        low, high = self.interval()
        return f"{100 * self.share:.2f} % [{100 * low:.2f}, {100 * high:.2f}]"
