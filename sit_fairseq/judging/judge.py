"""Judges and their problems."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Dict, List, Optional, Sequence

from sit_fairseq.errors import UserError
from sit_fairseq.judging.signature import code_of, hash_of_files, versions_of
from sit_fairseq.judging.verdict import Verdict


class Problem(str):
    """A source sentence, with what some judges compare answers with. For a judge of the source
    alone any text is a problem."""

    reference: Optional[str]  # a right answer
    symbols: Optional[str]  # regular expression of the interchangeable tokens

    def __new__(
        cls, source: str, reference: Optional[str] = None, symbols: Optional[str] = None
    ) -> "Problem":
        problem = super().__new__(cls, source)
        problem.reference, problem.symbols = reference, symbols
        return problem


class Judge(ABC):
    """Decides whether an answer to a problem is right.

    A judge is small and picklable: ``JudgePool`` sends it to its workers. A judge of your own needs
    :meth:`verify` alone, and is named by ``MODULE:CLASS``, see
    :func:`~sit_fairseq.judging.own.own_object`.

    """

    semantics: str = ""  # a domain, or MODULE:CLASS
    name: str = ""  # among the judges of the same semantics
    quick: bool = False  # answers take some milliseconds at most: no process of its own is needed
    on_references: bool = False  # whether answers are compared with a reference
    missing: Optional[str] = None  # what has to be installed before it can decide anything

    @abstractmethod
    def verify(self, problem: str, answer: str) -> Verdict:
        """Judges an answer to a problem, both tokens separated by spaces; one that cannot be read
        is a verdict too."""

    def problems(
        self,
        sources: Sequence[str],
        references: Optional[Sequence[str]] = None,
        symbols: Optional[str] = None,
    ) -> List[Problem]:
        """The sources with what is known of each, see :class:`Problem`; a UserError if the judge
        needs references and there are none."""
        if self.on_references and references is None:
            reason = "compares answers with references, but the data have none"
            raise UserError(f"{self.semantics} {reason}: name data with targets", "semantics")
        known = references or [None] * len(sources)
        return [Problem(source, reference, symbols) for source, reference in zip(sources, known)]

    def solvable(self, source: str) -> Optional[bool]:
        """Whether a source has a right answer at all; None if the judge cannot tell."""
        return None

    def check(self, source: str) -> None:
        """Raises MalformedFormula if a source cannot be read."""

    def distance(self, problem: str, answer: str) -> Optional[int]:
        """The edit distance of an answer from the right one; None if there may be several."""
        return None

    def code(self) -> List[Path]:
        """The files of its classes, and files beside them that these import."""
        return sorted({path for module in self._modules() for path in code_of(module)[0]})

    def own_code(self) -> List[Path]:
        """The files of :meth:`code` outside this package."""
        ours = Path(__file__).resolve().parent.parent
        return [path for path in self.code() if ours not in path.parents]

    def versions(self) -> Dict[str, Optional[str]]:
        """The versions of the libraries that its code imports; None for one that is missing."""
        return versions_of(sorted({d for module in self._modules() for d in code_of(module)[1]}))

    def signature(self) -> str:
        """One line that names who judges: ``sort|judge:rules|code:1a2b3c4d|numpy:2.4``. Verdicts of
        equal signatures are equal, but for judges that read files of data."""
        parts = {"judge": self.name, "code": hash_of_files(self.code())[:8], **self.versions()}
        return "|".join([self.semantics, *(f"{name}:{value}" for name, value in parts.items())])

    def _modules(self) -> List[str]:
        return [cls.__module__ for cls in type(self).__mro__ if issubclass(cls, Judge)]


def accepting(judge: Judge, parameter: str) -> Judge:
    """The judge, which needs nothing but a problem and an answer; a UserError if it compares answers
    with references, or lacks what it needs to decide anything."""
    if judge.on_references:
        reason = "compares answers with references, which sentences to be answered do not have"
        raise UserError(f"{judge.semantics} {reason}", parameter)
    if judge.missing is not None:
        raise UserError(
            f"{judge.semantics} needs what is not installed: {judge.missing}", parameter
        )
    return judge
