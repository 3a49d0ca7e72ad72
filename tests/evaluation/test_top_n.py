from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.evaluation.top_n import measure_top_n, top_n_table
from sit_fairseq.validation.verdict import Verdict

GOOD, BAD, VACUOUS = Verdict.satisfied, Verdict.violated, Verdict.vacuous


def test_one_right_answer_among_the_first_n():
    verdicts = [
        [GOOD, BAD, BAD],
        [BAD, GOOD, GOOD],
        [VACUOUS, BAD, GOOD],
        [VACUOUS, VACUOUS, BAD],
        [BAD],  # fewer answers than asked for
    ]
    result = measure_top_n(verdicts, [3, 1, 2])
    assert result == {"1": Proportion(1, 5), "2": Proportion(2, 5), "3": Proportion(3, 5)}
    assert [row[:2] for row in top_n_table(result)[1:]] == [["1", 1], ["2", 2], ["3", 3]]
