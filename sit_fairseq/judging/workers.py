"""Calls a function on many items at once, in processes that can be stopped.

What was tried: :mod:`concurrent.futures` and :class:`multiprocessing.Pool` cannot stop one item, and
a crash costs the first the whole pool, the second for ever the item. pebble's ``ProcessPool`` can do
both, but starts its processes as :mod:`multiprocessing` does: ``spawn`` and ``forkserver`` run the
caller's script a second time, and ``fork`` copies locks of torch's threads, a context of CUDA and
locked files. So a worker here is an interpreter of its own, which imports what the function needs
and nothing else.
"""

import ctypes
import logging
import math
import os
import resource
import signal
import subprocess
import sys
import time
from collections import deque
from enum import Enum
from itertools import count, islice
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from typing import Any, Callable, Deque, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

logger = logging.getLogger(__name__)

# A worker gets as many items at once as take so many seconds, and no more than so many.
_SHARE_SECONDS, _LARGEST_SHARE = 0.1, 64

_PR_SET_PDEATHSIG = 1

# An item with its number.
_Numbered = Tuple[int, Any]


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


def end_with_parent(number: int = signal.SIGKILL) -> None:
    """Asks Linux to signal this process when the thread that started it ends; others cannot."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)


def _limit_memory(gib: float) -> None:
    """Limits what this process can allocate from now on: more is a MemoryError or a crash."""
    # Not the address space (RLIMIT_AS), nor all data: libraries of torch, which a judge may
    # import, have gigabytes of either that they never touch.
    try:
        with open("/proc/self/statm") as file:
            own = int(file.read().split()[5]) * resource.getpagesize()
    except OSError:  # not Linux
        own = 0
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = own + int(gib * 2**30)
    soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _serve(descriptor: int, parent: int) -> None:
    """Is the worker: answers shares of items, one outcome at a time, until the parent has gone."""
    end_with_parent()  # also in the middle of an item, which may take for ever
    connection = Connection(descriptor)
    function, memory = connection.recv()
    if os.getppid() != parent:
        return
    if memory is not None:
        _limit_memory(memory)
    connection.send(None)  # ready: only from now on does time count
    while True:
        try:
            share = connection.recv()
        except EOFError:
            return
        for item in share:
            started = time.monotonic()
            try:
                value = function(item)
            except MemoryError:
                os._exit(1)  # the parent sees that, and starts a process that has memory
            connection.send((value, time.monotonic() - started))


class _Worker:
    """A process with the items it has been given and not yet answered.

    Attributes:
        process: the process.
        connection: the parent's end of its pipe.
        pending: those items, the one it is working on first.
        deadline: when that one is overdue, on the monotonic clock.
        ready: whether the process has started.
        share: how many items to give it next.
    """

    def __init__(self, function: Callable[[Any], Any], timeout: float, memory: Optional[float]):
        self.connection, child = Pipe()
        self.pending: Deque[_Numbered] = deque()
        self.deadline = math.inf
        self.ready = False
        self.share = 1
        self._timeout = timeout
        self._given = 0
        self._seconds = 0.0
        with child:
            program = (
                f"import sys; sys.path[:] = {[str(place) for place in sys.path]}; "
                f"from {__name__} import _serve; _serve({child.fileno()}, {os.getpid()})"
            )
            self.process = subprocess.Popen(
                [sys.executable, "-c", program],
                pass_fds=[child.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,  # an interrupt is the parent's to handle
            )
        self._send((function, memory))

    def _send(self, message: Any) -> None:
        try:
            self.connection.send(message)
        except BrokenPipeError:
            pass  # receive() says that the process has ended

    def give(self, items: List[_Numbered]) -> None:
        """Gives the idle worker items to work on."""
        self.pending.extend(items)
        self._given, self._seconds = len(items), 0.0
        self._send([item for _, item in items])
        if self.ready:
            self.deadline = time.monotonic() + self._timeout

    def receive(self, done: Dict[int, Outcome]) -> None:
        """Takes note of what the process says.

        Raises:
            EOFError: it has ended.
        """
        try:
            message = self.connection.recv()
        except ConnectionError:
            raise EOFError
        self.deadline = time.monotonic() + self._timeout
        if message is None:
            self.ready = True
            return
        value, seconds = message
        number, _ = self.pending.popleft()
        done[number] = Outcome(End.result, value, seconds)
        self._seconds += seconds
        if not self.pending:
            wanted = int(_SHARE_SECONDS * self._given / max(self._seconds, 1e-9))
            self.share = max(1, min(wanted, _LARGEST_SHARE))

    def stop(self) -> None:
        """Ends the process, whatever it is doing."""
        self.process.kill()
        self.process.wait()
        self.connection.close()


class WorkerPool:
    """Calls a function on items in parallel; an item it hangs or crashes on costs only itself.

    Use it as a context manager, or close it. Workers start with the first items. They find modules
    where this process does, but know nothing of its script: what is pickled must come from modules.
    Without time-outs and limits it draws data, for as long as somebody takes them::

        with WorkerPool(draw_chunk, workers) as pool:
            for chunk in pool.results(itertools.count()):
                ...

    Args:
        function: takes one item; it, the items and what it returns can be pickled.
        workers: number of processes; 0 calls it in this process, where nothing can be timed
            out and what it raises is the caller's.
        timeout: seconds after which an item is given up; None for never.
        memory: GiB that each process may allocate once it has started; None for no limit. An item
            that needs more is a crash, and costs the process; 0 workers have no limit.
        show: what a warning says of an item.
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        workers: int,
        timeout: Optional[float] = None,
        memory: Optional[float] = None,
        show: Callable[[Any], str] = str,
    ) -> None:
        self._function = function
        self._n_workers = workers
        self._timeout = math.inf if timeout is None else timeout
        self._memory = memory
        self._show = show
        self._workers: List[_Worker] = []

    def __enter__(self) -> "WorkerPool":
        return self

    def __exit__(self, *raised: Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends the workers; the pool can be used again and then starts new ones."""
        for worker in self._workers:
            worker.stop()
        self._workers = []

    def imap(self, items: Iterable[Any]) -> Iterator[Outcome]:
        """Works on items and yields each outcome as soon as those before it are known.

        Args:
            items: arguments of the function, possibly without end.

        Yields:
            One outcome for each, in order.

        Raises:
            RuntimeError: no worker can be started.
        """
        if not self._n_workers:
            for item in items:
                started = time.monotonic()
                value = self._function(item)
                yield Outcome(End.result, value, time.monotonic() - started)
            return
        numbered = enumerate(items)
        returned: Deque[_Numbered] = deque()  # by workers that were stopped
        done: Dict[int, Outcome] = {}
        try:
            for number in count():
                self._feed(numbered, returned)
                while number not in done:
                    if not any(worker.pending for worker in self._workers):
                        return
                    self._collect(done, returned)
                    self._feed(numbered, returned)
                yield done.pop(number)
        finally:
            if any(worker.pending for worker in self._workers):  # abandoned half-way
                self.close()

    def results(self, items: Iterable[Any]) -> Iterator[Any]:
        """Like :meth:`imap`, for a function that is to return a result for every item.

        Args:
            items: arguments of the function, possibly without end.

        Yields:
            What the function returns for each, in order.

        Raises:
            RuntimeError: an item crashed its worker or took too long.
        """
        for number, outcome in enumerate(self.imap(items)):
            if outcome.end is not End.result:
                raise RuntimeError(f"item {number} ended with a {outcome.end.value}; see above")
            yield outcome.value

    def _feed(self, items: Iterator[_Numbered], returned: Deque[_Numbered]) -> None:
        """Gives every idle worker a share of what is left to do."""
        for place in range(self._n_workers):
            new = place == len(self._workers)
            if not new and self._workers[place].pending:
                continue
            size = 1 if new else self._workers[place].share
            share = [returned.popleft() for _ in range(min(size, len(returned)))]
            share = share or list(islice(items, size))
            if not share:
                return
            if new:
                self._workers.append(self._new_worker())
            elif (
                self._workers[place].process.poll() is not None
            ):  # killed from outside while it was idle
                self._replace(place)
            self._workers[place].give(share)

    def _collect(self, done: Dict[int, Outcome], returned: Deque[_Numbered]) -> None:
        """Waits for a worker to say something, to end or to be overdue."""
        busy = [worker for worker in self._workers if worker.pending]
        patience = min(worker.deadline for worker in busy) - time.monotonic()
        ready = wait(
            [worker.connection for worker in busy],
            None if patience == math.inf else max(0.0, patience),
        )
        for place, worker in enumerate(self._workers):
            try:
                if worker.connection in ready:
                    worker.receive(done)
                elif worker.pending and time.monotonic() >= worker.deadline:
                    self._give_up(place, End.timeout, done, returned)
            except EOFError:
                if not worker.ready:
                    raise RuntimeError("a worker process could not start; see its message above")
                limit = "" if self._memory is None else f" (limit {self._memory:g} GiB)"
                logger.warning(
                    "a worker process ended, maybe for want of memory%s, on: %s",
                    limit,
                    self._show(worker.pending[0][1]),
                )
                self._give_up(place, End.crash, done, returned)

    def _give_up(
        self, place: int, end: End, done: Dict[int, Outcome], returned: Deque[_Numbered]
    ) -> None:
        """Settles the item a worker failed on and takes the rest of its share back."""
        worker = self._workers[place]
        seconds = self._timeout - (worker.deadline - time.monotonic())
        number, _ = worker.pending.popleft()
        done[number] = Outcome(end, None, seconds)
        returned.extend(worker.pending)
        self._replace(place)

    def _new_worker(self) -> _Worker:
        return _Worker(self._function, self._timeout, self._memory)

    def _replace(self, place: int) -> None:
        """Stops a worker and starts another in its place."""
        self._workers[place].stop()
        self._workers[place] = self._new_worker()
