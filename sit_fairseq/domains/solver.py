"""How problems are answered as people write them: what every solver has, for ``sit answer``."""

from abc import abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import Any, Callable, Dict, Iterator, Mapping, NamedTuple, Sequence, Tuple


class Reading(NamedTuple):
    """A problem as read from a text.

    Attributes:
        tokens: the problem as data have it.
        names: what the text calls each symbol among them: any text.
    """

    tokens: Sequence[str]
    names: Mapping[str, str]

    @classmethod
    def numbered(cls, tokens: Sequence[str], names: Sequence[str]) -> "Reading":
        """Of tokens over p0, p1, ..., and the names of these."""
        return cls(tokens, {f"p{number}": name for number, name in enumerate(names)})


class Status(str, Enum):
    """The kind of an outcome."""

    verified = "verified"  # a judge has accepted the answer
    impossible = "no answer exists"  # it is proved
    unverified = "not verified"  # the search found none that the judge accepts
    unreadable = "cannot be read"
    unanswered = "cannot be answered"  # by this model, as it is too long for example


@dataclass(frozen=True)
class Solved:
    """The outcome for a problem.

    Attributes:
        status: the outcome.
        source: the problem in the notation of data, where it is one sentence. A name that is no
            single word is not in it: the symbols are p0, p1, ... then.
        answer: likewise; empty unless it is verified.
        text: the answer for people.
        reason: why there is none, or what there is to say of it.
        decided: whether the same would come of it with more time.
        names: what people call each symbol of ``source`` and ``answer``.
        more: what else to print as JSON.
    """

    status: Status
    source: str = ""
    answer: str = ""
    text: str = ""
    reason: str = ""
    decided: bool = True
    names: Dict[str, str] = field(default_factory=dict)
    more: Dict[str, Any] = field(default_factory=dict)


class Limits(NamedTuple):
    """How long to search: the widths of the beam, narrow ones first, and the seconds for a problem."""

    beams: Sequence[int]
    seconds: float


class Solver(AbstractContextManager):
    """Answers the problems of a domain. It is a context manager, which ends its processes. The
    docstring of a subclass is the help of ``sit answer NAME``.

    Args:
        domain: of the problems, a :class:`~sit_fairseq.domains.Domain`.
        given: the texts that the command line has, or names of files, each with its number, from 1;
            a UserError if they cannot be used.
        load: loads the model, a :class:`~sit_fairseq.model.Model`, with the options of its ``load``.
        limits: of the search.

    Attributes:
        metavar: what is given, for the help.
        ending: of the names of files with answers, where each problem is a file; else empty.
        none: what to say of a problem that has no answer.
        usual: the limits where none are given.
        switches: options of its own, attributes that are True where they are given, and their help.
        problems: those given, with their numbers, in order.
    """

    metavar: str
    ending: str = ""
    none: str = Status.impossible.value
    usual: Limits
    switches: Mapping[str, str] = {}
    problems: Sequence[Tuple[int, str]]

    def __init__(
        self,
        domain: Any,
        given: Sequence[Tuple[int, str]],
        load: Callable[..., Any],
        limits: Limits,
    ) -> None:
        self.domain, self.problems, self.load, self.limits = domain, given, load, limits

    def __exit__(self, *raised: Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends its processes, if it has any."""

    @cached_property
    def model(self) -> Any:
        """The model, which is loaded when it is asked for."""
        return self.load()

    def about(self, place: int) -> str:
        """The note on a problem that ``-v`` prints once it was looked at; empty for none."""
        return ""

    @abstractmethod
    def answers(self, places: Sequence[int]) -> Iterator[Tuple[int, Solved]]:
        """Yields what came of the problems of some places, as soon as it is known."""

    @abstractmethod
    def confirms(self, place: int, noted: Solved) -> bool:
        """Whether what an interrupted run noted of a problem need not be found again; a ValueError
        or TypeError if it is not what becomes of the problem."""
