"""An answerer whose answers are known, for the metrics to be tested with."""

from typing import Callable, List, Optional

from sit_fairseq.evaluation.answering import Answered
from sit_fairseq.judging.judge import Judge
from sit_fairseq.judging.verdict import Verdict


class FakeAnswerer:
    """Answers by a function, in small batches from the last sentence to the first.

    Args:
        answer: from a sentence to its answers, best first.
        interrupt_after: number of batches after which Ctrl-C is pressed.
        judge: the judge of ``verdicts``.
        verdicts: on the first answers to each sentence.

    Attributes:
        answered: the sentences that were answered.
    """

    batch_size, fresh_symbols, symbols = 3, 0, None

    def __init__(
        self,
        answer: Callable[[str], List[str]],
        interrupt_after: Optional[int] = None,
        judge: Optional[Judge] = None,
        verdicts: Optional[List[Verdict]] = None,
    ) -> None:
        self.answer, self.interrupt_after = answer, interrupt_after
        self.judge, self.verdicts = judge, verdicts or []
        self.answered: List[str] = []

    def decode(self, sources, skip=()):
        order = list(reversed(range(len(sources))))
        for number, first in enumerate(range(0, len(order), self.batch_size)):
            if number == self.interrupt_after:
                raise KeyboardInterrupt
            batch = order[first : first + self.batch_size]
            if all(position in skip for position in batch):
                continue
            self.answered += [sources[position] for position in batch]
            yield {at: Answered(self.answer(sources[at]), list(self.verdicts)) for at in batch}
