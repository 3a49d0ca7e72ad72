"""The judge of a single action."""

from sit_fairseq.domains.planning.applicable import applicable
from sit_fairseq.domains.planning.policies import good_actions
from sit_fairseq.domains.planning.sentences import read_sentence
from sit_fairseq.errors import MalformedFormula
from sit_fairseq.judging.judge import Judge
from sit_fairseq.judging.verdict import Verdict


class NextActionJudge(Judge):
    """Judges a single action.

    The verdict is satisfied for the actions that are good by the rules from which training data are
    made; violated for others that are applicable, which a right plan may well have; invalid for all
    else; error where the sentence is malformed.
    """

    semantics = "planning"
    name = "good"
    quick = True

    def verify(self, problem: str, answer: str) -> Verdict:
        action = tuple(answer.split())
        try:
            domain, read = read_sentence(problem.split())
        except MalformedFormula:
            return Verdict.error
        if action in good_actions(domain, read):
            return Verdict.satisfied
        known = action in set(applicable(domain, read.initial, read.sorts))
        return Verdict.violated if known else Verdict.invalid

    def check(self, source: str) -> None:
        read_sentence(source.split())
