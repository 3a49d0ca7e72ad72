"""Short sentences first: an order of the training batches under a limit that rises."""

import logging
from dataclasses import dataclass
from typing import List, Optional, Sequence, Tuple

import numpy
from fairseq.data.iterators import EpochBatchIterator, ShardedIterator

from sit_fairseq.errors import UserError

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LengthRamp:
    """A limit on the length of training batches that rises linearly with the updates.

    Args:
        updates: how many updates it takes the limit to reach the longest batch.
        start: the limit at the first update, in source tokens with ``</s>``; None for the
            length of the shortest batch.
    """

    updates: int
    start: Optional[int]

    @classmethod
    def from_options(cls, updates: int, start: Optional[int]) -> Optional["LengthRamp"]:
        """The ramp of ``--length-ramp-updates`` and ``--length-ramp-start``; None for no ramp.

        Raises:
            UserError: on values that make no ramp.
        """
        if updates < 0:
            raise UserError(
                f"--length-ramp-updates must be a number of updates, or 0 for no ramp, not {updates}"
            )
        if start is not None and updates == 0:
            raise UserError("--length-ramp-start needs --length-ramp-updates, how long it rises")
        if start is not None and start < 1:
            raise UserError(f"--length-ramp-start must be a number of tokens, not {start}")
        return cls(updates, start) if updates else None

    def limits(self, lengths: numpy.ndarray, updates: numpy.ndarray) -> numpy.ndarray:
        """The longest batch that each update may get.

        Args:
            lengths: (n,) of all batches of the training set.
            updates: (m,) counted from 0.

        Returns:
            (m,) limits in tokens; from the end of the ramp on, the longest batch.

        Raises:
            UserError: there is nothing to rise to.
        """
        longest = lengths.max()
        start = lengths.min() if self.start is None else self.start
        if self.start is not None and start >= longest:
            raise UserError(
                f"--length-ramp-start {start} leaves nothing to rise to: the longest training "
                f"source has {longest} tokens with </s>; choose less, or leave out the ramp"
            )
        return start + (longest - start) * numpy.minimum(updates / self.updates, 1.0)


def order_within(
    lengths: numpy.ndarray, limits: numpy.ndarray, rng: numpy.random.Generator
) -> numpy.ndarray:
    """A random order in which each batch is within the limit of its place.

    Place by place, one of the batches that remain and are within the limit is drawn, each
    with the same probability. Where none is left it is the shortest that remains, so that
    every batch has a place in any case.

    Args:
        lengths: (n,) of the batches.
        limits: (n,) of the places, never falling.
        rng: the source of randomness.

    Returns:
        (n,) the batch at each place; takes a time of n log n.
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


class RampedBatchIterator(EpochBatchIterator):
    """fairseq's training batches, in the order of a :class:`LengthRamp` while it rises.

    The order of an epoch is a function of the batches, the seed, the epoch, the number of
    ranks and ``--update-freq``, so that a resumed training goes on in it. Each batch has its
    place once in each epoch. Epochs that begin after the ramp are fairseq's.

    Args:
        batches: what fairseq made, of which no epoch has begun.
        ramp: the limit.
        update_freq: batches per update and rank, for each epoch; the last holds from there on.

    Raises:
        UserError: if fairseq is to group the batches by another rule.
    """

    def __init__(
        self, batches: EpochBatchIterator, ramp: LengthRamp, update_freq: Sequence[int]
    ) -> None:
        if batches.grouped_shuffling:
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
            reuse_dataloader=batches.reuse_dataloader,
        )
        self.ramp = ramp
        self.update_freq = update_freq

    def ordered_batches(self, epoch: int, fix_batches_to_gpus: bool, shuffle: bool) -> list:
        """The batches of this rank in an epoch, see fairseq."""
        first, frequency = self._first_update(epoch)
        if not shuffle or first >= self.ramp.updates:
            return super().ordered_batches(epoch, fix_batches_to_gpus, shuffle)
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
