"""Decoding and judging at the same time, with a journal of what has been done."""

import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Collection, Deque, Iterator, List, Optional, Protocol, Sequence, Tuple

from tqdm import tqdm

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.answer_journal import Answered, AnswerJournal
from sit_fairseq.evaluation.decoding import Batch
from sit_fairseq.evaluation.generate_output import read_generate_output
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.logic.syntax import tokenize


class Decoder(Protocol):
    """Whatever answers sentences, as ``CheckpointDecoder`` does."""

    def decode(self, sources: Sequence[str], skip: Collection[int] = ()) -> Iterator[Batch]:
        """Yields positions in ``sources`` and the answers to each, best first; None for one that
        the model cannot read."""


class GeneratedAnswers:
    """The answers that ``fairseq-generate`` has printed.

    Args:
        path: its output.

    Raises:
        UserError: the file cannot be read.
    """

    # Sentences at a time: they are judged and recorded together.
    _BATCH = 64

    def __init__(self, path: str) -> None:
        self._sentences = read_generate_output(path)
        self._path = path

    def decode(self, sources: Sequence[str], skip: Collection[int] = ()) -> Iterator[Batch]:
        """See :class:`Decoder`.

        Raises:
            UserError: the file does not answer exactly these sentences.
        """
        if len(self._sentences) != len(sources):
            raise UserError(
                f"{self._path} has answers to {len(self._sentences)} sentences, but there are "
                f"{len(sources)}; generate again with --required-batch-size-multiple 1, or name "
                "the data it was made from."
            )
        for number, (sentence, source) in enumerate(zip(self._sentences, sources), start=1):
            if not sentence.hypotheses or not _printed_as(source, sentence.source):
                raise UserError(
                    f"{self._path} does not answer line {number}, {source!r}; name the data it "
                    "was made from."
                )
        for first in range(0, len(sources), self._BATCH):
            batch = [
                position
                for position in range(first, min(first + self._BATCH, len(sources)))
                if position not in skip
            ]
            if batch:
                best = (self._sentences[position].best for position in batch)
                yield batch, [None if answer.is_none else [answer.text] for answer in best]


def _printed_as(source: str, printed: str) -> bool:
    """Whether fairseq may have printed a sentence so: unknown tokens are ``<unk>`` there."""
    ours, theirs = tokenize(source), tokenize(printed)
    return len(ours) == len(theirs) and all(
        token in (own, "<unk>") for own, token in zip(ours, theirs)
    )


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

    def judge(positions: List[int], nbest: List[Optional[List[str]]]) -> List[List[Verdict]]:
        if judges is None:
            return [[Verdict.unread] if answers is None else [] for answers in nbest]
        return judges.verify_answers([judged_against[position] for position in positions], nbest)

    last = time.monotonic()

    def settle(positions: List[int], nbest: List[Optional[List[str]]], judged: Future) -> None:
        nonlocal last
        verdicts = judged.result()
        now = time.monotonic()
        share, last = (now - last) / len(positions), now
        entries = (
            Answered([""] if answers is None else answers, own, share)
            for answers, own in zip(nbest, verdicts)
        )
        journal.record(
            {position: sources[position] for position in positions}, dict(zip(positions, entries))
        )
        bar.update(len(journal.answered) - bar.n)

    waiting: Deque[Tuple[List[int], List[Optional[List[str]]], Future]] = deque()
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
