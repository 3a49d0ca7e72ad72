"""Judging many answers at once, in processes that can be stopped."""

from contextlib import closing
from functools import partial
from itertools import islice
from types import TracebackType
from typing import Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Type

from sit_fairseq.judging.judge import Judge
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.judging.workers import End, WorkerPool

# A problem and the answer to it.
Pair = Tuple[str, str]

# The verdict on an item that the judge did not finish.
_UNFINISHED = {End.timeout: Verdict.timeout, End.crash: Verdict.error}


class Judged(NamedTuple):
    """A verdict, and the seconds it took the judge."""

    verdict: Verdict
    seconds: float


def _verify(judge: Judge, pair: Pair) -> Verdict:
    return judge.verify(*pair)


def _problem(pair: Pair) -> str:
    return pair[0]


class JudgePool:
    """Judges pairs in parallel; one that hangs or crashes the judge costs only itself.

    Use it as a context manager, or close it. Workers start with the first pairs.

    Args:
        judge: a picklable judge.
        workers: number of processes; 0 judges in this process, where nothing can be
            timed out and an exception of the judge is the caller's. None is 0 for a
            judge that is always quick, and 2 for others.
        timeout: seconds after which an item is given up.
        memory: GiB that each process may allocate once it has started. An item that needs
            more is an error, and costs the process; 0 workers have no limit.

    Attributes:
        judge: the judge.
    """

    def __init__(
        self,
        judge: Judge,
        workers: Optional[int] = None,
        timeout: float = 30.0,
        memory: float = 4.0,
    ) -> None:
        self.judge = judge
        workers = (0 if judge.quick else 2) if workers is None else workers
        self._pool = WorkerPool(partial(_verify, judge), workers, timeout, memory, _problem)

    def __enter__(self) -> "JudgePool":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def start(self) -> None:
        """Starts the workers, which else the first pairs do, and waits until they are ready."""
        self._pool.start()

    def close(self) -> None:
        """Ends the workers; the pool can be used again and then starts new ones."""
        self._pool.close()

    def verify_all(self, pairs: Iterable[Pair]) -> List[Verdict]:
        """Judges pairs.

        Args:
            pairs: problems and answers, as text.

        Returns:
            One verdict for each, in order.
        """
        return list(self.imap(pairs))

    def verify_answers(
        self, problems: Iterable[str], answers: Sequence[Sequence[str]]
    ) -> List[List[Verdict]]:
        """Judges several answers to each problem.

        Args:
            problems: as text.
            answers: to each of them.

        Returns:
            A verdict on each answer.
        """
        pairs = [(problem, answer) for problem, own in zip(problems, answers) for answer in own]
        judged = iter(self.verify_all(pairs))
        return [list(islice(judged, len(own))) for own in answers]

    def imap(self, pairs: Iterable[Pair]) -> Iterator[Verdict]:
        """Judges pairs and yields each verdict as soon as those before it are known.

        Args:
            pairs: problems and answers, as text.

        Yields:
            One verdict for each, in order.
        """
        with closing(self.imap_timed(pairs)) as judged:
            for verdict, _ in judged:
                yield verdict

    def imap_timed(self, pairs: Iterable[Pair]) -> Iterator[Judged]:
        """As :meth:`imap`, with the seconds that each item took.

        Args:
            pairs: problems and answers, as text.

        Yields:
            For each item in order, its verdict and how long the judge worked on it, or how
            long it was given until it was stopped.
        """
        with closing(self._pool.imap(pairs)) as outcomes:
            for end, verdict, seconds in outcomes:
                yield Judged(_UNFINISHED.get(end, verdict), seconds)
