"""The pace of training."""

import logging
import time
from typing import List

import numpy

logger = logging.getLogger(__name__)


class Pace:
    """Logs once what training costs: streams and tokens of a sentence, and the time of an update."""

    UPDATES = 10  # of the first some wait for memory or for data

    def __init__(self, streams: numpy.ndarray, *sizes: numpy.ndarray) -> None:
        self._streams, self._sizes = streams, sizes
        self._ends: List[float] = []

    def note_update(self) -> None:
        if len(self._ends) > self.UPDATES:
            return
        self._ends.append(time.monotonic())
        if len(self._ends) > self.UPDATES:
            seconds = float(numpy.median(numpy.diff(self._ends)))
            tokens = " + ".join(f"{lengths.mean():.1f}" for lengths in self._sizes)
            logger.info(
                "sentences have %.1f streams (at most %d) and %s tokens on average; an update takes "
                "%.3g s, 1000 of them %.3g minutes",
                *(self._streams.mean(), self._streams.max(), tokens, seconds, seconds * 1000 / 60),
            )
