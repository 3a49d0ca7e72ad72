"""Answers to problems, of a model or a file: judged while the next ones are made, and kept so that
a run can go on."""

import json
import logging
import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Collection, Dict, Iterator, List, Optional, Protocol, Sequence

from tqdm import tqdm
from tqdm.contrib.logging import logging_redirect_tqdm

from sit_fairseq.domains.by_name import accepting_judge, is_ours
from sit_fairseq.errors import UserError, excerpt
from sit_fairseq.judging.judge import Judge, Problem
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.model import Answer, Model
from sit_fairseq.search.verified_search import beam_widths
from sit_fairseq.storage.files import Place, read_sentences
from sit_fairseq.storage.journal import Journal

logger = logging.getLogger(__name__)

# Sentences of a file of answers that are judged and kept together.
_BATCH = 64


@dataclass
class Answered:
    """The outcome for one sentence."""

    answers: List[str]  # best first
    verdicts: List[Verdict] = field(default_factory=list)  # of the first answers, as far as known
    seconds: float = 0.0  # its share of the time of its batch
    reason: Optional[str] = None  # why there is no answer


class Answerer(Protocol):
    """A model, or a file of answers."""

    symbols: Optional[str]  # pattern of the interchangeable tokens, if it is known
    fresh_symbols: int  # how many symbols an answer may hold that its source lacks
    judge: Optional[Judge]  # of its own verdicts, if it gives any

    def decode(
        self, sources: Sequence[str], skip: Collection[int] = ()
    ) -> Iterator[Dict[int, Answered]]:
        """Answers sentences, and yields for each batch the answers by position.

        Batches depend on ``sources`` alone; those with all positions in ``skip`` are left out.
        """


class ModelAnswerer:
    """A model that answers sentences, see :class:`Answerer`; a UserError if it cannot be used.

    ``symbols`` and ``device`` are those of :meth:`Model.load`, the other options those of
    :meth:`Model.answers`; ``verify`` is the name of a judge. ``constrained`` may be ``auto``, for the
    grammar of the model's domain, or else of ``domain``.
    """

    def __init__(
        self,
        path: Place,
        *,
        symbols: Optional[str] = None,
        device: str = "cpu",
        verify: Optional[str] = None,
        constrained: Optional[str] = None,
        domain: Optional[str] = None,
        beams: Sequence[int] = (3,),
        **options: Any,
    ) -> None:
        self.judge = None if verify is None else accepting_judge(verify)
        self.model = Model.load(path, symbols=symbols, device=device)
        self.symbols, self.fresh_symbols = self.model.symbols, self.model.fresh_symbols
        if constrained == "auto" and domain is not None and not is_ours(self.model.domain):
            constrained = domain
        searched = {"verify": self.judge, "constrained": constrained}
        self._options = {**options, **searched, "beams": beam_widths(beams, "beams")}

    def decode(
        self, sources: Sequence[str], skip: Collection[int] = ()
    ) -> Iterator[Dict[int, Answered]]:
        """With ``verify`` the first answer comes with its verdict, if that is decided."""
        for batch in self.model.answers(sources, skip=skip, **self._options):
            yield {place: _answered(answer) for place, answer in batch.items()}


def _plain(sentence: str) -> str:
    return " ".join(sentence.split())


def _answered(answer: Answer) -> Answered:
    if answer.text is None:
        return Answered([], reason=answer.reason)
    decided = answer.verdict is not None and answer.verdict.decided
    return Answered([answer.text, *answer.others], [answer.verdict] if decided else [])


class GivenAnswers:
    """Answers with what a file says, see :class:`Answerer`; a UserError if it cannot be read.

    A file ``*.jsonl`` has objects with a ``source`` and its ``answer``, in any order. Any other
    file has one answer a line, in the order of the sentences.
    """

    judge, fresh_symbols = None, 0

    def __init__(self, path: Place, symbols: Optional[str] = None) -> None:
        self.symbols = symbols
        self._path = os.fspath(path)
        self._lines = read_sentences(path)

    def decode(
        self, sources: Sequence[str], skip: Collection[int] = ()
    ) -> Iterator[Dict[int, Answered]]:
        answers = self._lines
        if self._path.endswith(".jsonl"):
            known = self._by_source()
            lacking = [source for source in sources if _plain(source) not in known]
            if lacking:
                raise UserError(f"{self._path} has no answer to {excerpt(lacking[0])}", "generated")
            answers = [known[_plain(source)] for source in sources]
        if len(answers) != len(sources):
            raise UserError(
                f"{self._path} has {len(answers)} answers to {len(sources)} sentences", "generated"
            )
        left = [position for position in range(len(sources)) if position not in skip]
        for first in range(0, len(left), _BATCH):
            yield {at: Answered([answers[at]]) for at in left[first : first + _BATCH]}

    def _by_source(self) -> Dict[str, str]:
        found: Dict[str, str] = {}
        for number, line in enumerate(self._lines, start=1):
            try:
                entry = json.loads(line)
                if "journal" in entry:  # the first line of a journal
                    continue
                source, answer = _plain(entry["source"]), _plain(entry["answer"])
            except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
                raise UserError(f"line {number} of {self._path} has no source with an answer")
            if found.setdefault(source, answer) != answer:
                raise UserError(f"{self._path} has two different answers to {source!r}")
        return found


def answer_all(
    answerer: Answerer,
    problems: Sequence[Problem],
    journal: Journal,
    judges: Optional[JudgePool] = None,
) -> List[Answered]:
    """Answers the problems that a journal has no answers to, and judges the answers.

    While a batch is answered, the one before it is judged. Whatever interrupts the run, the journal
    keeps each batch that has been answered. The answers of a journal are judged again: its verdicts
    are for readers, and of several lines with one index the last one counts. A verdict of the
    answerer is not asked for again if it comes from the same kind of judge. A sentence that cannot
    be answered has the empty answer, which is invalid. A UserError if there are no problems, or the
    journal is damaged.
    """
    if not problems:
        raise UserError("there are no sentences to answer")
    found = _kept(journal, problems)
    if answerer.judge is not None:  # an answer was chosen for want of a verdict: ask again
        found = {at: e for at, e in found.items() if all(v.decided for v in e.verdicts)}
    both = answerer.judge, judges and judges.judge
    trusts = None not in both and both[0].signature() == both[1].signature()

    def judge(batch: Dict[int, Answered], afresh: bool = not trusts) -> None:
        pairs = []
        for at, entry in batch.items():
            entry.verdicts = [] if afresh else entry.verdicts
            pairs += [(problems[at], answer) for answer in entry.answers[len(entry.verdicts) :]]
        if judges is not None:
            verdicts = iter(judges.verify_all(pairs))
            for entry in batch.values():
                entry.verdicts += islice(verdicts, len(entry.answers) - len(entry.verdicts))
                if not entry.answers:
                    entry.verdicts = [Verdict.invalid]

    def note(batch: Dict[int, Answered]) -> None:
        journal.append(*({"index": at, "source": problems[at], **vars(batch[at])} for at in batch))

    def keep(batch: Dict[int, Answered], judged: Future) -> None:
        nonlocal last
        try:
            judged.result()
        finally:  # whatever became of the verdicts, which can be asked for again
            now = time.monotonic()
            for entry in batch.values():
                entry.seconds = (now - last) / len(batch)
            last = now
            note(batch)
        found.update(batch)
        bar.update(len(found) - bar.n)

    before = {at: list(entry.verdicts) for at, entry in found.items()}
    judge(found, afresh=True)
    note({at: entry for at, entry in found.items() if entry.verdicts != before[at]})
    last = time.monotonic()
    waiting: List[tuple] = []
    bar = tqdm(total=len(problems), initial=len(found), unit=" sentences")
    with ThreadPoolExecutor(max_workers=1) as beside, bar, logging_redirect_tqdm():
        try:
            for batch in answerer.decode(problems, skip=set(found)):
                waiting.append((batch, beside.submit(judge, batch)))
                if len(waiting) > 1:
                    keep(*waiting.pop(0))
        finally:
            while waiting:
                keep(*waiting.pop(0))
    lacking = [found[at] for at in range(len(problems)) if not found[at].answers]
    if lacking:
        logger.warning("%d sentences have no answer, such as: %s", len(lacking), lacking[0].reason)
    for entry in lacking:
        entry.answers = [""]
    return [found[position] for position in range(len(problems))]


def _kept(journal: Journal, problems: Sequence[Problem]) -> Dict[int, Answered]:
    """The answers of a journal, by position."""
    found = {}
    for number, entry in enumerate(journal.entries, start=2):
        try:
            at, answers, reason = entry["index"], entry["answers"], entry.get("reason")
            if not (isinstance(answers, list) and isinstance(reason, (str, type(None)))):
                raise TypeError
            answers = list(map(str.strip, answers))
            if at < 0 or problems[at] != entry["source"] or not (answers or reason):
                raise ValueError
            verdicts = list(map(Verdict, entry["verdicts"]))
            found[at] = Answered(answers, verdicts, float(entry["seconds"]), reason)
        except (ArithmeticError, LookupError, TypeError, ValueError):
            raise journal.damaged(number)
    return found
