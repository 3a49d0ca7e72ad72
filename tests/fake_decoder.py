"""A decoder whose answers are known, for the metrics to be tested with."""

from typing import Callable, List, Optional


class FakeDecoder:
    """Answers by a function, in small batches from the last sentence to the first.

    Args:
        answer: from a sentence to its answers, best first.
        batch_size: sentences in a batch.
        interrupt_after: number of batches after which Ctrl-C is pressed.

    Attributes:
        decoded: the sentences that were answered.
    """

    def __init__(
        self,
        answer: Callable[[str], List[str]],
        batch_size: int = 3,
        interrupt_after: Optional[int] = None,
    ) -> None:
        self.answer = answer
        self.batch_size = batch_size
        self.interrupt_after = interrupt_after
        self.decoded: List[str] = []

    def decode(self, sources, skip=()):
        order = list(reversed(range(len(sources))))
        for number, first in enumerate(range(0, len(order), self.batch_size)):
            if number == self.interrupt_after:
                raise KeyboardInterrupt
            batch = order[first : first + self.batch_size]
            if all(position in skip for position in batch):
                continue
            self.decoded += [sources[position] for position in batch]
            yield batch, [self.answer(sources[position]) for position in batch]
