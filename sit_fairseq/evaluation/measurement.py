"""How a column of numbers is measured: its signature, and the key of the answers it is made of."""

from argparse import Namespace
from dataclasses import dataclass, fields
from typing import Any, Dict, Optional, Sequence, Tuple

from sit_fairseq.evaluation.depends import depends_on, signature
from sit_fairseq.judging.judge import Judge


@dataclass(frozen=True)
class Measurement:
    """All that the numbers of a column depend on, beside files and code.

    Options are those of ``sit evaluate``. Columns that are searched in other ways have another
    measurement each.

    Attributes:
        judge: its name.
        data: the SHA-256 of the sentences and their references.
    """

    path: Optional[str]
    generated: Optional[str]
    symbols: Optional[str]
    semantics: str
    judge: str
    beams: Sequence[int]
    verify: Optional[str]
    constrained: Optional[str]
    max_len: Tuple[float, int]
    top_n: Optional[Sequence[int]]
    names: Optional[Sequence[str]]
    renamings: Optional[Tuple[int, int]]
    counts: Sequence[int]
    data: Optional[str] = None

    @classmethod
    def of(cls, options: Namespace, judge: str) -> "Measurement":
        """The measurement of a command line, by a judge."""
        given = {one.name: getattr(options, one.name, None) for one in fields(cls)}
        return cls(**{**given, "judge": judge, "data": None})

    @property
    def answerer(self) -> Optional[str]:
        """The model that is asked, or the file of answers."""
        return self.path or self.generated

    def settings(self) -> Dict[str, Any]:
        """The options that matter, by name."""
        names = ["symbols", "semantics", "judge"]
        names += ["beams", "verify", "constrained", "max_len", "top_n"] if self.path else []
        names += ["names", "renamings", "counts"] if self.renamings else []
        return {name: getattr(self, name) for name in names}

    def signature(self, judge: Judge) -> str:
        """One line for people, see :func:`~sit_fairseq.evaluation.depends.signature`."""
        settings = {**self.settings(), "data": self.data}
        return signature(depends_on({"model": self.answerer}, settings, judge))
