import pytest

from sit_fairseq.domains.by_name import make_judge
from sit_fairseq.evaluation.correct import correct_table, measure_correct
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.judging.judge import Problem
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.symbols.pattern import SymbolPattern

SOURCES = ["& a b", "| a b", "| a b", "a", "b"]
TARGETS = ["a 1 b 1", "a 1", "a 1", "a 1", "b 1"]
ANSWERS = ["b 1 a 1", "a 1", "b 1", "a 1 a 0", "b 2"]
PROBLEMS = list(map(Problem, SOURCES, TARGETS))


def test_every_sentence_is_in_the_denominator():
    judge = make_judge("prop")
    verdicts = list(map(judge.verify, SOURCES, ANSWERS))
    result = measure_correct(judge, PROBLEMS, ANSWERS, verdicts)
    assert result["correct"] == Proportion(3, 5)
    assert result["exact"] == Proportion(1, 5)
    assert result["exact_modulo_order"] == Proportion(2, 5)
    counted = {name: count for name, count in result["verdicts"].items() if count}
    assert counted == {"satisfied": 3, "vacuous": 1, "invalid": 1}
    assert set(result["verdicts"]) == {verdict.value for verdict in Verdict}
    assert "mean_edit_distance" not in result
    rows = correct_table(result)
    assert rows[0] == ["", "sentences", "share and 95 % interval"]
    assert [row[0] for row in rows[1:5]] == ["all", "correct", "exact", "exact modulo order"]
    assert rows[1:3] == [["all", 5, ""], ["correct", 3, Proportion(3, 5)]]
    assert ["vacuous", 1, Proportion(1, 5)] in rows


def test_accuracy_by_number_of_symbols():
    sources = ["& a b", "| a & b a", "xor a & b c", "a", "! 0"]
    verdicts = [Verdict.satisfied, Verdict.violated, Verdict.satisfied, Verdict.invalid]
    verdicts.append(Verdict.satisfied)
    problems = list(map(Problem, sources, TARGETS))
    pattern = SymbolPattern("[a-z]")
    result = measure_correct(make_judge("prop"), problems, ANSWERS, verdicts, pattern=pattern)
    by_symbols = result["correct_by_symbols"]
    assert list(by_symbols) == ["0", "1", "2", "3"]
    assert by_symbols["2"] == Proportion(1, 2) and by_symbols["1"] == Proportion(0, 1)
    assert sum(share.total for share in by_symbols.values()) == result["correct"].total
    assert sum(share.count for share in by_symbols.values()) == result["correct"].count
    rows = correct_table(result)
    assert ["correct of those with 1 symbol", "0 of 1", Proportion(0, 1)] in rows
    assert ["correct of those with 2 symbols", "1 of 2", Proportion(1, 2)] in rows


# Shares with their intervals.


@pytest.mark.parametrize(
    "count, total, low, high",
    [
        # By hand with z = 1.959964: (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n).
        (8, 10, 0.4901625, 0.9433178),
        (0, 10, 0.0, 0.2775328),
        (1, 4, 0.0455871, 0.6993582),
        (0, 0, 0.0, 1.0),
    ],
)
def test_wilson_interval(count, total, low, high):
    assert Proportion(count, total).interval() == pytest.approx((low, high), abs=1e-6)
