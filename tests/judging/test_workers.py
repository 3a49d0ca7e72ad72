"""Workers return a result, a time-out or a crash, for whatever function."""

import os
import resource
import time

import pytest

from sit_fairseq.judging.workers import End, WorkerPool, _context


def moody(item):
    """Does what the item says, or squares it."""
    if item == "sleep":
        time.sleep(60)
    elif item == "crash":
        os._exit(3)
    elif item == "raise":
        raise ValueError("a bug of the function")
    return item * item


def limit_of_memory(item):
    """The limit of memory that the process is under, in bytes."""
    return resource.getrlimit(resource.RLIMIT_DATA)[0]


def pool_of(function, workers=1, timeout=30.0, memory=4.0):
    return WorkerPool(function, workers, timeout, memory)


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_results_come_in_order(workers):
    with pool_of(moody, workers) as pool:
        outcomes = list(pool.imap(range(50)))
        assert list(pool.imap([])) == []
    assert [(end, value) for end, value, _ in outcomes] == [(End.result, i * i) for i in range(50)]
    assert all(seconds >= 0 for _, _, seconds in outcomes)


def test_results_time_outs_and_crashes():
    with pool_of(moody, workers=2, timeout=2.0) as pool:
        outcomes = list(pool.imap([2, "sleep", 3, "crash", "raise", 4]))
    assert [(end, value) for end, value, _ in outcomes] == [
        (End.result, 4),
        (End.timeout, None),
        (End.result, 9),
        (End.crash, None),
        (End.crash, None),
        (End.result, 16),
    ]
    assert outcomes[1].seconds >= 0.49


def test_what_the_function_raises_reaches_the_caller_without_workers():
    with pytest.raises(ValueError, match="a bug of the function"):
        list(pool_of(moody, workers=0).imap(["raise"]))


def test_the_limit_of_memory_is_that_of_the_workers_alone():
    def limit(pool):
        ((_, found, _),) = pool.imap([None])
        return found / 2**30

    ours = resource.getrlimit(resource.RLIMIT_DATA)
    with pool_of(limit_of_memory, memory=2.0) as pool:
        assert 2 <= limit(pool) < 20
        pool._workers[0].stop()  # from outside: its successor has the limit, too
        assert 2 <= limit(pool) < 20
        # Both come from the same server process, which must not have it.
        with pool_of(limit_of_memory, memory=40.0) as other:
            assert limit(other) >= 40
        results = _context.SimpleQueue()
        process = _context.Process(target=_report_limit, args=(results,))
        process.start()
        assert results.get() == ours[0]
        process.join()
    assert resource.getrlimit(resource.RLIMIT_DATA) == ours


def _report_limit(results):
    results.put(resource.getrlimit(resource.RLIMIT_DATA)[0])


def test_idle_worker_killed_from_outside_costs_nothing():
    with pool_of(moody) as pool:
        list(pool.imap([1]))
        process = pool._workers[0]._process
        process.kill()
        process.join()
        assert [value for _, value, _ in pool.imap([1, 2, 3])] == [1, 4, 9]
