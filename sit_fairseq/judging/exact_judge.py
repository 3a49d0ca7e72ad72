"""The judge of any task: an answer is right if it equals the reference."""

from sit_fairseq.judging.copy_judge import CopyJudge


class ExactJudge(CopyJudge):
    """Compares an answer with the reference, token by token; the source plays no part.

    Where several answers are right it counts one of them, so that it says less than a judge
    who knows what they mean.
    """

    semantics = "exact"
    on_references = True
