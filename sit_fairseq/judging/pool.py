"""Judging many answers at once, in processes that can be stopped."""

import logging
import pickle
from contextlib import closing
from functools import partial
from itertools import islice
from typing import Any, Iterable, Iterator, List, Optional, Sequence, Tuple

from sit_fairseq.errors import MalformedFormula, UserError
from sit_fairseq.judging.judge import Judge
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.judging.workers import End, WorkerPool

logger = logging.getLogger(__name__)

# A problem and the answer to it, as judges take them.
Pair = Tuple[str, str]


def _ask(judge: Judge, question: Sequence[str]) -> Any:
    """Asks for a verdict on a pair, or whether a single problem is solvable."""
    return judge.verify(*question) if len(question) == 2 else judge.solvable(*question)


def _ask_or_error(judge: Judge, question: Sequence[str]) -> Any:
    """:func:`_ask` in this process; an error where the judge fails, as if it were in another."""
    try:
        return _ask(judge, question)
    except UserError:
        raise
    except Exception as error:  # whatever their code raises
        logger.warning("%s: %s, on: %s", type(error).__name__, error, question[0])
        return Verdict.error


def _check_can_be_sent(judge: Judge) -> None:
    """Raises a UserError if a judge holds what no other process can have."""
    try:
        pickle.dumps(judge)
    except Exception as error:  # whatever their objects raise
        reason = f"the judge {type(judge).__name__} cannot be sent to a process ({error})"
        raise UserError(f"{reason}; let verify make what it holds, or set quick = True")


class JudgePool(WorkerPool):
    """Judges pairs in parallel and in order; one that hangs or crashes the judge costs only itself.

    The arguments are those of :class:`WorkerPool`; ``workers=None`` is 0 for a quick judge, and 2
    for others. A judge that fails in this process raises, unless its failures are ``forgiven``.
    ``number`` answers were judged so far; the judge took ``seconds`` for them.
    """

    unfinished = {End.timeout: Verdict.timeout, End.crash: Verdict.error}

    def __init__(
        self,
        judge: Judge,
        workers: Optional[int] = None,
        timeout: float = 30.0,
        memory: float = 4.0,
        forgiven: bool = False,
    ) -> None:
        workers = (0 if judge.quick else 2) if workers is None else workers
        if workers:
            _check_can_be_sent(judge)
        ask = partial(_ask_or_error if forgiven and not workers else _ask, judge)
        super().__init__(ask, workers, timeout, memory, show=lambda item: item[0])
        self.judge = judge
        self.number = 0
        self.seconds = 0.0

    def imap_timed(self, pairs: Iterable[Pair]) -> Iterator[Tuple[Verdict, float]]:
        """Judges pairs of problem and answer; yields a verdict when those before it are known, with
        the seconds that the judge took or was given until it was stopped."""
        with closing(self.imap(pairs)) as outcomes:
            for _, verdict, seconds in outcomes:
                self.number += 1
                self.seconds += seconds
                if not isinstance(verdict, Verdict):
                    reason = f"says {verdict!r} of an answer, which is no Verdict"
                    raise UserError(f"the judge {type(self.judge).__name__} {reason}; mend it")
                yield verdict, seconds

    def verify_all(self, pairs: Iterable[Pair]) -> List[Verdict]:
        """Judges pairs of problem and answer."""
        return [verdict for verdict, _ in self.imap_timed(pairs)]

    def verify_answers(
        self, problems: Sequence[str], answers: Sequence[Sequence[str]]
    ) -> List[List[Verdict]]:
        """Judges several answers to each problem; a verdict on each answer."""
        pairs = [(problem, answer) for problem, own in zip(problems, answers) for answer in own]
        judged = iter(self.verify_all(pairs))
        return [list(islice(judged, len(own))) for own in answers]

    def readable(self, problem: str) -> bool:
        """Whether the judge can read a problem."""
        try:
            self.judge.check(problem)
        except MalformedFormula:
            return False
        return True

    def solvable(self, sources: Iterable[str]) -> List[Optional[bool]]:
        """Whether sources have a right answer at all; None where that cannot be told in time."""
        answers = self.results((source,) for source in sources)
        return [None if isinstance(answer, Verdict) else answer for answer in answers]
