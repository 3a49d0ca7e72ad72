"""The pace of training, which is logged once."""

import logging
import time
from typing import List

import numpy

logger = logging.getLogger(__name__)


class Pace:
    """Logs once what training costs: the size of a sentence, and the time of an update.

    Args:
        streams: (n,) of the sentences.
        sizes: (n,) lengths of each side, in tokens with ``</s>``.
    """

    # Of the first updates some wait for memory or for data.
    UPDATES = 10

    def __init__(self, streams: numpy.ndarray, *sizes: numpy.ndarray) -> None:
        self._streams, self._sizes = streams, sizes
        self._ends: List[float] = []

    def note_update(self) -> None:
        """An update has been made."""
        if len(self._ends) > self.UPDATES:
            return
        self._ends.append(time.monotonic())
        if len(self._ends) > self.UPDATES:
            seconds = float(numpy.median(numpy.diff(self._ends)))
            logger.info(
                "sentences have %.1f streams (at most %d) and %s tokens on average; an update takes "
                "%.3g s, 1000 of them %.3g minutes",
                self._streams.mean(),
                self._streams.max(),
                " + ".join(f"{lengths.mean():.1f}" for lengths in self._sizes),
                seconds,
                seconds * 1000 / 60,
            )
