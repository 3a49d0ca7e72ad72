"""Judging many answers at once, in processes that can be stopped."""

import multiprocessing
import signal
import time
from collections import deque
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Deque, Dict, Iterable, Iterator, List, Optional, Tuple, Type, Union

from sit_fairseq.validation.judge import Judge, make_judge
from sit_fairseq.validation.verdict import Verdict

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


def _serve(connection: Connection, judge: Judge) -> None:
    """Answers batches of pairs with one verdict at a time, until the parent has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's to handle
    connection.send(None)  # ready: only from now on do time-outs count
    while True:
        try:
            batch = connection.recv()
        except EOFError:
            return
        for problem, answer in batch:
            connection.send(judge.verify(problem, answer))


class _Worker:
    """A process with the items it has been given and not yet answered.

    Attributes:
        connection: the parent's end of its pipe.
        pending: indices of those items, the one it is working on first.
        deadline: when that one is overdue, on the monotonic clock.
    """

    def __init__(self, judge: Judge) -> None:
        self.connection, child = _context.Pipe()
        self.pending: Deque[int] = deque()
        self.deadline = 0.0
        self._process = _context.Process(target=_serve, args=(child, judge), daemon=True)
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
    """

    def __init__(
        self,
        semantics: str,
        judge: Union[str, Judge, None] = None,
        workers: Optional[int] = None,
        timeout: float = 30.0,
    ) -> None:
        self._judge = judge if isinstance(judge, Judge) else make_judge(semantics, judge)
        self._n_workers = (0 if self._judge.quick else 2) if workers is None else workers
        self._timeout = timeout
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
        items = list(pairs)
        if not self._n_workers:
            for problem, answer in items:
                yield self._judge.verify(problem, answer)
            return
        try:
            yield from self._run(items)
        finally:
            if any(worker.pending for worker in self._workers):  # abandoned half-way
                self.close()

    def _run(self, items: List[Pair]) -> Iterator[Verdict]:
        """Yields the verdicts of items, keeping every worker busy."""
        todo = deque(range(len(items)))
        verdicts: Dict[int, Verdict] = {}
        for index in range(len(items)):
            while index not in verdicts:
                self._feed(items, todo)
                self._collect(verdicts, todo)
            yield verdicts.pop(index)

    def _feed(self, items: List[Pair], todo: Deque[int]) -> None:
        """Gives every idle worker a share of what is left to do."""
        missing = min(self._n_workers, len(todo)) - len(self._workers)
        if missing > 0:
            # Effective unless a fork server is running already, which then lacks the
            # modules: slower, not wrong.
            _context.set_forkserver_preload([__name__])
            started = [_Worker(self._judge) for _ in range(missing)]
            self._workers += started
            for worker in started:
                worker.await_ready()
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

    def _collect(self, verdicts: Dict[int, Verdict], todo: Deque[int]) -> None:
        """Waits for something to happen and takes note of it."""
        busy = [worker for worker in self._workers if worker.pending]
        patience = max(0.0, min(worker.deadline for worker in busy) - time.monotonic())
        ready = wait([worker.connection for worker in busy], patience)
        for position, worker in enumerate(self._workers):
            if worker.connection in ready:
                try:
                    verdict = worker.connection.recv()
                except (EOFError, OSError):  # the process died on this item
                    self._give_up(position, Verdict.error, verdicts, todo)
                else:
                    verdicts[worker.pending.popleft()] = verdict
                    worker.deadline = time.monotonic() + self._timeout
            elif worker.pending and time.monotonic() >= worker.deadline:
                self._give_up(position, Verdict.timeout, verdicts, todo)

    def _give_up(
        self, position: int, verdict: Verdict, verdicts: Dict[int, Verdict], todo: Deque[int]
    ) -> None:
        """Settles the item a worker failed on and takes the rest of its share back."""
        pending = self._workers[position].pending
        verdicts[pending.popleft()] = verdict
        todo.extendleft(reversed(pending))
        self._replace(position)

    def _replace(self, position: int) -> _Worker:
        """Stops a worker and starts another in its place."""
        self._workers[position].stop()
        worker = _Worker(self._judge)
        self._workers[position] = worker
        worker.await_ready()
        return worker
