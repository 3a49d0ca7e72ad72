"""Calling a function on many items at once, in processes that can be stopped."""

import logging
import multiprocessing
import resource
import signal
import time
from collections import deque
from enum import Enum
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, Callable, Deque, Dict, Iterable, Iterator, List, NamedTuple, Optional, Type

from sit_fairseq.judging.orphans import end_worker_with_parent

logger = logging.getLogger(__name__)

# Most items sent to a worker at once: a fast function is not to wait for its parent.
_MAX_BATCH = 64

# Workers are forked from a server process rather than from the parent: the parent may
# hold locks of torch or CUDA threads, which a forked child would wait for for ever, and
# a sibling's end of a pipe, which would hide that the parent has gone. The server
# imports this package once (fairseq and torch take seconds), so that a worker, also one
# that replaces a stopped one, starts in a fraction of a second. It takes the place of
# `spawn`, which would pay for the import each time.
_context = multiprocessing.get_context("forkserver")


class End(Enum):
    """How the work on an item ended."""

    result = "result"
    timeout = "timeout"
    crash = "crash"


class Outcome(NamedTuple):
    """What became of an item.

    Attributes:
        end: how the work on it ended.
        value: what the function returned, None without a result.
        seconds: how long the function worked on it, or was given until it was stopped.
    """

    end: End
    value: Any
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


def _call(function: Callable[[Any], Any], item: Any) -> Outcome:
    started = time.monotonic()
    value = function(item)
    return Outcome(End.result, value, time.monotonic() - started)


def _serve(connection: Connection, function: Callable[[Any], Any], memory: float) -> None:
    """Answers batches of items with one outcome at a time, until the parent has gone."""
    end_worker_with_parent()  # also in the middle of an item, which may take for ever
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's to handle
    _limit_memory(memory)
    connection.send(None)  # ready: only from now on do time-outs count
    while True:
        try:
            batch = connection.recv()
        except EOFError:
            return
        for item in batch:
            try:
                outcome = _call(function, item)
            except MemoryError:
                return  # the parent sees that, and starts a process that has memory
            connection.send(outcome)


class _Worker:
    """A process with the items it has been given and not yet answered.

    Attributes:
        connection: the parent's end of its pipe.
        pending: indices of those items, the one it is working on first.
        deadline: when that one is overdue, on the monotonic clock.
    """

    def __init__(self, function: Callable[[Any], Any], memory: float) -> None:
        self.connection, child = _context.Pipe()
        self.pending: Deque[int] = deque()
        self.deadline = 0.0
        self._process = _context.Process(target=_serve, args=(child, function, memory), daemon=True)
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
            raise RuntimeError("a worker process ended before it was ready; see its message above")

    @property
    def alive(self) -> bool:
        """Whether the process is running."""
        return self._process.is_alive()

    def stop(self) -> None:
        """Ends the process, whatever it is doing."""
        self._process.kill()
        self._process.join()
        self.connection.close()


class WorkerPool:
    """Calls a function on items in parallel; an item it hangs or crashes on costs only itself.

    Use it as a context manager, or close it. Workers start with the first items.

    Args:
        function: takes one item; it and the items can be pickled.
        workers: number of processes; 0 calls it in this process, where nothing can be timed
            out and what it raises is the caller's.
        timeout: seconds after which an item is given up.
        memory: GiB that each process may allocate once it has started. An item that needs
            more is a crash, and costs the process; 0 workers have no limit.
        show: what a warning says of an item.
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        workers: int,
        timeout: float,
        memory: float,
        show: Callable[[Any], str] = str,
    ) -> None:
        self._function = function
        self._n_workers = workers
        self._timeout = timeout
        self._memory = memory
        self._show = show
        self._workers: List[_Worker] = []

    def __enter__(self) -> "WorkerPool":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def start(self) -> None:
        """Starts the workers, which else the first items do, and waits until they are ready."""
        self._start(self._n_workers)

    def close(self) -> None:
        """Ends the workers; the pool can be used again and then starts new ones."""
        for worker in self._workers:
            worker.stop()
        self._workers = []

    def imap(self, items: Iterable[Any]) -> Iterator[Outcome]:
        """Works on items and yields each outcome as soon as those before it are known.

        Args:
            items: arguments of the function.

        Yields:
            One outcome for each, in order.
        """
        items = list(items)
        if not self._n_workers:
            for item in items:
                yield _call(self._function, item)
            return
        try:
            yield from self._run(items)
        finally:
            if any(worker.pending for worker in self._workers):  # abandoned half-way
                self.close()

    def _run(self, items: List[Any]) -> Iterator[Outcome]:
        """Yields the outcomes of items, keeping every worker busy."""
        todo = deque(range(len(items)))
        done: Dict[int, Outcome] = {}
        for index in range(len(items)):
            while index not in done:
                self._feed(items, todo)
                self._collect(items, done, todo)
            yield done.pop(index)

    def _start(self, number: int) -> None:
        """Makes sure that there are at least so many workers."""
        missing = number - len(self._workers)
        if missing > 0:
            # Effective unless a fork server is running already, which then lacks the
            # modules: slower, not wrong.
            _context.set_forkserver_preload([__name__])
            started = [_Worker(self._function, self._memory) for _ in range(missing)]
            self._workers += started
            for worker in started:
                worker.await_ready()

    def _feed(self, items: List[Any], todo: Deque[int]) -> None:
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

    def _collect(self, items: List[Any], done: Dict[int, Outcome], todo: Deque[int]) -> None:
        """Waits for something to happen and takes note of it."""
        busy = [worker for worker in self._workers if worker.pending]
        patience = max(0.0, min(worker.deadline for worker in busy) - time.monotonic())
        ready = wait([worker.connection for worker in busy], patience)
        for position, worker in enumerate(self._workers):
            if worker.connection in ready:
                try:
                    outcome = worker.connection.recv()
                except (EOFError, OSError):  # the process died on this item
                    logger.warning(
                        "a worker process ended, maybe for want of memory (limit %g GiB), on: %s",
                        self._memory,
                        self._show(items[worker.pending[0]]),
                    )
                    self._give_up(position, End.crash, done, todo)
                else:
                    done[worker.pending.popleft()] = outcome
                    worker.deadline = time.monotonic() + self._timeout
            elif worker.pending and time.monotonic() >= worker.deadline:
                self._give_up(position, End.timeout, done, todo)

    def _give_up(self, position: int, end: End, done: Dict[int, Outcome], todo: Deque[int]) -> None:
        """Settles the item a worker failed on and takes the rest of its share back."""
        worker = self._workers[position]
        seconds = time.monotonic() - (worker.deadline - self._timeout)
        done[worker.pending.popleft()] = Outcome(end, None, seconds)
        todo.extendleft(reversed(worker.pending))
        self._replace(position)

    def _replace(self, position: int) -> _Worker:
        """Stops a worker and starts another in its place."""
        self._workers[position].stop()
        worker = _Worker(self._function, self._memory)
        self._workers[position] = worker
        worker.await_ready()
        return worker
