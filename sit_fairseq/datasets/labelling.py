"""Labelling many temporal formulas at once, in processes that can be stopped."""

from contextlib import closing
from typing import Iterable, Iterator, NamedTuple, Optional, Tuple

from sit_fairseq.domains.ltl.spot_judge import spot_installed, spot_trace
from sit_fairseq.domains.ltl.tableau import depth_first_trace
from sit_fairseq.judging.workers import End, WorkerPool

# GiB that a labelling process may allocate.
_MEMORY = 4.0

# What is said of a formula that was not labelled to the end.
_STOPPED = {End.timeout: "timeout", End.crash: "error"}


class Label(NamedTuple):
    """What came of labelling a formula.

    Attributes:
        target: the text of the answer, empty if there is none.
        fault: why it is of no use: ``timeout``, ``error``, ``unsatisfiable`` or, as LTLRandom35 has
            no such traces, ``zero_in_trace``; None for a label of use.
    """

    target: str
    fault: Optional[str]

    @property
    def stopped(self) -> bool:
        """Whether labelling was given up, so that nothing is known of the formula."""
        return self.fault in _STOPPED.values()


class SpotLabeller:
    """Finds the text of a trace for a formula, empty if the formula is unsatisfiable.

    Args:
        depth_first: label by :func:`~sit_fairseq.domains.ltl.tableau.depth_first_trace`, and by Spot only
            the few formulas for which that finds no trace.
    """

    def __init__(self, depth_first: bool = False) -> None:
        self.depth_first = depth_first
        spot_installed()  # a worker loads it before the time of its first item is taken

    def __reduce__(self) -> Tuple:
        return SpotLabeller, (self.depth_first,)

    def __call__(self, formula: str) -> str:
        tokens = formula.split()
        trace = depth_first_trace(tokens) if self.depth_first else None
        if trace is None:
            trace = spot_trace(tokens)
        return "" if trace is None else " ".join(trace.tokens)


class LabelPool(WorkerPool):
    """Labels formulas in parallel; one that takes more than ``timeout`` s costs only itself."""

    def __init__(self, labeller: SpotLabeller, workers: int, timeout: float) -> None:
        super().__init__(labeller, workers, timeout, _MEMORY)

    def labels(self, formulas: Iterable[str]) -> Iterator[Label]:
        """Yields the label of each well-formed formula in prefix notation, in order."""
        with closing(self.imap(formulas)) as outcomes:
            for end, trace, _ in outcomes:
                if end is not End.result:
                    yield Label("", _STOPPED[end])
                elif not trace:
                    yield Label("", "unsatisfiable")
                else:
                    yield Label(trace, "zero_in_trace" if "0" in trace.split() else None)
