"""The table of experiments."""

import pytest
from experiment_file import specification

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.experiments.table import experiments_table, value_at


def test_table_shows_mean_and_range_and_what_was_not_measured():
    def result(share, mean=None):
        found = {"test": {"correct": {"share": share}}}
        return {**found, "covariance": {"3": {"mean": mean}}} if mean is not None else found

    first = [result(0.5), result(0.25, 1.0), result(0.1, 0.0)]
    assert experiments_table(specification(), first) == [
        ["Data", "Model", "Correct", "3 AP"],
        ["All", "A", "50.00 %", "—"],
        ["All", "B", "25.00 %", "100.00 %"],
        ["Few", "B", "10.00 %", "0.00 %"],
    ]
    results = [*first, result(0.7), None, result(0.1, 0.5)]
    assert experiments_table(specification(), results) == [
        ["Data", "Model", "Correct", "3 AP"],
        ["All", "A", "60.00 % (50.00–70.00)", "—"],
        ["All", "B", "25.00 %", "100.00 %"],  # one of two seeds failed
        ["Few", "B", "10.00 % (10.00–10.00)", "25.00 % (0.00–50.00)"],
    ]


def test_numbers_of_weights_are_whole():
    measurements = {"training": {"columns": {"Parameters": {"number": "parameters"}}}}
    parts = {"conditions": {"All": "bin"}, "models": {"A": []}, "measurements": measurements}
    results = [{"training": {"parameters": 2906496}}] * 2
    assert experiments_table(specification(**parts), results)[1][2:] == ["2,906,496"]


def test_a_plain_number_is_no_percentage():
    measurements = {"training": {"columns": {"CPU min": {"number": "cpu_minutes"}}}}
    parts = {"conditions": {"All": "bin"}, "models": {"A": []}, "measurements": measurements}
    results = [{"training": {"cpu_minutes": minutes}} for minutes in (2.0, 4.0)]
    assert experiments_table(specification(**parts), results)[1][2:] == ["3.00 (2.00–4.00)"]


@pytest.mark.parametrize("path", ["correct.shares", "correct", "word", "right", "correct.share.x"])
def test_a_column_that_the_measurement_lacks_is_named(path):
    result = {"correct": {"share": 0.5}, "word": "x", "right": True}
    with pytest.raises(UserError, match=f"'{path}'"):
        value_at(result, path)
