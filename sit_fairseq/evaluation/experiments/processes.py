"""Commands as processes that end with this one."""

import os
import signal
import subprocess
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Mapping, Set

from sit_fairseq.judging.workers import end_with_parent


class Processes:
    """Runs commands, from any number of threads.

    Args:
        cwd: their working directory.
        environment: their environment.
    """

    def __init__(self, cwd: Path, environment: Mapping[str, str]) -> None:
        self._cwd = cwd
        self._environment = dict(environment)
        self._running: Set[subprocess.Popen] = set()
        self._stopped = False
        self._changing = Lock()

    def call(self, log: Path, *command: Any) -> float:
        """Runs a command and waits for its end.

        Args:
            log: what it prints is appended there.
            command: the program, by its path, and its arguments.

        Returns:
            The CPU seconds that it and its own processes took.

        Raises:
            subprocess.CalledProcessError: it failed or was stopped; ``output`` is the log.
        """
        words = [str(word) for word in command]
        with open(log, "a", encoding="utf-8") as output, self._changing:
            if self._stopped:
                raise subprocess.CalledProcessError(1, words[0], str(log))
            process = subprocess.Popen(
                words,
                preexec_fn=partial(end_with_parent, signal.SIGTERM),
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self._cwd,
                env=self._environment,
            )
            self._running.add(process)
        _, status, usage = os.wait4(process.pid, 0)
        with self._changing:
            self._running.discard(process)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, words[0], str(log))
        return usage.ru_utime + usage.ru_stime

    def stop(self) -> None:
        """Ends the commands that are running, and starts no others."""
        with self._changing:
            self._stopped = True
            for process in self._running:
                process.terminate()
