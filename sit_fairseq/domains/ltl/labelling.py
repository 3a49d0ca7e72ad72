"""Traces of formulas, found in processes that can be stopped."""

from typing import Tuple

from sit_fairseq.datasets.labelling import Label
from sit_fairseq.domains.ltl.spot_judge import spot_installed, spot_trace
from sit_fairseq.domains.ltl.tableau import depth_first_trace


class SpotLabeller:
    """Finds a trace for a formula. As LTLRandom35 has none with ``0``, such a trace is a fault.

    Args:
        depth_first: label by :func:`~sit_fairseq.domains.ltl.tableau.depth_first_trace`, and by
            Spot only the few formulas for which that finds no trace.
    """

    def __init__(self, depth_first: bool = False) -> None:
        self.depth_first = depth_first

    def __reduce__(self) -> Tuple:
        return _with_spot, (self.depth_first,)

    def __call__(self, formula: str) -> Label:
        tokens = formula.split()
        trace = depth_first_trace(tokens) if self.depth_first else None
        if trace is None:
            trace = spot_trace(tokens)
        if trace is None:
            return Label("", "unsatisfiable")
        return Label(" ".join(trace.tokens), "zero_in_trace" if "0" in trace.tokens else None)


def _with_spot(depth_first: bool) -> SpotLabeller:
    spot_installed()  # a worker loads it before the time of its first item is taken
    return SpotLabeller(depth_first)
