"""The judge that compares answers with references."""

import pytest

from sit_fairseq.errors import UserError
from sit_fairseq.judging.judge import JUDGES, make_judge
from sit_fairseq.judging.verdict import Verdict


def test_an_answer_is_right_if_it_equals_its_reference():
    judge = make_judge("exact")
    sources, references = ["| a b", "| a b"], ["a 1", "b 1"]
    problems = judge.problems(sources, references)
    verdicts = [judge.verify(problem, " a  1") for problem in problems]
    assert verdicts == [Verdict.satisfied, Verdict.violated]
    assert [judge.distance(problem, "a 1") for problem in problems] == [0, 1]


def test_only_this_judge_needs_references():
    with pytest.raises(UserError, match="--semantics exact compares answers with references"):
        make_judge("exact").problems(["a"], None)
    for semantics in set(JUDGES) - {"exact"}:
        assert make_judge(semantics).problems(["a"], None) == ["a"]
        assert make_judge(semantics).problems(["a"], ["a 1"]) == ["a"]
