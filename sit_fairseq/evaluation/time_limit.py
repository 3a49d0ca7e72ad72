"""A time limit for work in this process."""

import signal
from contextlib import contextmanager
from typing import Any, Iterator


class OutOfTime(BaseException):
    """The time is up; no ``except Exception`` on the way stops it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Context manager, for the main thread: raises OutOfTime within it after so many seconds."""

    def stop(*_: Any) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, stop)
    # And again each second, since what is raised in a destructor gets lost.
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
