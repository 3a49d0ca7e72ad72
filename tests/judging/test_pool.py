"""The pool keeps its promises whatever the judge does."""

import os
import time

import numpy
import pytest

from sit_fairseq.judging.judge import Judge, make_judge
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict


class MoodyJudge(Judge):
    """Does what the problem says."""

    semantics, name = "prop", "moody"

    def verify(self, problem, answer):
        if problem == "sleep":
            time.sleep(60)
        elif problem == "nap":
            time.sleep(0.05)
        elif problem == "crash":
            os._exit(3)
        elif problem == "allocate":
            numpy.empty(3 * 2**30, "uint8")  # takes nothing until it is written to
        elif problem == "raise":
            raise ValueError("a bug of the judge")
        return Verdict(answer)


def pairs_of(problems):
    """Items of these problems; the right verdicts differ from one to the next."""
    words = [Verdict.satisfied, Verdict.violated, Verdict.vacuous]
    return [(problem, words[i % 3].value) for i, problem in enumerate(problems)]


def expected(pairs, **exceptions):
    return [exceptions.get(problem, Verdict(answer)) for problem, answer in pairs]


def test_verdicts_come_in_order():
    pairs = pairs_of(["nap", "fast", "fast"] * 30)
    with JudgePool(MoodyJudge(), workers=2) as pool:
        assert pool.verify_all(pairs) == expected(pairs)
        assert pool.verify_all(iter(pairs[:1])) == expected(pairs[:1])
        assert pool.verify_all([]) == []


def test_one_that_sleeps_times_out_and_the_others_are_right():
    pairs = pairs_of(["fast"] * 10 + ["sleep"] + ["fast"] * 30 + ["sleep"] + ["fast"] * 5)
    with JudgePool(MoodyJudge(), workers=2, timeout=2.0) as pool:
        pool.verify_all(pairs[:1])  # workers are up
        started = time.monotonic()
        verdicts = pool.verify_all(pairs)
        elapsed = time.monotonic() - started
    assert verdicts == expected(pairs, sleep=Verdict.timeout)
    assert verdicts.count(Verdict.timeout) == 2
    assert elapsed < 20


def test_the_time_out_is_per_item():
    pairs = pairs_of(["nap"] * 40)  # two seconds in all, half a second in the first batch
    with JudgePool(MoodyJudge(), workers=1, timeout=1.5) as pool:
        assert pool.verify_all(pairs) == expected(pairs)


@pytest.mark.parametrize("way", ["crash", "raise"])
def test_one_that_kills_its_worker_is_an_error_and_the_others_are_right(way):
    pairs = pairs_of([way, "fast", "fast", way, way] + ["fast"] * 30 + [way])
    with JudgePool(MoodyJudge(), workers=2) as pool:
        assert pool.verify_all(pairs) == expected(pairs, **{way: Verdict.error})


def test_one_that_takes_too_much_memory_is_an_error_and_the_others_are_right(caplog):
    pairs = pairs_of(["fast", "allocate", "fast", "allocate"] + ["fast"] * 30)
    with JudgePool(MoodyJudge(), workers=2, memory=2.0) as pool:
        assert pool.verify_all(pairs) == expected(pairs, allocate=Verdict.error)
    assert caplog.text.count("memory (limit 2 GiB), on: allocate") == 2
    with JudgePool(MoodyJudge(), workers=1, memory=4.0) as pool:
        assert pool.verify_all(pairs) == expected(pairs)


@pytest.mark.parametrize("workers", [0, 2])
def test_each_item_has_its_time(workers):
    least = {"nap": 0.05, "sleep": 1.99, "fast": 0.0, "crash": 0.0}
    pairs = pairs_of(["nap", "fast", "nap"] + ["sleep", "crash", "nap"] * (workers > 0))
    with JudgePool(MoodyJudge(), workers=workers, timeout=2.0) as pool:
        pool.start()
        judged = list(pool.imap_timed(pairs))
    verdicts = [verdict for verdict, _ in judged]
    assert verdicts == expected(pairs, sleep=Verdict.timeout, crash=Verdict.error)
    assert all(least[problem] <= t for (problem, _), (_, t) in zip(pairs, judged))


def test_abandoned_iteration_leaves_nothing_behind():
    pairs = pairs_of(["nap"] * 20)
    with JudgePool(MoodyJudge(), workers=2) as pool:
        verdicts = pool.imap(pairs)
        assert next(verdicts) is Verdict.satisfied
        verdicts.close()
        others = [("fast", "invalid")] * 5
        assert pool.verify_all(others) == [Verdict.invalid] * 5


@pytest.mark.parametrize("workers", [0, 2])
def test_real_judge(workers):
    pairs = [("| a b", "a 1"), ("| a b", "a 0"), ("| a b", "a 1 a 0"), ("| a", "a 1")] * 20
    right = [Verdict.satisfied, Verdict.violated, Verdict.vacuous, Verdict.error] * 20
    with JudgePool(make_judge("prop"), workers=workers) as pool:
        assert pool.verify_all(pairs) == right


def test_workers_end_with_the_pool():
    with JudgePool(MoodyJudge(), workers=1) as pool:
        pool.verify_all(pairs_of(["fast"]))
        (worker,) = pool._pool._workers
        assert worker.alive
    assert not worker.alive
