"""The order in which training sees its batches."""

import logging
from typing import Optional, Sequence, Tuple

import numpy
from fairseq.data.iterators import EpochBatchIterator, ShardedIterator

from sit_fairseq.errors import UserError
from sit_fairseq.training.length_ramp import LengthRamp, order_within

logger = logging.getLogger(__name__)


class TrainingBatchIterator(EpochBatchIterator):
    """fairseq's training batches, in the order of a :class:`LengthRamp` while it rises.

    The order of an epoch is a function of the batches, the seed, the epoch, the number of
    ranks and ``--update-freq``, so that a resumed training goes on in it. Each batch has its
    place once in each epoch. Epochs that begin after the ramp are as without one.

    Args:
        batches: what fairseq made, of which no epoch has begun.
        ramp: the limit, None for no ramp.
        update_freq: batches per update and rank, for each epoch; the last holds from there
            on. Only a ramp needs it.

    Raises:
        UserError: if fairseq is to group the batches by another rule.
    """

    def __init__(
        self,
        batches: EpochBatchIterator,
        ramp: Optional[LengthRamp] = None,
        update_freq: Sequence[int] = (),
    ) -> None:
        if ramp is not None and batches.grouped_shuffling:
            raise UserError(
                "--length-ramp-updates and --grouped-shuffling are two orders of the same "
                "batches; leave one out"
            )
        super().__init__(
            dataset=batches.dataset,
            collate_fn=batches.collate_fn,
            batch_sampler=batches.frozen_batches,
            seed=batches.seed,
            num_shards=batches.num_shards,
            shard_id=batches.shard_id,
            num_workers=batches.num_workers,
            epoch=batches.epoch,
            buffer_size=batches.buffer_size,
            skip_remainder_batch=batches.skip_remainder_batch,
            grouped_shuffling=batches.grouped_shuffling,
            reuse_dataloader=batches.reuse_dataloader,
        )
        self.ramp = ramp
        self.update_freq = update_freq

    def _get_iterator_for_epoch(self, epoch, shuffle, fix_batches_to_gpus=False, offset=0):
        # fairseq would shuffle all epochs of a process, or none, as it does its first one:
        # with --curriculum another order than after a restart.
        if self.dataloader is not None:
            # fairseq 0.12.2 keeps it under the name of the argument.
            sampler = getattr(self, "epoch_batch_sampler", self.batch_sampler)
            sampler.shuffle = shuffle
        return super()._get_iterator_for_epoch(epoch, shuffle, fix_batches_to_gpus, offset)

    def ordered_batches(self, epoch: int, fix_batches_to_gpus: bool, shuffle: bool) -> list:
        """The batches of this rank in an epoch, see fairseq."""
        if shuffle and self.ramp is not None:
            first, frequency = self._first_update(epoch)
            if first < self.ramp.updates:
                return self._ramped_batches(epoch, first, frequency)
        return super().ordered_batches(epoch, fix_batches_to_gpus, shuffle)

    def _first_update(self, epoch: int) -> Tuple[int, int]:
        """The updates before an epoch, and its batches per update and rank."""
        frequencies = [
            self.update_freq[min(number, len(self.update_freq)) - 1]
            for number in range(1, epoch + 1)
        ]
        if self.skip_remainder_batch:
            updates = [(len(self) - 1) // frequency for frequency in frequencies]
        else:
            updates = [-(-len(self) // frequency) for frequency in frequencies]
        return sum(updates[:-1]), frequencies[-1]

    def _ramped_batches(self, epoch: int, first: int, frequency: int) -> list:
        sizes = self.dataset.src_sizes
        lengths = numpy.array([sizes[batch].max() for batch in self.frozen_batches])
        updates = first + numpy.arange(len(lengths)) // (self.num_shards * frequency)
        limits = self.ramp.limits(lengths, updates)
        order = order_within(lengths, limits, numpy.random.default_rng((self.seed, epoch)))
        self._log(epoch, updates, limits, int((lengths[order] > limits).sum()))
        ordered = [self.frozen_batches[index] for index in order]
        own = list(ShardedIterator(ordered, self.num_shards, self.shard_id, fill_value=[]))
        if self._supports_prefetch:
            self.dataset.prefetch([sentence for batch in own for sentence in batch])
        return own

    def _log(self, epoch: int, updates, limits, late: int) -> None:
        beyond = (
            f"; {late} of its {len(limits)} batches are longer, as an epoch holds every batch and "
            "no shorter one was left"
        )
        logger.info(
            "epoch %d: batches of at most %.1f tokens from update %d, of at most %.1f at update "
            "%d%s",
            epoch,
            limits[0],
            updates[0],
            limits[-1],
            updates[-1],
            beyond if late else "",
        )
