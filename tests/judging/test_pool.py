"""The pool says what became of every pair, whatever the judge does."""

import pytest
from moody import MoodyJudge

from sit_fairseq.domains.by_name import make_judge
from sit_fairseq.errors import UserError
from sit_fairseq.judging.judge import Problem
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.search.verified_search import first_satisfied


class FakePool(JudgePool):
    """Remembers the pairs that it judged."""

    def __init__(self):
        super().__init__(MoodyJudge(), workers=0)
        self.asked = []

    def imap(self, items):
        self.asked.append(list(items))
        return super().imap(self.asked[-1])


def test_what_is_not_judged_to_the_end_has_its_verdict(caplog):
    pairs = [("fast", "satisfied"), ("sleep", "violated"), ("crash", "vacuous"), ("a", "invalid")]
    with JudgePool(MoodyJudge(), workers=2, timeout=0.3) as pool:
        judged = list(pool.imap_timed(pairs))
        assert [verdict.value for verdict, _ in judged] == [
            *("satisfied", "timeout", "error", "invalid")
        ]
        assert judged[1][1] >= 0.3 and "on: crash" in caplog.text
        assert pool.number == 4 and pool.seconds == sum(seconds for _, seconds in judged)
        assert pool.solvable(["unsolvable", "sleep", "a", "crash"]) == [False, None, True, None]


def test_problems_arrive_with_their_reference_and_pattern():
    problem = Problem("f ( a )", "let x = a", "[a-eg-z]")
    judge = make_judge("alpha")
    with JudgePool(judge, workers=1) as pool:
        verdicts = pool.verify_answers([problem, problem], [["let y = a", "let a = a"], []])
    assert verdicts == [[Verdict.satisfied, Verdict.violated], []]


def test_a_judge_that_no_process_can_have_is_refused_before_it_is_asked():
    judge = MoodyJudge()
    judge.rule = lambda: True
    with pytest.raises(UserError, match="MoodyJudge cannot be sent to a process.*quick = True"):
        JudgePool(judge)
    assert JudgePool(judge, workers=0).verify_all([("a", "satisfied")]) == [Verdict.satisfied]


def test_answers_are_judged_in_their_order_until_one_is_satisfied():
    pool = FakePool()
    answers = [["violated", "satisfied 1", "satisfied 2"], ["satisfied"], ["invalid"], []]
    verdicts = [{} for _ in answers]
    assert first_satisfied(pool, "pqrs", answers, verdicts) == [1, 0, None, None]
    first, second, third = pool.asked
    assert first == [("p", "violated"), ("q", "satisfied"), ("r", "invalid")]
    assert second == [("p", "satisfied 1")] and third == [] and pool.number == 4
    assert verdicts[0] == {"violated": Verdict.violated, "satisfied 1": Verdict.satisfied}


@pytest.mark.parametrize("verdict", ["timeout", "error", "unavailable"])
def test_no_verdict_is_no_acceptance_and_the_search_goes_on(verdict):
    answers = [[verdict, "satisfied"], [verdict]]
    verdicts = [{}, {}]
    assert first_satisfied(FakePool(), "pq", answers, verdicts) == [1, None]
    assert verdicts[1] == {verdict: Verdict(verdict)}


def test_no_answer_is_judged_twice():
    pool = FakePool()
    known = [{"violated": Verdict.violated, "satisfied": Verdict.satisfied}]
    assert first_satisfied(pool, "p", [["violated", "satisfied"]], known) == [1]
    assert sum(pool.asked, []) == []
