"""Workers end with the process that started them, in the middle of whatever they do."""

import os
import signal
import subprocess
import sys

from conftest import PACKAGE, gone

# A judge's worker, which comes from a fork server, and one that draws data, which is forked. Both
# say who they are and then do not look up for a while.
PROGRAM = """
import threading
from sit_fairseq.datasets.drawing import in_order
from sit_fairseq.judging.workers import WorkerPool

busy = "exec('import os, time; print(os.getpid(), flush=True); time.sleep(100)')"
pool = WorkerPool(eval, 1, 600.0, 4.0)
threading.Thread(target=lambda: list(pool.imap([busy])), daemon=True).start()
list(in_order(eval, [busy], 1))
"""


def test_workers_end_with_the_process_that_started_them():
    signals = [signal.SIGTERM, signal.SIGKILL]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            cwd=PACKAGE.parent,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in signals
    ]
    try:
        workers = [int(process.stdout.readline()) for process in processes for _ in range(2)]
        for process, number in zip(processes, signals):
            assert process.poll() is None
            process.send_signal(number)
        assert all(map(gone, workers))
    finally:
        for process in processes:
            process.kill()
            process.wait()
            process.stdout.close()
