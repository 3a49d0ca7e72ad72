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


def test_only_this_judge_and_the_next_need_references():
    with pytest.raises(UserError, match="--semantics exact compares answers with references"):
        make_judge("exact").problems(["a"], None)
    with pytest.raises(UserError, match="--semantics alpha compares answers with references"):
        make_judge("alpha").problems(["a"], None)
    for semantics in set(JUDGES) - {"exact", "alpha"}:
        assert make_judge(semantics).problems(["a"], None) == ["a"]
        assert make_judge(semantics).problems(["a"], ["a 1"]) == ["a"]


@pytest.mark.parametrize(
    "answer, equal",
    [
        ("let x = a ; f x b", True),
        ("let y = a ; f y b", True),  # another name for what the source lacks
        ("let y = a ; f x b", False),  # two names for one
        ("let b = a ; f b b", False),  # a name of the source
        ("let x = b ; f x a", False),  # symbols of the source are not renamed
        ("x let = a ; f x b", False),
        ("= x let a ; f x b", False),  # base tokens are not renamed, though the source lacks them
        ("let x = a ; f x", False),
        ("", False),
    ],
)
def test_answers_equal_up_to_the_names_of_what_the_source_lacks(answer, equal):
    judge = make_judge("alpha")
    judge.symbols = "[a-eu-z]"
    (problem,) = judge.problems(["f ( g ( a ) , b )"], ["let  x = a ; f x b"])
    assert judge.verify(problem, answer) is (Verdict.satisfied if equal else Verdict.violated)


def test_a_pattern_may_hold_a_tab():
    judge = make_judge("alpha")
    judge.symbols = "[a-z\t]"
    (problem,) = judge.problems(["f ( a )"], ["f x a"])
    assert judge.verify(problem, "f y a") is Verdict.satisfied


def test_without_a_pattern_nothing_is_known():
    judge = make_judge("alpha")
    (problem,) = judge.problems(["a"], ["a x"])
    assert judge.verify(problem, "a x") is Verdict.unavailable
