"""Verdicts and their counts."""

from sit_fairseq.judging.verdict import Verdict, VerdictCounts


def test_values_are_the_words():
    words = "satisfied violated vacuous invalid timeout error unavailable".split()
    assert [verdict.value for verdict in Verdict] == words
    assert Verdict("vacuous") is Verdict.vacuous


def test_every_verdict_is_in_the_denominator():
    counts = VerdictCounts(Verdict)  # one of each
    assert (counts.correct, counts.total) == (1, 7)
    counts.update([Verdict.satisfied, Verdict.timeout])
    assert (counts.correct, counts.total) == (2, 9)


def test_text():
    counts = VerdictCounts({Verdict.satisfied: 97, Verdict.violated: 2, Verdict.invalid: 1})
    assert str(counts) == (
        "97/100 correct; satisfied 97, violated 2, vacuous 0, invalid 1, timeout 0, error 0, "
        "unavailable 0"
    )
    assert str(VerdictCounts()).startswith("0/0 correct; satisfied 0, violated 0")
