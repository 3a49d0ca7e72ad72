"""Decoding and judging at the same time, with a journal of what has been done."""

import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Collection, Deque, Iterator, List, Optional, Protocol, Sequence, Tuple

from tqdm import tqdm

from sit_fairseq.evaluation.answer_journal import Answered, AnswerJournal
from sit_fairseq.evaluation.decoding import Batch
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict


class Decoder(Protocol):
    """Whatever answers sentences, as ``CheckpointDecoder`` does."""

    def decode(self, sources: Sequence[str], skip: Collection[int] = ()) -> Iterator[Batch]:
        """Yields positions in ``sources`` and the answers to each, best first."""


def answer_all(
    decoder: Decoder,
    sources: Sequence[str],
    journal: AnswerJournal,
    judges: Optional[JudgePool] = None,
    problems: Optional[Sequence[str]] = None,
) -> List[Answered]:
    """Answers sentences that the journal does not have, and judges the answers.

    While a batch is decoded, the one before it is judged; then it is recorded. Whatever
    interrupts the run, a batch that has been decoded is recorded.

    Args:
        decoder: answers them.
        sources: the sentences.
        journal: takes the answers.
        judges: who judges them, None for nobody.
        problems: what they are judged against, None for the sentences.

    Returns:
        One entry for each sentence, in order.
    """

    judged_against = sources if problems is None else problems

    def judge(positions: List[int], nbest: List[List[str]]) -> List[List[Verdict]]:
        if judges is None:
            return [[] for _ in nbest]
        return judges.verify_answers([judged_against[position] for position in positions], nbest)

    last = time.monotonic()

    def settle(positions: List[int], nbest: List[List[str]], judged: Future) -> None:
        nonlocal last
        verdicts = judged.result()
        now = time.monotonic()
        share, last = (now - last) / len(positions), now
        entries = (Answered(answers, own, share) for answers, own in zip(nbest, verdicts))
        journal.record(
            {position: sources[position] for position in positions}, dict(zip(positions, entries))
        )
        bar.update(len(journal.answered) - bar.n)

    waiting: Deque[Tuple[List[int], List[List[str]], Future]] = deque()
    done = {
        position for position, entry in journal.answered.items() if entry.verdicts or judges is None
    }
    with ThreadPoolExecutor(max_workers=1) as judging, tqdm(
        total=len(sources), initial=len(done), unit=" sentences"
    ) as bar:
        try:
            for positions, nbest in decoder.decode(sources, skip=done):
                waiting.append((positions, nbest, judging.submit(judge, positions, nbest)))
                if len(waiting) > 1:
                    settle(*waiting.popleft())
        finally:
            while waiting:
                settle(*waiting.popleft())
    return [journal.answered[position] for position in range(len(sources))]
