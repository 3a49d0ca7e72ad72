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
