"""Calls a function on many items at once, in processes that can be stopped.

A worker is an interpreter of its own, which imports what the function needs and nothing else:
:mod:`multiprocessing` would run the caller's script a second time, or copy the locks of torch's
threads, what CUDA has set up and locked files. Its pool cannot stop one item.
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
from concurrent.futures import Future
from contextlib import AbstractContextManager, suppress
from enum import Enum
from itertools import count
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from threading import Event, Thread
from traceback import format_exception_only
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from sit_fairseq.errors import shortened

logger = logging.getLogger(__name__)


class End(Enum):
    """How the work on an item ended."""

    result = "result"
    timeout = "timeout"
    crash = "crash"


class Outcome(NamedTuple):
    """How the work on an item ended, what the function returned, or what stands for that, and the
    seconds that it took or was given."""

    end: End
    value: Any
    seconds: float


def python(program: str, *arguments: str) -> List[str]:
    """The command line of a Python program that imports from where this process does, not from the
    folder that it runs in, which may be one of data."""
    path = [os.path.abspath(entry) for entry in sys.path]
    return [sys.executable, "-c", f"import sys; sys.path[:] = {path}; {program}", *arguments]


def end_with_parent(number: int = signal.SIGKILL) -> None:
    """Asks Linux to signal this process when the thread that started it ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, number)  # PR_SET_PDEATHSIG


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
    """Runs a worker: answers one item after the other, until the parent has gone."""
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
            item = connection.recv()
        except EOFError:
            return
        started = time.monotonic()
        try:
            value = function(item)
            connection.send((value, time.monotonic() - started))
        except MemoryError:
            os._exit(1)  # the parent sees that, and starts a process that has memory
        except Exception as error:  # whatever the function raises, or what cannot be sent
            connection.send(shortened("".join(format_exception_only(type(error), error)).strip()))


class _Worker:
    """A process and the parent's end of its pipe: whether it is ``ready`` to work, and when it
    ``started`` on its item, on the monotonic clock."""

    def __init__(self, function: Callable[[Any], Any], memory: Optional[float]) -> None:
        self.connection, child = Pipe()
        self.ready, self.started, self._stopped = False, math.inf, Event()
        with child:
            call = f"_serve({child.fileno()}, {os.getpid()})"
            command, begun = python(f"from {__name__} import _serve; {call}"), Future()

            def start() -> None:
                try:
                    process = subprocess.Popen(
                        command,
                        pass_fds=[child.fileno()],
                        stdin=subprocess.DEVNULL,
                        start_new_session=True,  # an interrupt is the parent's to handle
                    )
                except OSError as error:
                    begun.set_exception(error)
                else:
                    begun.set_result(process)
                self._stopped.wait()

            # A worker ends with the thread that starts it: the caller's could end too soon.
            Thread(target=start, daemon=True).start()
            self.process = begun.result()
        self.send((function, memory))

    def send(self, message: Any) -> None:
        """Sends a message; that the process has ended is noticed where an answer is awaited."""
        try:
            self.connection.send(message)
        except ConnectionError:
            pass

    def stop(self) -> None:
        """Ends the process and those that it has started, whatever they are doing."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._stopped.set()
        self.connection.close()


class WorkerPool(AbstractContextManager):
    """Calls a function on items in parallel; an item it hangs or crashes on costs only itself.

    Use it as a context manager, or close it; it also ends with its last reference. Workers start
    with the first items. They find modules where this process does, but know nothing of its script:
    what is pickled must come from modules.

    Args:
        function: takes one item; it, the items and what it returns can be pickled.
        workers: processes; 0 calls it in this process, without limits.
        timeout: seconds after which an item is given up; None for never.
        memory: GiB that each process may allocate; an item that needs more is a crash.
        show: what a warning says of an item.

    Attributes:
        unfinished: what stands for the value of an item without a result, None for others.
    """

    unfinished: Dict[End, Any] = {}

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
        self._idle: List[_Worker] = []
        self._busy: Dict[_Worker, Tuple[int, Any]] = {}  # with the item, and its number

    def __exit__(self, *raised: Any) -> None:
        self.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Ends the workers; the pool can be used again and then starts new ones."""
        for worker in (*self._idle, *self._busy):
            worker.stop()
        self._idle, self._busy = [], {}

    def imap(self, items: Iterable[Any]) -> Iterator[Outcome]:
        """Works on items, possibly without end, and yields each outcome as soon as those before it
        are known; a RuntimeError if no worker can be started."""
        if not self._n_workers:
            for item in items:
                started = time.monotonic()
                value = self._function(item)
                yield Outcome(End.result, value, time.monotonic() - started)
            return
        todo = enumerate(items)
        done: Dict[int, Outcome] = {}
        try:
            for number in count():
                self._feed(todo)
                while number not in done:
                    if not self._busy:
                        return
                    self._collect(done)
                    self._feed(todo)
                yield done.pop(number)
        finally:
            if self._busy:  # abandoned half-way
                self.close()

    def results(self, items: Iterable[Any]) -> Iterator[Any]:
        """Yields what the function returns for each item, in order, or what stands for that; a
        RuntimeError if nothing does."""
        for number, (end, value, _) in enumerate(self.imap(items)):
            if end is not End.result and value is None:
                raise RuntimeError(f"item {number} ended with a {end.value}; see above")
            yield value

    def _feed(self, todo: Iterator[Tuple[int, Any]]) -> None:
        """Gives items to workers until all have one."""
        while len(self._busy) < self._n_workers:
            numbered = next(todo, None)
            if numbered is None:
                return
            # One may have been killed from outside while it was idle.
            alive = [worker for worker in self._idle if worker.process.poll() is None]
            worker = alive.pop() if alive else _Worker(self._function, self._memory)
            self._idle = alive
            self._busy[worker] = numbered
            worker.send(numbered[1])
            worker.started = time.monotonic() if worker.ready else math.inf

    def _collect(self, done: Dict[int, Outcome]) -> None:
        """Waits for a worker to say something, to end or to be overdue."""
        first = min(worker.started for worker in self._busy) + self._timeout
        patience = None if first == math.inf else max(0.0, first - time.monotonic())
        ready = wait([worker.connection for worker in self._busy], patience)
        for worker in list(self._busy):
            if worker.connection in ready:
                self._receive(worker, done)
            elif time.monotonic() >= worker.started + self._timeout:
                self._give_up(worker, End.timeout, done)

    def _receive(self, worker: _Worker, done: Dict[int, Outcome]) -> None:
        """Takes note of what a worker says, or that it has ended."""
        try:
            message = worker.connection.recv()
        except (EOFError, ConnectionError):
            if not worker.ready:
                raise RuntimeError("a worker process could not start; see its message above")
            limit = "" if self._memory is None else f" (limit {self._memory:g} GiB)"
            item = self._show(self._busy[worker][1])
            logger.warning(
                "a worker process ended, maybe for want of memory%s, on: %s", limit, item
            )
            self._give_up(worker, End.crash, done)
            return
        if message is None:
            worker.ready, worker.started = True, time.monotonic()
            return
        number, item = self._busy.pop(worker)
        self._idle.append(worker)
        if isinstance(message, str):
            logger.warning("%s, on: %s", message, self._show(item))
            seconds = time.monotonic() - worker.started
            done[number] = Outcome(End.crash, self.unfinished.get(End.crash), seconds)
        else:
            done[number] = Outcome(End.result, *message)

    def _give_up(self, worker: _Worker, end: End, done: Dict[int, Outcome]) -> None:
        """Settles the item that a worker failed on, and ends the worker."""
        number, _ = self._busy.pop(worker)
        worker.stop()
        seconds = time.monotonic() - worker.started
        done[number] = Outcome(end, self.unfinished.get(end), seconds)
