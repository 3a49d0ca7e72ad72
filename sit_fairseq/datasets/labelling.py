"""Answers to many problems at once, in processes that can be stopped."""

from typing import Callable, Iterable, Iterator, NamedTuple, Optional

from sit_fairseq.judging.workers import End, WorkerPool

# GiB that a labelling process may allocate.
_MEMORY = 4.0

# What is said of a problem that was not labelled to the end.
_STOPPED = {End.timeout: "timeout", End.crash: "error"}


class Label(NamedTuple):
    """The text of an answer, empty if there is none; ``fault`` says why it is of no use:
    ``timeout``, ``error`` or what a domain says."""

    target: str
    fault: Optional[str] = None

    @property
    def stopped(self) -> bool:
        """Whether labelling was given up, so that nothing is known of the problem."""
        return self.fault in _STOPPED.values()


# Finds an answer to a problem; picklable.
Labeller = Callable[[str], Label]


class LabelPool(WorkerPool):
    """Labels problems in parallel; one that takes more than ``timeout`` s costs only itself."""

    def __init__(self, labeller: Labeller, workers: int, timeout: float) -> None:
        super().__init__(labeller, workers, timeout, _MEMORY)

    def labels(self, problems: Iterable[str]) -> Iterator[Label]:
        """Yields the label of each problem, in order."""
        for end, label, _ in self.imap(problems):
            yield label if end is End.result else Label("", _STOPPED[end])
