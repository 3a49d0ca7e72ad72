"""The order of training batches over epochs, ranks and restarts."""

import numpy
import pytest
import torch
from fairseq.data.iterators import EpochBatchIterator, GroupedIterator

from sit_fairseq.training.training_batches import (
    LengthRamp,
    TrainingBatchIterator,
    order_within,
)


def dataset(sizes):
    class Sizes(torch.utils.data.Dataset):
        src_sizes = numpy.array(sizes)

        def __getitem__(self, index):
            return index

    return Sizes()


def iterator(sizes, ramp=None, update_freq=(1,), batch_size=4, **options):
    batches = numpy.split(
        numpy.argsort(sizes, kind="stable"), range(batch_size, len(sizes), batch_size)
    )
    plain = EpochBatchIterator(dataset(sizes), list, batches, reuse_dataloader=True, **options)
    return TrainingBatchIterator(plain, ramp and LengthRamp(*ramp), update_freq)


def epoch_of(batches, update_freq):
    """The updates of the next epoch: a list of batches each, of sentence indices."""
    itr = batches.next_epoch_itr()
    return list(GroupedIterator(itr, update_freq))


SIZES = numpy.random.default_rng(7).integers(3, 30, 202)


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("update_freq", [1, 2])
def test_batches_of_an_update_share_its_limit(ranks, update_freq):
    options = dict(update_freq=[update_freq], num_shards=ranks)
    own = [
        epoch_of(iterator(SIZES, (6, 7), shard_id=rank, **options), update_freq)
        for rank in range(ranks)
    ]
    seen = [i for rank in own for update in rank for batch in update for i in batch]
    assert sorted(seen) == list(range(len(SIZES)))
    for update in range(6):
        limit = 7 + (SIZES.max() - 7) * update / 6
        for rank in own:
            if update < len(rank):
                assert SIZES[sum(rank[update], [])].max() <= limit


def test_ramp_goes_on_in_later_epochs_and_ends():
    batches = iterator(SIZES, (60, 5), update_freq=[2, 1])  # 51 batches: 26, then 51 updates
    plain = EpochBatchIterator(batches.dataset, list, batches.frozen_batches)
    epochs = [epoch_of(batches, 1) for _ in range(4)]
    expected = [list(map(lambda batch: [batch], plain.next_epoch_itr())) for _ in range(4)]
    for number, epoch in enumerate(epochs):
        assert sorted(sum(sum(epoch, []), [])) == list(range(len(SIZES)))
        assert (epoch == expected[number]) == (number >= 2)  # 26 + 51 updates are more than 60
    longest = [SIZES[update[0]].max() for update in epochs[1]]
    assert longest[0] <= 5 + (SIZES.max() - 5) * 26 / 60
    assert max(longest[:34]) < max(longest)


@pytest.mark.parametrize("epoch", [1, 2])
@pytest.mark.parametrize("offset", [1, 13, 50])
def test_restored_iterator_goes_on_in_the_same_order(epoch, offset):
    whole = iterator(SIZES, (80, 5))
    for _ in range(epoch):
        expected = list(whole.next_epoch_itr())
    resumed = iterator(SIZES, (80, 5), epoch=epoch)
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


# The order under a limit that rises.


def limits(lengths, places, ramp_end, start):
    return start + (max(lengths) - start) * numpy.minimum(numpy.arange(places) / ramp_end, 1.0)


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
