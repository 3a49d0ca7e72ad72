"""The order in which training sees its batches."""

from fairseq.data.iterators import EpochBatchIterator


class TrainingBatchIterator(EpochBatchIterator):
    """fairseq's training batches, shuffled in each epoch as that epoch says.

    fairseq would shuffle all epochs of a process, or none, as it does its first one: with
    ``--curriculum`` another order than after a restart. ``batches`` are those of fairseq, of which no
    epoch has begun.
    """

    def __init__(self, batches: EpochBatchIterator) -> None:
        vars(self).update(vars(batches))  # fairseq chooses the class of what it makes

    def _get_iterator_for_epoch(self, epoch, shuffle, fix_batches_to_gpus=False, offset=0):
        if self.dataloader is not None:
            # fairseq 0.12.2 keeps it under the name of the argument.
            sampler = getattr(self, "epoch_batch_sampler", self.batch_sampler)
            sampler.shuffle = shuffle
        return super()._get_iterator_for_epoch(epoch, shuffle, fix_batches_to_gpus, offset)
