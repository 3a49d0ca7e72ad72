"""The first of several answers that a judge accepts."""

from typing import Dict, Iterable, List, Optional, Sequence

from sit_fairseq.errors import UserError
from sit_fairseq.judging.judge import JUDGES, Judge, make_judge
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict


def accepting_judge(semantics: str, option: str = "--verify") -> Judge:
    """Makes a judge that needs nothing but a problem and an answer.

    Args:
        semantics: what problems and answers mean.
        option: the option that names the semantics, for messages.

    Returns:
        The default judge of the semantics.

    Raises:
        UserError: there is no such semantics, it compares with references, or its judge lacks what
            it needs to decide anything.
    """
    judge = make_judge(semantics, option=option)
    if judge.on_references:
        others = [name for name in JUDGES if not make_judge(name).on_references]
        raise UserError(
            f"{option} {semantics} would compare answers with references, which sentences to be "
            f"answered do not have; choose it from {', '.join(others)}"
        )
    missing = judge.missing()
    if missing is not None:
        raise UserError(
            f"{option} {semantics} needs what is not installed: {missing}; install it, or leave "
            "the option out"
        )
    return judge


def refuse_other_logic(judge: Judge, base_tokens: Iterable[str], option: str = "--verify") -> None:
    """Refuses a model whose sentences a judge cannot mean.

    Args:
        judge: the judge.
        base_tokens: the model's tokens that are no symbols.
        option: the option that names the semantics, for messages.

    Raises:
        UserError: a token belongs to another logic, or one is missing without which no answer is
            right.
    """
    known = set(base_tokens)
    foreign, lacking = sorted(known & judge.foreign), sorted(judge.needs - known)
    if foreign or lacking:
        reason = f"its {foreign[0]!r} is none" if foreign else f"it lacks {lacking[0]!r}"
        raise UserError(
            f"{option} {judge.semantics} does not suit this model, whose tokens are of another "
            f"logic ({reason} of {judge.semantics}); choose another semantics, or another model"
        )


class Acceptor:
    """Looks for accepted answers, and keeps account of what that costs.

    Args:
        judges: who judges.

    Attributes:
        number: answers judged so far.
        seconds: that the judges worked on them.
    """

    def __init__(self, judges: JudgePool) -> None:
        self._judges = judges
        self.number = 0
        self.seconds = 0.0

    def first_satisfied(
        self,
        problems: Sequence[str],
        answers: Sequence[Sequence[str]],
        verdicts: Sequence[Dict[str, Verdict]],
    ) -> List[Optional[int]]:
        """Judges the answers to each problem until one is accepted.

        The first answers to all problems are judged at once, then the second ones to those that
        are left, and so on. A judge that was stopped or failed has accepted nothing.

        Args:
            problems: the problems.
            answers: to each of them, in the order of preference.
            verdicts: by answer, those to each problem that are known; new ones are added.

        Returns:
            The place of the first answer to each problem that is satisfied, None if none is.
        """
        found: List[Optional[int]] = [None] * len(problems)
        waiting = list(range(len(problems)))
        for rank in range(max(map(len, answers), default=0)):
            waiting = [place for place in waiting if rank < len(answers[place])]
            new = [place for place in waiting if answers[place][rank] not in verdicts[place]]
            pairs = [(problems[place], answers[place][rank]) for place in new]
            for place, judged in zip(new, list(self._judges.imap_timed(pairs))):
                verdicts[place][answers[place][rank]] = judged.verdict
                self.seconds += judged.seconds
            self.number += len(new)
            for place in waiting:
                if verdicts[place][answers[place][rank]] is Verdict.satisfied:
                    found[place] = rank
            waiting = [place for place in waiting if found[place] is None]
        return found
