"""Judging many answers at once, in processes that can be stopped."""

import logging
import multiprocessing
import resource
import signal
import time
from collections import deque
from contextlib import closing
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Deque, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple, Type, Union

from sit_fairseq.judging.judge import Judge, make_judge
from sit_fairseq.judging.verdict import Verdict

logger = logging.getLogger(__name__)

# A problem and the answer to it.
Pair = Tuple[str, str]

# Most items sent to a worker at once: a fast judge is not to wait for its parent.
_MAX_BATCH = 64

# Workers are forked from a server process rather than from the parent: the parent may
# hold locks of torch or CUDA threads, which a forked child would wait for for ever, and
# a sibling's end of a pipe, which would hide that the parent has gone. The server
# imports this package once (fairseq and torch take seconds), so that a worker, also one
# that replaces a stopped one, starts in a fraction of a second. It takes the place of
# `spawn`, which would pay for the import each time.
_context = multiprocessing.get_context("forkserver")


class Judged(NamedTuple):
    """A verdict, and the seconds it took the judge."""

    verdict: Verdict
    seconds: float


def _limit_memory(gib: float) -> None:
    """Limits what this process can allocate from now on: more is a MemoryError or a crash."""
    # Not the address space (RLIMIT_AS), nor all data: libraries of torch have gigabytes of
    # either that they never touch, and how many depends on how it was built.
    try:
        with open("/proc/self/statm") as file:
            own = int(file.read().split()[5]) * resource.getpagesize()
    except OSError:  # not Linux
        own = 0
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = own + int(gib * 2**30)
    soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _serve(connection: Connection, judge: Judge, memory: float) -> None:
    """Answers batches of pairs with one verdict at a time, until the parent has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's to handle
    _limit_memory(memory)
    connection.send(None)  # ready: only from now on do time-outs count
    while True:
        try:
            batch = connection.recv()
        except EOFError:
            return
        for problem, answer in batch:
            started = time.monotonic()
            try:
                verdict = judge.verify(problem, answer)
            except MemoryError:
                return  # the parent sees that, and starts a process that has memory
            connection.send(Judged(verdict, time.monotonic() - started))


class _Worker:
    """A process with the items it has been given and not yet answered.

    Attributes:
        connection: the parent's end of its pipe.
        pending: indices of those items, the one it is working on first.
        deadline: when that one is overdue, on the monotonic clock.
    """

    def __init__(self, judge: Judge, memory: float) -> None:
        self.connection, child = _context.Pipe()
        self.pending: Deque[int] = deque()
        self.deadline = 0.0
        self._process = _context.Process(target=_serve, args=(child, judge, memory), daemon=True)
        self._process.start()
        child.close()

    def await_ready(self) -> None:
        """Waits until the process has started.

        Raises:
            RuntimeError: it ended instead.
        """
        try:
            self.connection.recv()
        except (EOFError, OSError):
            raise RuntimeError("a judge process ended before it was ready; see its message above")

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return self._process.is_alive()

    def stop(self) -> None:
        """Ends the process, whatever it is doing."""
        self._process.kill()
        self._process.join()
        self.connection.close()


class JudgePool:
    """Judges pairs in parallel; one that hangs or crashes the judge costs only itself.

    Use it as a context manager. Workers start with the first pairs.

    Args:
        semantics: what problems and answers mean, e.g. ``prop``.
        judge: the name of a judge for it, None for the first one, or a picklable judge.
        workers: number of processes; 0 judges in this process, where nothing can be
            timed out and an exception of the judge is the caller's. None is 0 for a
            judge that is always quick, and 2 for others.
        timeout: seconds after which an item is given up.
        memory: GiB that each process may allocate once it has started. An item that needs
            more is an error, and costs the process; 0 workers have no limit.
    """

    def __init__(
        self,
        semantics: str,
        judge: Union[str, Judge, None] = None,
        workers: Optional[int] = None,
        timeout: float = 30.0,
        memory: float = 4.0,
    ) -> None:
        self._judge = judge if isinstance(judge, Judge) else make_judge(semantics, judge)
        self._n_workers = (0 if self._judge.quick else 2) if workers is None else workers
        self._timeout = timeout
        self._memory = memory
        self._workers: List[_Worker] = []

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
        self._start(self._n_workers)

    def close(self) -> None:
        """Ends the workers; the pool can be used again and then starts new ones."""
        for worker in self._workers:
            worker.stop()
        self._workers = []

    def verify_all(self, pairs: Iterable[Pair]) -> List[Verdict]:
        """Judges pairs.

        Args:
            pairs: problems and answers, as text.

        Returns:
            One verdict for each, in order.
        """
        return list(self.imap(pairs))

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
        items = list(pairs)
        if not self._n_workers:
            for problem, answer in items:
                started = time.monotonic()
                verdict = self._judge.verify(problem, answer)
                yield Judged(verdict, time.monotonic() - started)
            return
        try:
            yield from self._run(items)
        finally:
            if any(worker.pending for worker in self._workers):  # abandoned half-way
                self.close()

    def _run(self, items: List[Pair]) -> Iterator[Judged]:
        """Yields the verdicts of items, keeping every worker busy."""
        todo = deque(range(len(items)))
        judged: Dict[int, Judged] = {}
        for index in range(len(items)):
            while index not in judged:
                self._feed(items, todo)
                self._collect(items, judged, todo)
            yield judged.pop(index)

    def _start(self, number: int) -> None:
        """Makes sure that there are at least so many workers."""
        missing = number - len(self._workers)
        if missing > 0:
            # Effective unless a fork server is running already, which then lacks the
            # modules: slower, not wrong.
            _context.set_forkserver_preload([__name__])
            started = [_Worker(self._judge, self._memory) for _ in range(missing)]
            self._workers += started
            for worker in started:
                worker.await_ready()

    def _feed(self, items: List[Pair], todo: Deque[int]) -> None:
        """Gives every idle worker a share of what is left to do."""
        self._start(min(self._n_workers, len(todo)))
        for position, worker in enumerate(self._workers):
            if worker.pending or not todo:
                continue
            if not worker.alive:  # killed from outside while it had nothing to do
                worker = self._replace(position)
            # Shares shrink towards the end, so that no worker is left with a long one.
            size = min(_MAX_BATCH, 1 + len(todo) // (4 * self._n_workers))
            worker.pending.extend(todo.popleft() for _ in range(min(size, len(todo))))
            worker.connection.send([items[index] for index in worker.pending])
            worker.deadline = time.monotonic() + self._timeout

    def _collect(self, items: List[Pair], judged: Dict[int, Judged], todo: Deque[int]) -> None:
        """Waits for something to happen and takes note of it."""
        busy = [worker for worker in self._workers if worker.pending]
        patience = max(0.0, min(worker.deadline for worker in busy) - time.monotonic())
        ready = wait([worker.connection for worker in busy], patience)
        for position, worker in enumerate(self._workers):
            if worker.connection in ready:
                try:
                    result = worker.connection.recv()
                except (EOFError, OSError):  # the process died on this item
                    logger.warning(
                        "a judge process ended, maybe for want of memory (limit %g GiB), on: %s",
                        self._memory,
                        items[worker.pending[0]][0],
                    )
                    self._give_up(position, Verdict.error, judged, todo)
                else:
                    judged[worker.pending.popleft()] = result
                    worker.deadline = time.monotonic() + self._timeout
            elif worker.pending and time.monotonic() >= worker.deadline:
                self._give_up(position, Verdict.timeout, judged, todo)

    def _give_up(
        self, position: int, verdict: Verdict, judged: Dict[int, Judged], todo: Deque[int]
    ) -> None:
        """Settles the item a worker failed on and takes the rest of its share back."""
        worker = self._workers[position]
        seconds = time.monotonic() - (worker.deadline - self._timeout)
        judged[worker.pending.popleft()] = Judged(verdict, seconds)
        todo.extendleft(reversed(worker.pending))
        self._replace(position)

    def _replace(self, position: int) -> _Worker:
        """Stops a worker and starts another in its place."""
        self._workers[position].stop()
        worker = _Worker(self._judge, self._memory)
        self._workers[position] = worker
        worker.await_ready()
        return worker
