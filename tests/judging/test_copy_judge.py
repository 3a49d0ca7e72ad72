"""The judge of copying, and edit distances."""

from functools import lru_cache
from random import Random

import pytest

from sit_fairseq.judging.copy_judge import CopyJudge, edit_distance
from sit_fairseq.judging.judge import make_judge
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict, VerdictCounts


@pytest.mark.parametrize(
    "first, second, distance",
    [
        ("", "", 0),
        ("a b c", "a b c", 0),
        ("", "a b", 2),
        ("a b", "", 2),
        ("a b c", "a c", 1),
        ("a c", "a b c", 1),
        ("a b c", "a x c", 1),
        ("a b", "b a", 2),
        ("a b c d", "b c d e", 2),
        ("k i t t e n", "s i t t i n g", 3),
        ("p1 p2", "p12", 2),  # tokens, not letters
    ],
)
def test_distance_by_hand(first, second, distance):
    assert edit_distance(first.split(), second.split()) == distance
    assert CopyJudge().distance(first, second) == distance


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
    "source, answer, verdict",
    [
        ("a b a", "a b a", Verdict.satisfied),
        ("a b a", " a  b a ", Verdict.satisfied),
        ("a", "a a", Verdict.violated),
        ("a b", "b a", Verdict.violated),
        ("a b", "", Verdict.violated),
        ("a b", "a q", Verdict.violated),  # a token that the source does not have
        ("& U", "& U", Verdict.satisfied),
    ],
)
def test_verdicts(source, answer, verdict):
    judge = make_judge("copy")
    assert judge.verify(source, answer) is verdict
    assert judge.verify(source.split(), answer.split()) is verdict
    assert JudgePool(make_judge("copy")).verify_all([(source, answer)]) == [verdict]


def test_only_copying_has_a_distance():
    assert make_judge("prop").distance("a", "a 0") is None


def test_mean_distance_is_over_all_answers():
    counts = VerdictCounts({Verdict.satisfied: 2, Verdict.violated: 2})
    assert "distance" not in str(counts)
    for distance in (0, 0, 5, 2):
        counts.add_distance(distance)
    assert str(counts).endswith("unavailable 0; mean edit distance 1.75")
    none = VerdictCounts({Verdict.satisfied: 1})
    none.add_distance(None)
    assert "distance" not in str(none)
