"""The order of training batches over epochs and restarts."""

import numpy
import pytest
import torch
from fairseq.data.iterators import EpochBatchIterator

from sit_fairseq.training.training_batches import TrainingBatchIterator


def dataset(sizes):
    class Sizes(torch.utils.data.Dataset):
        src_sizes = numpy.array(sizes)

        def __getitem__(self, index):
            return index

    return Sizes()


def iterator(sizes, **options):
    batches = numpy.split(numpy.argsort(sizes, kind="stable"), range(4, len(sizes), 4))
    return TrainingBatchIterator(
        EpochBatchIterator(dataset(sizes), list, batches, reuse_dataloader=True, **options)
    )


SIZES = numpy.random.default_rng(7).integers(3, 30, 202)


@pytest.mark.parametrize("epoch", [1, 2])
@pytest.mark.parametrize("offset", [1, 13, 50])
def test_restored_iterator_goes_on_in_the_same_order(epoch, offset):
    whole = iterator(SIZES)
    for _ in range(epoch):
        expected = list(whole.next_epoch_itr())
    resumed = iterator(SIZES, epoch=epoch)
    resumed.load_state_dict(
        {"version": 2, "epoch": epoch, "iterations_in_epoch": offset, "shuffle": True}
    )
    assert list(resumed.next_epoch_itr()) == expected[offset:]
    assert list(resumed.next_epoch_itr()) == list(whole.next_epoch_itr())


def test_shuffling_may_begin_in_a_later_epoch():
    """As with ``--curriculum``, also after a restart."""
    whole = iterator(SIZES)
    epochs = [list(whole.next_epoch_itr(shuffle=number > 1)) for number in (1, 2, 3)]
    assert epochs[0] == [list(batch) for batch in whole.frozen_batches]
    assert len({tuple(map(tuple, epoch)) for epoch in epochs}) == 3
    resumed = iterator(SIZES, epoch=2)
    assert [list(resumed.next_epoch_itr()) for _ in range(2)] == epochs[1:]
<<<<<<< HEAD
=======


# The order under a limit that rises.


def limits(lengths, places, ramp_end, start):
    return start + (max(lengths) - start) * numpy.minimum(numpy.arange(places) / ramp_end, 1.0)


@pytest.mark.parametrize("seed", range(2))
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
>>>>>>> ccbc88a (Tests: one table of refusals of tasks, fewer cases of one mechanism (tasks, training))
