"""Answers to many problems at once, in processes that can be stopped."""

from typing import Callable, NamedTuple, Optional

from sit_fairseq.judging.workers import End, WorkerPool

# GiB that a labelling process may allocate.
_MEMORY = 4.0


class Label(NamedTuple):
    """The text of an answer, empty if there is none; ``fault`` says why it is of no use:
    ``timeout``, ``error`` or what a domain says."""

    target: str
    fault: Optional[str] = None

    @property
    def stopped(self) -> bool:
        """Whether labelling was given up, so that nothing is known of the problem."""
        return self.fault in ("timeout", "error")


# Finds an answer to a problem; picklable.
Labeller = Callable[[str], Label]


class LabelPool(WorkerPool):
    """Labels problems in parallel; one that takes more than ``timeout`` s costs only itself."""

    unfinished = {End.timeout: Label("", "timeout"), End.crash: Label("", "error")}

    def __init__(self, labeller: Labeller, workers: int, timeout: float) -> None:
        super().__init__(labeller, workers, timeout, _MEMORY)
