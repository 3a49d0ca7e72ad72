"""Solvers: problems in files that take many answers of a model each, for ``sit answer``."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, Mapping, Optional, Sequence, Tuple


@dataclass(frozen=True)
class Solved:
    """What came of a problem.

    Attributes:
        status: ``verified``, or what there is instead of a solution.
        text: the solution as its file has it, without the last line's end; None if there is none.
        reason: why there is none, where the status does not say it; or what there is to say of it.
        proved: whether it is proved that there is none.
        more: what else to print as JSON.
    """

    status: str
    text: Optional[str] = None
    reason: str = ""
    proved: bool = False
    more: Dict[str, Any] = field(default_factory=dict)


class Solver(ABC):
    """Solves the problems of some files. The docstring of a subclass is its help.

    Args:
        paths: the files that the command line names; a UserError if they cannot be used.

    Attributes:
        metavar: what the files are, for the help.
        ending: of the names of files with solutions.
        beams: the usual widths of the search.
        seconds: usually the most for a problem.
        switches: options of its own, attributes that are True where they are given, and their help.
        problems: the file of each problem, in order.
    """

    metavar: str
    ending: str
    beams: str
    seconds: float = 60.0
    switches: Mapping[str, str] = {}
    problems: Sequence[str]

    @abstractmethod
    def __init__(self, paths: Sequence[str]) -> None: ...

    @abstractmethod
    def about(self, place: int) -> str:
        """What is known of a problem before a model is asked."""

    @abstractmethod
    def right(self, place: int, text: str) -> bool:
        """Whether a text is a solution of a problem."""

    @abstractmethod
    def solve(
        self, places: Sequence[int], load: Callable[[], Any], beams: Sequence[int]
    ) -> Iterator[Tuple[int, Solved]]:
        """Yields what came of each problem of some places, as soon as it is known.

        Args:
            places: of the problems.
            load: gives the model.
            beams: widths; problems without a solution are searched with the next one.
        """
