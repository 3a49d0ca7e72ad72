"""The file in which answers are kept while a run goes on, so that it can be continued."""

from dataclasses import dataclass, field
from typing import Any, Dict, List

from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.storage.journal import Journal


@dataclass
class Answered:
    """What became of one sentence.

    Attributes:
        answers: best first.
        verdicts: one for each answer, or none if they were not judged.
        seconds: its share of the time that its batch took.
    """

    answers: List[str]
    verdicts: List[Verdict] = field(default_factory=list)
    seconds: float = 0.0


class AnswerJournal(Journal):
    """Answers by the position of their sentence.

    Args:
        path: the file, which may be that of an interrupted run.
        origin: what the answers depend on (checkpoint, data, options), as JSON.
        restart: discard what is there.
        where: the option that names the file, for messages.

    Attributes:
        answered: the answers by position.

    Raises:
        UserError: see :class:`~sit_fairseq.storage.journal.Journal`.
    """

    def __init__(
        self, path: str, origin: Dict[str, Any], restart: bool = False, where: str = "--result"
    ) -> None:
        super().__init__(
            path,
            "answers",
            origin,
            advice=f"pass --restart to discard them, or another {where} to keep them",
            where=where,
            restart=restart,
        )
        self.answered: Dict[int, Answered] = {}
        for number, entry in enumerate(self.entries, start=2):
            try:
                self.answered[int(entry["index"])] = _read(entry)
            except (ValueError, TypeError, KeyError):
                self.close()
                raise self.damaged(number)

    def record(self, sources: Dict[int, str], answered: Dict[int, Answered]) -> None:
        """Keeps the answers to some sentences.

        Args:
            sources: the sentences by position, for people who read the file.
            answered: the answers by position.
        """
        self.append(
            *(
                {"index": position, "source": sources[position], **vars(entry)}
                for position, entry in answered.items()
            )
        )
        self.answered.update(answered)


def _read(entry: Dict[str, Any]) -> Answered:
    """What an entry says; raises ValueError, TypeError or KeyError if that is nothing."""
    answers, verdicts = entry["answers"], [Verdict(verdict) for verdict in entry["verdicts"]]
    if not (isinstance(answers, list) and answers and all(isinstance(a, str) for a in answers)):
        raise TypeError("not answers")
    if len(verdicts) not in (0, len(answers)):
        raise ValueError("not a verdict for each answer")
    return Answered(answers, verdicts, float(entry["seconds"]))
