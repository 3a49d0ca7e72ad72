"""A limit of time for each of many items, several of which are worked on at once."""

import signal
import time
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, Callable, Iterable, Iterator, List, Tuple

import torch

# Items at once, at most; and the seconds under which a batch is followed by a larger one.
_BATCH = 64
_QUICK = 5.0


class _OutOfTime(BaseException):
    """The time is up; no ``except Exception`` on the way stops it."""


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Context manager, for the main thread: raises _OutOfTime within it after so many seconds."""

    def stop(*_: Any) -> None:
        raise _OutOfTime

    before = signal.signal(signal.SIGALRM, stop)
    # And again each second, since what is raised in a destructor gets lost.
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        finally:  # also if the time is up just here
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before)


def in_time(
    items: Iterable[Any], work: Callable[[List[Any]], Iterable[Tuple[Any, Any]]], seconds: float
) -> Iterator[Tuple[Any, Any]]:
    """Works on items and yields each with what came of it, or with None if its time is up.

    So many are worked on at once as take some seconds: one at first, and twice as many after each
    batch that was quick.

    Args:
        items: are taken in order, each batch when it is begun.
        work: yields each of some items with what came of it.
        seconds: the most for an item.
    """
    rest, size = iter(items), 1
    while batch := list(islice(rest, size)):
        started = time.monotonic()
        found: List[Tuple[Any, Any]] = []
        try:
            # A search that is stopped just as it turns gradients off would leave them off.
            with torch.no_grad(), _time_limit(seconds):
                for one in work(batch):
                    found.append(one)
        except _OutOfTime:
            done = [item for item, _ in found]
            left = [item for item in batch if item not in done]
            if len(batch) == 1:
                found += [(item, None) for item in left]
            else:
                rest = chain(left, rest)
            size = 1
        else:
            spent = time.monotonic() - started
            if spent < min(_QUICK, seconds / 2):
                size = min(2 * size, _BATCH)
            elif spent > 4 * _QUICK:
                size = max(1, size // 2)
        yield from found
