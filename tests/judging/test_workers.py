"""Workers return a result, a time-out or a crash, for whatever function."""

import itertools
import resource
import signal
import subprocess
import sys
import threading
import time
import types
from functools import partial

import pytest
from conftest import PACKAGE, gone
from moody import in_a_lambda, limit_of_memory, moody

from sit_fairseq.judging.workers import End, WorkerPool


def ended(outcomes):
    return [(outcome.end, outcome.value) for outcome in outcomes]


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_results_come_in_order(workers):
    items = [*range(50), *["nap", "fast", "fast"] * 10]
    with WorkerPool(moody, workers) as pool:
        outcomes = list(pool.imap(iter(items)))
        assert list(pool.imap([])) == []
        assert list(pool.results(["a"])) == ["aa"]
    assert ended(outcomes) == [(End.result, 2 * item) for item in items]
    naps = [outcome.seconds for outcome in outcomes if outcome.value == "napnap"]
    assert all(outcome.seconds >= 0 for outcome in outcomes) and min(naps) >= 0.05


def test_an_item_costs_only_itself(caplog):
    # The naps of one worker take longer than the time-out, together.
    items = [2, "sleep", 3, "crash", "raise", *["nap"] * 14, "sleep", 4, "crash"]
    with WorkerPool(moody, 2, timeout=0.3) as pool:
        started = time.monotonic()
        outcomes = list(pool.imap(items))
        assert time.monotonic() - started < 15
    expected = {"sleep": End.timeout, "crash": End.crash, "raise": End.crash}
    assert ended(outcomes) == [
        (expected[item], None) if item in expected else (End.result, 2 * item) for item in items
    ]
    assert outcomes[1].seconds >= 0.3
    assert "ValueError: a bug of the function, on: raise" in caplog.text


def test_what_an_item_has_started_ends_with_it(tmp_path):
    with WorkerPool(moody, 1, timeout=1.0) as pool:
        assert ended(pool.imap([f"solve {tmp_path / 'number'}"])) == [(End.timeout, None)]
        assert gone(int((tmp_path / "number").read_text()))


def test_what_cannot_be_sent_is_told(caplog):
    with WorkerPool(in_a_lambda, 1) as pool:
        assert [outcome.end for outcome in pool.imap(["a", "b"])] == [End.crash] * 2
    assert "pickle" in caplog.text and "memory" not in caplog.text


def test_too_much_memory_is_a_crash(caplog):
    items = ["fast", "allocate", "fast", "allocate"]
    with WorkerPool(moody, 2, memory=2.0) as pool:
        ends = [outcome.end for outcome in pool.imap(items)]
    assert ends == [End.result, End.crash] * 2
    assert caplog.text.count("memory (limit 2 GiB), on: allocate") == 2
    with WorkerPool(moody, 1, memory=4.0) as pool:
        assert all(outcome.end is End.result for outcome in pool.imap(items))


def test_the_limit_of_memory_is_that_of_the_workers_alone():
    def limit(pool):
        return next(pool.results([None])) / 2**30

    ours = resource.getrlimit(resource.RLIMIT_DATA)
    with WorkerPool(limit_of_memory, 1, memory=2.0) as pool:
        assert 2 <= limit(pool) < 20
        pool._idle[0].stop()  # from outside: its successor has the limit, too
        assert 2 <= limit(pool) < 20
        with WorkerPool(limit_of_memory, 1, memory=40.0) as other:
            assert limit(other) >= 40
    assert resource.getrlimit(resource.RLIMIT_DATA) == ours


def test_what_the_function_raises_reaches_the_caller_without_workers():
    with pytest.raises(ValueError, match="a bug of the function"):
        list(WorkerPool(moody, 0).imap(["raise"]))


def test_data_are_drawn_without_end_but_not_without_results():
    with WorkerPool(abs, 2) as pool:
        assert list(itertools.islice(pool.results(itertools.count()), 1000)) == list(range(1000))
    with WorkerPool(moody, 2) as pool, pytest.raises(
        RuntimeError, match="item 1 ended with a crash"
    ):
        list(pool.results([1, "crash"]))


def test_a_function_of_the_script_is_refused_at_once(monkeypatch):
    function = types.FunctionType(moody.__code__, {}, "nowhere")
    function.__module__, function.__qualname__ = "__main__", "nowhere"
    monkeypatch.setattr("__main__.nowhere", function, raising=False)
    with WorkerPool(function, 1) as pool, pytest.raises(RuntimeError, match="could not start"):
        list(pool.imap([1]))


def test_abandoned_iteration_and_idle_workers_killed_from_outside_cost_nothing():
    with WorkerPool(moody, 2) as pool:
        outcomes = pool.imap(["nap"] * 20)
        assert next(outcomes).value == "napnap"
        outcomes.close()
        assert list(pool.results([1, 2, 3])) == [2, 4, 6]
        process, *_ = [worker.process for worker in pool._idle]
        process.kill()
        process.wait()
        assert list(pool.results([1, 2, 3])) == [2, 4, 6]
        process, *_ = [worker.process for worker in pool._idle]
    assert process.poll() is not None  # workers end with the pool


def test_workers_outlive_the_thread_that_called_them_first():
    with WorkerPool(moody, 1) as pool:
        first = threading.Thread(target=lambda: list(pool.imap(["nap"])))
        first.start()
        first.join()
        (worker,) = pool._idle
        assert list(pool.results(["nap"])) == ["napnap"] and pool._idle == [worker]


# Two workers say who they are, one in the middle of an item that takes for ever.
BUSY = """
from sit_fairseq.judging.workers import WorkerPool

tell = "os.write(1, (str(os.getpid()) + chr(10)).encode())"  # a line in one piece
busy = f"exec('import os, time; {tell}; time.sleep({{}})')"
list(WorkerPool(eval, 2).imap([busy.format(0), busy.format(100), busy.format(100)]))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_workers_end_with_the_process_that_started_them(number):
    # A shell makes what it starts in the background deaf to an interrupt.
    hearing = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    command, pipe = [sys.executable, "-c", BUSY], subprocess.PIPE
    with subprocess.Popen(
        command, cwd=PACKAGE.parent, stdout=pipe, text=True, preexec_fn=hearing
    ) as process:
        try:
            workers = [int(process.stdout.readline()) for _ in range(3)]
            assert process.poll() is None and len(set(workers)) == 2
            process.send_signal(number)
            assert all(map(gone, set(workers)))
        finally:
            process.kill()
