"""The pool keeps its promises whatever the judge does."""

import os
import time

import pytest

from sit_fairseq.errors import UserError
from sit_fairseq.validation.judge import Judge
from sit_fairseq.validation.pool import JudgePool
from sit_fairseq.validation.verdict import Verdict


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
    with JudgePool("prop", MoodyJudge(), workers=2) as pool:
        assert pool.verify_all(pairs) == expected(pairs)
        assert pool.verify_all(iter(pairs[:1])) == expected(pairs[:1])
        assert pool.verify_all([]) == []


def test_one_that_sleeps_times_out_and_the_others_are_right():
    pairs = pairs_of(["fast"] * 10 + ["sleep"] + ["fast"] * 30 + ["sleep"] + ["fast"] * 5)
    with JudgePool("prop", MoodyJudge(), workers=2, timeout=0.5) as pool:
        pool.verify_all(pairs[:1])  # workers are up
        started = time.monotonic()
        verdicts = pool.verify_all(pairs)
        elapsed = time.monotonic() - started
    assert verdicts == expected(pairs, sleep=Verdict.timeout)
    assert verdicts.count(Verdict.timeout) == 2
    assert elapsed < 20


def test_the_time_out_is_per_item():
    pairs = pairs_of(["nap"] * 40)  # two seconds in all, half a second in the first batch
    with JudgePool("prop", MoodyJudge(), workers=1, timeout=0.35) as pool:
        assert pool.verify_all(pairs) == expected(pairs)


@pytest.mark.parametrize("way", ["crash", "raise"])
def test_one_that_kills_its_worker_is_an_error_and_the_others_are_right(way):
    pairs = pairs_of([way, "fast", "fast", way, way] + ["fast"] * 30 + [way])
    with JudgePool("prop", MoodyJudge(), workers=2) as pool:
        assert pool.verify_all(pairs) == expected(pairs, **{way: Verdict.error})


def test_abandoned_iteration_leaves_nothing_behind():
    pairs = pairs_of(["nap"] * 20)
    with JudgePool("prop", MoodyJudge(), workers=2) as pool:
        verdicts = pool.imap(pairs)
        assert next(verdicts) is Verdict.satisfied
        verdicts.close()
        others = [("fast", "invalid")] * 5
        assert pool.verify_all(others) == [Verdict.invalid] * 5


def test_workers_end_with_the_pool():
    with JudgePool("prop", MoodyJudge(), workers=1) as pool:
        pool.verify_all(pairs_of(["fast"]))
        (worker,) = pool._workers
        assert worker.alive
    assert not worker.alive


def test_idle_worker_killed_from_outside_costs_nothing():
    pairs = pairs_of(["fast"] * 10)
    with JudgePool("prop", MoodyJudge(), workers=1) as pool:
        pool.verify_all(pairs)
        process = pool._workers[0]._process
        process.kill()
        process.join()
        assert pool.verify_all(pairs) == expected(pairs)


@pytest.mark.parametrize("workers", [0, 2])
def test_real_judge(workers):
    pairs = [("| a b", "a 1"), ("| a b", "a 0"), ("| a b", "a 1 a 0"), ("| a", "a 1")] * 20
    right = [Verdict.satisfied, Verdict.violated, Verdict.vacuous, Verdict.error] * 20
    with JudgePool("prop", workers=workers) as pool:
        assert pool.verify_all(pairs) == right


def test_unknown_judge_is_refused_at_once():
    with pytest.raises(UserError, match="bits, aiger"):
        JudgePool("prop", "spot")
