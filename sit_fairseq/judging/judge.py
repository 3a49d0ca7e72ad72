"""Judges: what they must offer, and how they are found by name."""

import os
import sys
from abc import ABC, abstractmethod
from importlib import import_module
from pathlib import Path
from typing import Dict, FrozenSet, Iterable, List, Optional, Sequence, Type, TypeVar, Union

from sit_fairseq.errors import UserError
from sit_fairseq.judging.signature import code_of, hash_of_files, versions_of
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.logic.syntax import MalformedAnswer, MalformedFormula

Own = TypeVar("Own")

# Names the folder of modules of the user's own to processes that run in another one.
OWN_MODULES = "SIT_OWN_MODULES"

# Semantics -> name of a judge -> where it is defined. The first one is the default.
# Modules are imported when asked for, since some need libraries not everyone has.
JUDGES: Dict[str, Dict[str, str]] = {
    "prop": {
        "bits": "sit_fairseq.judging.prop_judges:BitsJudge",
        "aiger": "sit_fairseq.judging.aiger_judge:AigerJudge",
    },
    "ltl": {"spot": "sit_fairseq.judging.spot_judge:SpotJudge"},
    "copy": {"equality": "sit_fairseq.judging.equality_judges:CopyJudge"},
    "exact": {"equality": "sit_fairseq.judging.equality_judges:ExactJudge"},
    "alpha": {"equality": "sit_fairseq.judging.equality_judges:AlphaJudge"},
}


class Problem(str):
    """A source sentence, with what some judges compare answers with.

    As text it is the source; for a judge of the source alone any text is a problem.

    Attributes:
        reference: a right answer, None if none is known.
        symbols: regular expression of the interchangeable tokens, None if nobody knows.
    """

    reference: Optional[str]
    symbols: Optional[str]

    def __new__(
        cls, source: str, reference: Optional[str] = None, symbols: Optional[str] = None
    ) -> "Problem":
        problem = super().__new__(cls, source)
        problem.reference, problem.symbols = reference, symbols
        return problem


class Judge(ABC):
    """Decides whether an answer to a problem is right.

    A judge is small and picklable: ``JudgePool`` sends it to its workers. A judge of your own needs
    :meth:`verify` alone, and is named by ``MODULE:CLASS``, see :func:`make_judge`.

    Attributes:
        semantics: what problems and answers mean, a key of ``JUDGES`` or ``MODULE:CLASS``.
        name: the judge's name among those of the same semantics.
        quick: no answer takes longer than some milliseconds: judging needs no process of its own.
        on_references: whether answers are compared with a reference.
        foreign: tokens by which a model of another logic is known.
        needs: tokens without which a model can give no right answer.
        missing: what has to be installed before this judge can decide anything, None if nothing.
    """

    semantics: str
    name: str
    quick: bool = False
    on_references: bool = False
    foreign: FrozenSet[str] = frozenset()
    needs: FrozenSet[str] = frozenset()
    missing: Optional[str] = None

    @abstractmethod
    def verify(self, problem: str, answer: str) -> Verdict:
        """Judges one answer; a problem or answer that cannot be read is a verdict too.

        Args:
            problem: the source, tokens separated by spaces; see also :class:`Problem`.
            answer: tokens separated by spaces.
        """

    def problems(
        self,
        sources: Sequence[str],
        references: Optional[Sequence[str]] = None,
        symbols: Optional[str] = None,
    ) -> List[Problem]:
        """Puts together what answers are judged against.

        Args:
            sources: the sentences.
            references: a right answer to each, None if they are not known.
            symbols: regular expression of the interchangeable tokens, if it is known.

        Raises:
            UserError: the judge needs references and there are none.
        """
        if self.on_references and references is None:
            raise UserError(
                f"{self.semantics} compares answers with references, but the data have none: name "
                "data with targets, or choose other semantics",
                "semantics",
            )
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
        """The files of its classes, and those that they import from beside them."""
        return sorted({path for module in self._modules() for path in code_of(module)[0]})

    def own_code(self) -> List[Path]:
        """Those of them that are not of this package."""
        ours = Path(__file__).resolve().parent.parent
        return [path for path in self.code() if ours not in path.parents]

    def versions(self) -> Dict[str, Optional[str]]:
        """The versions of the libraries that its code imports; None for one that is missing."""
        return versions_of(sorted({d for module in self._modules() for d in code_of(module)[1]}))

    def signature(self) -> str:
        """One line that names who judges: ``ltl|judge:spot|code:1a2b3c4d|spot:2.13``.

        Verdicts of equal signatures are equal, but for judges that read files of data.
        """
        parts = {"judge": self.name, "code": hash_of_files(self.code())[:8], **self.versions()}
        return "|".join([self.semantics, *(f"{name}:{value}" for name, value in parts.items())])

    def _modules(self) -> List[str]:
        return [cls.__module__ for cls in type(self).__mro__ if issubclass(cls, Judge)]


class FormulaJudge(Judge):
    """A judge of formulas: error is its verdict on a malformed one, invalid on such an answer."""

    def verify(self, problem: str, answer: str) -> Verdict:
        try:
            self.check(problem)
            return self.decide(problem.split(), answer.split())
        except MalformedFormula:
            return Verdict.error
        except MalformedAnswer:
            return Verdict.invalid

    def solvable(self, source: str) -> Optional[bool]:
        try:
            self.check(source)
        except MalformedFormula:
            return None
        return None if self.missing else self.satisfiable(source.split())

    @abstractmethod
    def decide(self, formula: List[str], answer: List[str]) -> Verdict:
        """Judges an answer, both as tokens, the formula well-formed; may raise MalformedAnswer."""

    @abstractmethod
    def satisfiable(self, formula: List[str]) -> Optional[bool]:
        """Whether something makes a well-formed formula true; None if that cannot be told."""


def make_judge(semantics: str, judge: Optional[str] = None, parameter: str = "semantics") -> Judge:
    """Makes a judge by name.

    Args:
        semantics: e.g. ``prop``; or ``MODULE:CLASS``, a subclass of :class:`Judge` in a module that
            Python finds from the working directory.
        judge: a judge for it; None for the first one.
        parameter: names the semantics in messages.

    Raises:
        UserError: there is no such semantics, judge or class.
    """
    if ":" not in semantics:
        return judge_class(semantics, judge, parameter)()
    if judge is not None:
        raise UserError(f"{semantics} is a judge already, and has no {judge!r}", "judge")
    own = own_object(semantics, Judge, parameter)
    own.semantics, own.name = semantics, semantics.partition(":")[2]
    return own


def judge_class(
    semantics: str, judge: Optional[str] = None, parameter: str = "semantics"
) -> Type[Judge]:
    """The class of a judge for a key of ``JUDGES``; it needs nothing that may not be installed."""
    if semantics not in JUDGES:
        raise UserError(
            f"unknown semantics {semantics!r}; known are {', '.join(JUDGES)}, and a judge of your "
            "own by MODULE:CLASS",
            parameter,
        )
    choices = JUDGES[semantics]
    name = judge or next(iter(choices))
    if name not in choices:
        raise UserError(f"{semantics} has no judge {name!r}, but {', '.join(choices)}", "judge")
    module, cls = choices[name].split(":")
    return getattr(import_module(module), cls)


def own_object(place: str, kind: Type[Own], parameter: str) -> Own:
    """Makes an object of a user's own class.

    Args:
        place: ``MODULE:CLASS``, in a module that Python finds from the working directory.
        kind: what the class must be a subclass of.
        parameter: names the class in messages.

    Raises:
        UserError: there is no such class, or its code fails.
    """
    module, _, name = place.partition(":")
    folder = os.environ.get(OWN_MODULES, os.getcwd())
    if folder not in sys.path:  # worker processes get the same path
        sys.path.append(folder)
    try:
        cls = getattr(import_module(module), name)
        own = cls() if isinstance(cls, type) and issubclass(cls, kind) else None
    except Exception as error:  # whatever their code raises
        raise UserError(f"{place} cannot be used ({type(error).__name__}: {error}); mend {module}")
    if own is None:
        raise UserError(f"{place} is no subclass of {kind.__module__}.{kind.__name__}", parameter)
    return own


def accepting_judge(semantics: str, parameter: str = "verify") -> Judge:
    """The default judge of a semantics, which needs nothing but a problem and an answer.

    Raises:
        UserError: there is no such semantics, it compares with references, or its judge lacks what
            it needs to decide anything.
    """
    judge = make_judge(semantics, parameter=parameter)
    if judge.on_references:
        raise UserError(
            f"{semantics} compares answers with references, which sentences to be answered do not "
            "have",
            parameter,
        )
    if judge.missing is not None:
        raise UserError(f"{semantics} needs what is not installed: {judge.missing}", parameter)
    return judge


def refuse_other_logic(
    judge: Union[Judge, Type[Judge]], base_tokens: Iterable[str], parameter: str = "verify"
) -> None:
    """Raises a UserError if a judge cannot mean the sentences of a model with these base tokens."""
    reason = other_logic(judge, base_tokens)
    if reason is not None:
        raise UserError(
            f"{judge.semantics} does not suit this model, whose tokens are of another logic "
            f"({reason} of {judge.semantics})",
            parameter,
        )


def other_logic(judge: Union[Judge, Type[Judge]], base_tokens: Iterable[str]) -> Optional[str]:
    """How a judge knows a model of another logic by its tokens; None if it may be of its own."""
    known = set(base_tokens)
    foreign, lacking = sorted(known & judge.foreign), sorted(judge.needs - known)
    if foreign:
        return f"its {foreign[0]!r} is none"
    return f"it lacks {lacking[0]!r}" if lacking else None
