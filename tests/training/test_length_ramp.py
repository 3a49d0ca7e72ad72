"""The order of batches under a limit that rises."""

import numpy
import pytest

from sit_fairseq.training.training_batches import LengthRamp, order_within


def limits(lengths, places, ramp_end, start):
    rising = start + (max(lengths) - start) * numpy.minimum(numpy.arange(places) / ramp_end, 1.0)
    return rising


@pytest.mark.parametrize("seed", range(5))
def test_every_batch_has_a_place_and_is_within_the_limit_of_it_if_any_is(seed):
    rng = numpy.random.default_rng(seed)
    lengths = rng.integers(3, 40, 300)
    limit = limits(lengths, 300, int(rng.integers(1, 900)), int(rng.integers(1, 30)))
    order = order_within(lengths, limit, rng)
    assert sorted(order.tolist()) == list(range(300))
    remaining = sorted(lengths.tolist())
    for index, bound in zip(order, limit):
        assert lengths[index] <= max(bound, remaining[0])
        remaining.remove(lengths[index])


def test_draws_are_uniform_among_the_batches_within_the_limit():
    lengths = numpy.array([9, 2, 4, 4, 3])
    limit = numpy.array([4, 4, 9, 9, 9])
    rng = numpy.random.default_rng(1)
    orders = numpy.array([order_within(lengths, limit, rng) for _ in range(4000)])
    first, second, third = (numpy.bincount(orders[:, place], minlength=5) for place in range(3))
    # Deviations of 27 to 37 are expected.
    for counts in (first, second):
        assert counts[0] == 0
        assert abs(counts[1:] - 1000).max() < 150
    # The long batch is one of three from then on.
    assert abs(third[0] - 4000 / 3) < 150
    assert len(numpy.unique(orders, axis=0)) == 2 * 4 * 3 * 3


def test_batches_of_one_length_beyond_the_limit_come_in_random_order():
    orders = [
        order_within(numpy.full(4, 7), numpy.zeros(4), numpy.random.default_rng(seed)).tolist()
        for seed in range(400)
    ]
    assert len({tuple(order) for order in orders}) == 24


def test_limit_rises_linearly_and_ends_at_the_longest():
    lengths = numpy.array([5, 36, 7])
    updates = numpy.array([0, 650, 1300, 9000])
    assert LengthRamp(1300, 6).limits(lengths, updates).tolist() == [6, 21, 36, 36]
    assert LengthRamp(1300, None).limits(lengths, updates).tolist() == [5, 20.5, 36, 36]
