"""The common part of judges of formulas."""

from abc import abstractmethod
from typing import List, Optional

from sit_fairseq.errors import MalformedAnswer, MalformedFormula
from sit_fairseq.judging.judge import Judge
from sit_fairseq.judging.verdict import Verdict


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
