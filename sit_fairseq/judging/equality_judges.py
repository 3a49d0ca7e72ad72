"""Judges that compare an answer with the one right answer: the source, or a reference."""

from abc import abstractmethod
from typing import Sequence

from sit_fairseq.judging.judge import Judge, Problem
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.symbols.canonical_form import canonical_form
from sit_fairseq.symbols.pattern import SymbolPattern


def edit_distance(first: Sequence[str], second: Sequence[str]) -> int:
    """Levenshtein distance: the fewest insertions, deletions and substitutions of one token."""
    row = list(range(len(second) + 1))  # distances from the empty beginning of the first
    for i, token in enumerate(first, start=1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(second, start=1):
            above = row[j]
            row[j] = min(above + 1, row[j - 1] + 1, diagonal + (token != other))
            diagonal = above
    return row[-1]


def without_fresh_names(answer: str, source: str, pattern: SymbolPattern) -> str:
    """The answer, with the symbols that its source lacks numbered in order of first appearance."""
    tokens, own = answer.split(), set(source.split())
    fresh = [symbol for symbol in pattern.symbols(tokens) if symbol not in own]
    return canonical_form(tokens, fresh, pattern)


class EqualityJudge(Judge):
    """Satisfied if the answer equals the one that is right token by token, violated otherwise."""

    name = "equality"
    quick = True

    def verify(self, problem: str, answer: str) -> Verdict:
        right = self.right(problem).split()
        return Verdict.satisfied if right == answer.split() else Verdict.violated

    def distance(self, problem: str, answer: str) -> int:
        right, given = self.right(problem).split(), answer.split()
        return 0 if right == given else edit_distance(right, given)

    @abstractmethod
    def right(self, problem: Problem) -> str:
        """The only right answer."""


class ExactJudge(EqualityJudge):
    """Satisfied if the answer equals the reference token by token, even if others are right, too;
    violated otherwise."""

    semantics = "exact"
    on_references = True

    def right(self, problem: Problem) -> str:
        return problem.reference


class AlphaJudge(Judge):
    """Satisfied if an injective renaming of the symbols that the source lacks turns the answer into
    the reference, violated otherwise; unavailable if nobody has said which tokens are symbols."""

    semantics = "alpha"
    name = "equality"
    quick = True
    on_references = True

    def verify(self, problem: Problem, answer: str) -> Verdict:
        if problem.symbols is None:
            return Verdict.unavailable
        pattern = SymbolPattern(problem.symbols)
        right, given = (
            without_fresh_names(text, problem, pattern) for text in (problem.reference, answer)
        )
        return Verdict.satisfied if right == given else Verdict.violated
