"""The first accepted answer, whatever the judge makes of those before it."""

import pytest

from sit_fairseq.errors import UserError
from sit_fairseq.judging.acceptance import Acceptor, accepting_judge, refuse_other_logic
from sit_fairseq.judging.judge import make_judge
from sit_fairseq.judging.pool import Judged
from sit_fairseq.judging.verdict import Verdict


class FakePool:
    """Gives the verdict that an answer is called, and remembers what it was asked."""

    def __init__(self):
        self.asked = []

    def imap_timed(self, pairs):
        self.asked.append(list(pairs))
        return (Judged(Verdict(answer.split()[0]), 0.5) for _, answer in self.asked[-1])


def test_answers_are_judged_in_their_order_until_one_is_satisfied():
    pool = FakePool()
    acceptor = Acceptor(pool)
    answers = [["violated", "satisfied 1", "satisfied 2"], ["satisfied"], ["invalid"], []]
    verdicts = [{} for _ in answers]
    assert acceptor.first_satisfied("pqrs", answers, verdicts) == [1, 0, None, None]
    first, second, third = pool.asked
    assert first == [("p", "violated"), ("q", "satisfied"), ("r", "invalid")]
    assert second == [("p", "satisfied 1")] and third == []
    assert acceptor.number == 4 and acceptor.seconds == 2.0
    assert verdicts[0] == {"violated": Verdict.violated, "satisfied 1": Verdict.satisfied}


@pytest.mark.parametrize("verdict", ["timeout", "error", "unavailable"])
def test_no_verdict_is_no_acceptance_and_the_search_goes_on(verdict):
    answers = [[verdict, "satisfied"], [verdict]]
    verdicts = [{}, {}]
    assert Acceptor(FakePool()).first_satisfied("pq", answers, verdicts) == [1, None]
    assert verdicts[1] == {verdict: Verdict(verdict)}


def test_no_answer_is_judged_twice():
    pool = FakePool()
    known = [{"violated": Verdict.violated, "satisfied": Verdict.satisfied}]
    assert Acceptor(pool).first_satisfied("p", [["violated", "satisfied"]], known) == [1]
    assert sum(pool.asked, []) == []


@pytest.mark.parametrize(
    "semantics, reason",
    [
        ("propositional", "Unknown semantics 'propositional'; choose --verify from prop, ltl"),
        ("exact", "--verify exact would compare answers with references"),
    ],
)
def test_semantics_that_cannot_verify(semantics, reason):
    with pytest.raises(UserError, match=reason):
        accepting_judge(semantics)


@pytest.mark.parametrize(
    "semantics, tokens, reason",
    [
        ("prop", "! & U X 0 1 ; { }", "its ';' is none of prop"),
        ("prop", "", "it lacks '0' of prop"),
        ("ltl", "! & | xor 0 1", "it lacks '{' of ltl"),
    ],
)
def test_models_of_another_logic(semantics, tokens, reason):
    with pytest.raises(UserError, match=f"--verify {semantics} does not suit this model.*{reason}"):
        refuse_other_logic(make_judge(semantics), tokens.split())


def test_models_of_the_same_logic():
    refuse_other_logic(make_judge("prop"), "! & | <-> xor 0 1 TRUE".split())
    refuse_other_logic(make_judge("ltl"), "! & | X U 0 1 ; { }".split())
    refuse_other_logic(make_judge("copy"), [])
