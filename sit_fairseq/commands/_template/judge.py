"""Judges answers of your task: put your own rule in the place of this one. Other programs find it as
``judge:OwnJudge``."""

from sit_fairseq.judging.judge import Judge
from sit_fairseq.judging.verdict import Verdict


class OwnJudge(Judge):
    """Accepts an answer that says whose each thing is, in any order."""

    quick = True  # in milliseconds, so that no process of its own is needed

    def verify(self, problem, answer):
        owned = []
        for fact in problem.split(" , "):
            person, verb, *things = fact.replace(" and ", " ").split()
            if verb == "gave":
                *things, _, person = things
            owned += [f"{thing} of {person}" for thing in things if verb != "lost"]
        said = [] if answer == "nothing" else answer.split(" , ")
        return Verdict.satisfied if sorted(said) == sorted(owned) else Verdict.violated
