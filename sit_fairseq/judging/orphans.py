"""No process of ours outlives the one that started it, even if that is killed.

Linux sees to it, whatever the process is doing; other systems have no such means. As a script,
``orphans.py PARENT PROGRAM ARGUMENTS...``, this file takes care of itself and becomes the program.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
from multiprocessing import forkserver
from typing import List, Sequence

_PR_SET_PDEATHSIG = 1


def _end_with_parent(number: int) -> None:
    """Has this process sent a signal when the thread that started it ends; it may have before."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number)


def end_worker_with_parent() -> None:
    """Ends this process of :mod:`multiprocessing` with the one that started it.

    One of a fork server ends with the server, and that with whom it serves.
    """
    server = forkserver._forkserver
    if server._forkserver_alive_fd is not None:
        # The server would stay as long as one of its processes has this open.
        os.close(server._forkserver_alive_fd)
        server._forkserver_alive_fd = None
    _end_with_parent(signal.SIGKILL)
    if not multiprocessing.parent_process().is_alive():
        os._exit(1)


def tied(command: Sequence[str]) -> List[str]:
    """A command that gets SIGTERM when the thread that started it ends.

    Args:
        command: the program, by its path, and its arguments.

    Returns:
        The command to start instead.
    """
    if sys.platform != "linux":
        return list(command)
    return [sys.executable, "-I", "-S", os.path.abspath(__file__), str(os.getpid()), *command]


if __name__ == "__main__":
    _end_with_parent(signal.SIGTERM)
    if os.getppid() == int(sys.argv[1]):
        os.execv(sys.argv[2], sys.argv[2:])
