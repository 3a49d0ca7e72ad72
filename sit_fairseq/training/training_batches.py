"""The order in which training sees its batches: fairseq's, or short sentences first."""

import logging
from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple

import numpy
from fairseq.data.iterators import EpochBatchIterator, ShardedIterator

from sit_fairseq.errors import UserError

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LengthRamp:
    """A limit on the length of training batches that rises linearly to the longest in ``updates``.

    It starts at ``start`` source tokens with ``</s>``, by default at the length of the shortest.
    """

    updates: int
    start: Optional[int]

    @classmethod
    def from_options(cls, updates: int, start: Optional[int]) -> Optional["LengthRamp"]:
        """The ramp of ``--length-ramp-updates`` and ``--length-ramp-start``; None for no ramp."""
        if updates < 0 or (start is not None and (updates == 0 or start < 1)):
            raise UserError(
                "a ramp of lengths has a positive number of updates, and starts at a positive "
                "number of tokens",
                "length_ramp_updates length_ramp_start",
            )
        return cls(updates, start) if updates else None

    def limits(self, lengths: numpy.ndarray, updates: numpy.ndarray) -> numpy.ndarray:
        """(m,) the longest batch in tokens that each of (m,) updates, counted from 0, may get, given
        the (n,) lengths of all batches."""
        longest = lengths.max()
        start = lengths.min() if self.start is None else min(self.start, longest)
        return start + (longest - start) * numpy.minimum(updates / self.updates, 1.0)


def order_within(
    lengths: numpy.ndarray, limits: numpy.ndarray, rng: numpy.random.Generator
) -> numpy.ndarray:
    """A random order in which each batch is within the limit of its place.

    Place by place, one of the batches that remain and are within the limit is drawn, each with the
    same probability. Where none is left it is the shortest that remains. ``lengths`` are (n,) of
    the batches, ``limits`` (n,) of the places, never falling. Takes a time of n log n.
    """
    by_length = rng.permutation(len(lengths))  # those of one length are in random order
    by_length = by_length[numpy.argsort(lengths[by_length], kind="stable")]
    admitted = numpy.searchsorted(lengths[by_length], limits, side="right")
    order: List[int] = []
    within: List[int] = []
    known = 0
    for place, count in enumerate(admitted.tolist()):
        count = max(count, known if within else place + 1)
        within += by_length[known:count].tolist()
        known = count
        drawn = int(rng.integers(len(within)))
        within[drawn], within[-1] = within[-1], within[drawn]
        order.append(within.pop())
    return numpy.array(order)


class TrainingBatchIterator(EpochBatchIterator):
    """fairseq's training batches, in the order of a :class:`LengthRamp` while it rises.

    The order is a function of the batches, the seed, the epoch, the number of ranks and
    ``--update-freq``, so that a resumed training goes on in it. Each epoch has each batch once.

    ``batches`` are those of fairseq, of which no epoch has begun; ``update_freq`` are the batches per
    update and rank in each epoch, of which the last holds from there on.
    """

    def __init__(
        self,
        batches: EpochBatchIterator,
        ramp: Optional[LengthRamp] = None,
        update_freq: Sequence[int] = (),
    ) -> None:
        if ramp is not None and batches.grouped_shuffling:
            raise UserError(
                "a ramp of lengths and grouped shuffling both order the batches; choose one",
                "length_ramp_updates grouped_shuffling",
            )
        vars(self).update(vars(batches))  # fairseq chooses the class of what it makes
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
        """As in fairseq: the batches of this rank in an epoch."""
        if shuffle and self.ramp is not None:
            first, frequency = self._first_update(epoch)
            if first < self.ramp.updates:
                return self._ramped_batches(epoch, first, frequency)
        return super().ordered_batches(epoch, fix_batches_to_gpus, shuffle)

    def _first_update(self, epoch: int) -> Tuple[int, int]:
        """The updates before an epoch, and its batches per update and rank."""
        last = len(self.update_freq) - 1
        frequencies = [self.update_freq[min(number, last)] for number in range(epoch)]
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
        logger.info(
            "epoch %d: batches of at most %.1f tokens from update %d, of at most %.1f at update "
            "%d; %d of its %d batches are longer, as no shorter one was left",
            *(epoch, limits[0], updates[0], limits[-1], updates[-1]),
            *((lengths[order] > limits).sum(), len(limits)),
        )
        ordered = [self.frozen_batches[index] for index in order]
        own = list(ShardedIterator(ordered, self.num_shards, self.shard_id, fill_value=[]))
        if self._supports_prefetch:
            self.dataset.prefetch([sentence for batch in own for sentence in batch])
        return own
