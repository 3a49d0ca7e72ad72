"""Answers that a judge has accepted (``--verify``), searched for with wider and wider beams."""

from typing import (
    Any,
    Callable,
    Counter,
    Dict,
    Iterable,
    List,
    NamedTuple,
    Optional,
    Sequence,
    Union,
)

from sit_fairseq.errors import UserError, whole
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.search.hypotheses import WIDEST


def beam_widths(given: Union[str, Sequence[int]], parameter: str = "") -> List[int]:
    """The widths of the beams of a search, each wider than the one before.

    Args:
        given: numbers, or their text, separated by commas. A UserError if they are none, do not grow,
            or are beyond :data:`WIDEST`; it names a ``parameter``, beside ``beams``.
    """
    try:
        is_text = isinstance(given, str)
        widths = list(map(int if is_text else whole, given.split(",") if is_text else given))
    except (TypeError, ValueError):
        widths = []
    if not widths or widths[0] < 1 or widths != sorted(set(widths)):
        wish = "beams must be growing widths such as (3, 10, 25)"
        raise UserError(f"{wish}, not {given!r}", parameter)
    if widths[-1] > WIDEST:
        raise UserError(f"beams hold 1 to {WIDEST} answers, not {widths[-1]}", parameter)
    return widths


class Verified(NamedTuple):
    """A sentence's hypotheses after a verified search.

    Attributes:
        nbest: best first; an accepted one comes before all others.
        verdict: the verdict of the first hypothesis.
        beam: the width of the beam that found these hypotheses.
    """

    nbest: List[Any]
    verdict: Verdict
    beam: int


def first_satisfied(
    judges: Any,
    problems: Sequence[str],
    answers: Sequence[Sequence[str]],
    verdicts: Sequence[Dict[str, Verdict]],
) -> List[Optional[int]]:
    """The place of the first satisfied answer to each problem, None if none is. All first ones are
    judged at once by ``judges.verify_all``, then the second ones to problems that are left, and so on.
    Known verdicts on the answers to each problem are not asked again; new ones are added."""
    found: List[Optional[int]] = [None] * len(problems)
    waiting = list(range(len(problems)))
    for rank in range(max(map(len, answers), default=0)):
        waiting = [place for place in waiting if rank < len(answers[place])]
        new = [place for place in waiting if answers[place][rank] not in verdicts[place]]
        judged = judges.verify_all((problems[place], answers[place][rank]) for place in new)
        for place, verdict in zip(new, judged):
            verdicts[place][answers[place][rank]] = verdict
        for place in waiting:
            if verdicts[place][answers[place][rank]] is Verdict.satisfied:
                found[place] = rank
        waiting = [place for place in waiting if found[place] is None]
    return found


class VerifiedSearch:
    """Searches again, with a wider beam, for sentences without an accepted answer.

    The answer to a sentence is the best hypothesis of the narrowest beam that the judge finds
    satisfied; the others of that beam follow in their order. A sentence that has none keeps the
    hypotheses of the first beam. Verdicts alone decide which sentences are searched again: renamed
    ones get the renamed answers with equal scores, as long as no judge is stopped by the clock.

    Args:
        widths: of the beam, from narrow to wide.
        judges: say which problems they can read (``readable``), and their verdicts on pairs of
            problem and answer (``verify_all``), as a :class:`~sit_fairseq.judging.pool.JudgePool`.

    Attributes:
        verified: number of sentences with an accepted answer, by the width of the beam.
        total, unreadable: number of all sentences, and of those that the judge cannot read.
    """

    def __init__(self, widths: Iterable[int], judges: Any) -> None:
        self.judges = judges
        self.verified: Counter[int] = Counter(dict.fromkeys(widths, 0))
        self.total = self.unreadable = 0

    def search(
        self,
        problems: Sequence[str],
        find: Callable[[int, List[int]], List[List[Any]]],
        text: Callable[[Any], Optional[str]],
    ) -> List[Verified]:
        """Answers the sentences of a batch.

        Args:
            problems: the sentences, as the judge takes them.
            find: takes a width and places of sentences; returns the hypotheses of each, best first.
            text: gives the text of a hypothesis; None for one that holds only a reason.
        """
        verdicts: List[Dict[str, Verdict]] = [{} for _ in problems]
        answers: Dict[int, Any] = {}
        left = list(range(len(problems)))
        readable = [self.judges.readable(problem) for problem in problems]
        for width in self.verified:
            found = dict(zip(left, find(width, left)))
            for place, nbest in found.items():
                answers.setdefault(place, (nbest, width))
            left = [place for place in left if readable[place]]
            accepted = first_satisfied(
                self.judges,
                [problems[place] for place in left],
                [[t for t in map(text, found[place]) if t is not None] for place in left],
                [verdicts[place] for place in left],
            )
            for place, rank in zip(left, accepted):
                if rank is not None:
                    best = found[place].pop(rank)
                    answers[place] = [best, *found[place]], width
                    self.verified[width] += 1
            left = [place for place, rank in zip(left, accepted) if rank is None]
            if not left:
                break
        self.total += len(problems)
        self.unreadable += readable.count(False)
        for place, (nbest, width) in answers.items():
            first = text(nbest[0]) if nbest else None
            verdict = verdicts[place].get(first, Verdict.invalid)
            answers[place] = Verified(nbest, verdict, width)
        return [answers[place] for place in range(len(problems))]
