import pytest

from sit_fairseq.evaluation.proportion import Proportion


@pytest.mark.parametrize(
    "count, total, low, high",
    [
        # By hand with z = 1.959964: (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n).
        (8, 10, 0.4901625, 0.9433178),
        (0, 10, 0.0, 0.2775328),
        (10, 10, 0.7224672, 1.0),
        (1, 4, 0.0455871, 0.6993582),
        (980, 1000, 0.9693100, 0.9870163),
        (0, 0, 0.0, 1.0),
    ],
)
def test_wilson_interval(count, total, low, high):
    assert Proportion(count, total).interval() == pytest.approx((low, high), abs=1e-6)


def test_shown_in_per_cent_and_written_in_full():
    proportion = Proportion(8, 10)
    assert str(proportion) == "80.00 % [49.02, 94.33]"
    written = proportion.as_json()
    assert (written["count"], written["total"], written["share"]) == (8, 10, 0.8)
    assert written["interval_95"] == pytest.approx([0.4901625, 0.9433178], abs=1e-6)
    assert Proportion(0, 0).share == 0.0
