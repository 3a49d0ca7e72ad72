"""Short sentences first: an order of the training batches under a limit that rises."""

from dataclasses import dataclass
from typing import List, Optional

import numpy

from sit_fairseq.errors import UserError


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
