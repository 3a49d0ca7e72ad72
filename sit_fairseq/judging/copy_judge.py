"""The judge of copying, where the right answer is the source itself."""

from typing import Sequence

from sit_fairseq.judging.judge import Judge, Sentence, as_tokens
from sit_fairseq.judging.verdict import Verdict


def edit_distance(first: Sequence[str], second: Sequence[str]) -> int:
    """Levenshtein distance of two sequences.

    Args:
        first: any tokens.
        second: likewise.

    Returns:
        The fewest insertions, deletions and substitutions of one token that make the first
        the second.
    """
    row = list(range(len(second) + 1))  # distances from the empty beginning of the first
    for i, token in enumerate(first, start=1):
        diagonal, row[0] = row[0], i
        for j, other in enumerate(second, start=1):
            above = row[j]
            row[j] = min(above + 1, row[j - 1] + 1, diagonal + (token != other))
            diagonal = above
    return row[-1]


class CopyJudge(Judge):
    """Compares token by token.

    The verdict is satisfied, if the answer equals the source, and violated otherwise. Any
    answer can be read, also one with tokens that the source does not have.
    """

    semantics = "copy"
    name = "equality"
    quick = True

    def verify(self, problem: Sentence, answer: Sentence) -> Verdict:
        equal = as_tokens(problem) == as_tokens(answer)
        return Verdict.satisfied if equal else Verdict.violated

    def distance(self, problem: Sentence, answer: Sentence) -> int:
        source, copy = as_tokens(problem), as_tokens(answer)
        return 0 if source == copy else edit_distance(source, copy)
