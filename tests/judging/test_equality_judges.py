"""Judges that compare with the one right answer, and edit distances."""

from functools import lru_cache
from random import Random

import pytest

from sit_fairseq.domains.by_name import make_judge
from sit_fairseq.judging.equality_judges import edit_distance
from sit_fairseq.judging.verdict import Verdict


def test_distance_is_the_definition():
    @lru_cache(maxsize=None)
    def recursive(first, second):
        if not first or not second:
            return len(first) + len(second)
        if first[0] == second[0]:
            return recursive(first[1:], second[1:])
        shorter = [(first[1:], second), (first, second[1:]), (first[1:], second[1:])]
        return 1 + min(recursive(*pair) for pair in shorter)

    rng = Random(1)
    for _ in range(300):
        first, second = ("".join(rng.choices("abc", k=rng.randint(0, 9))) for _ in range(2))
        assert edit_distance(first, second) == recursive(first, second)


@pytest.mark.parametrize(
    "right, answer, verdict",
    [
        ("a b a", "a b a", Verdict.satisfied),
        ("a b a", " a  b a ", Verdict.satisfied),
        ("a b", "b a", Verdict.violated),
        ("a b", "", Verdict.violated),
        ("a b", "a q", Verdict.violated),  # a token that the source does not have
        ("& U", "& U", Verdict.satisfied),
    ],
)
def test_copies_equal_the_source_and_exact_answers_the_reference(right, answer, verdict):
    assert make_judge("copy").verify(right, answer) is verdict
    exact = make_judge("exact")
    (problem,) = exact.problems(["| a b"], [right])
    assert exact.verify(problem, answer) is verdict
    assert (exact.distance(problem, answer) == 0) is (verdict is Verdict.satisfied)


@pytest.mark.parametrize(
    "answer, equal",
    [
        ("let x = a ; f x b", True),
        ("let y = a ; f y b", True),  # another name for what the source lacks
        ("let y = a ; f x b", False),  # two names for one
        ("let b = a ; f b b", False),  # a name of the source
        ("let x = b ; f x a", False),  # symbols of the source are not renamed
        ("= x let a ; f x b", False),  # base tokens are not renamed, though the source lacks them
        ("", False),
    ],
)
def test_answers_equal_up_to_the_names_of_what_the_source_lacks(answer, equal):
    judge = make_judge("alpha")
    (problem,) = judge.problems(["f ( g ( a ) , b )"], ["let  x = a ; f x b"], "[a-eu-z\t]")
    assert judge.verify(problem, answer) is (Verdict.satisfied if equal else Verdict.violated)


def test_without_a_pattern_nothing_is_known():
    judge = make_judge("alpha")
    (problem,) = judge.problems(["a"], ["a x"])
    assert judge.verify(problem, "a x") is Verdict.unavailable
