"""A domain of your own: put your symbols, problems, answers and judge in the place of these.

A problem tells facts about people and things; its answer lists each thing with its owner::

    P3 has t7 and t2 , P12 lost t1 , P5 gave t4 to P3
    t7 of P3 , t2 of P3 , t4 of P3

People and things are symbols of two sorts: their names mean nothing. ``domain:DOMAIN`` names the
domain in every command, from this folder.
"""

from dataclasses import dataclass
from typing import Tuple

from sit_fairseq.datasets.labelling import Label
from sit_fairseq.datasets.options import option, range_from
from sit_fairseq.datasets.recipes import Recipe
from sit_fairseq.domains import Domain
from sit_fairseq.judging.judge import Judge
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.search.grammar import Grammar


@dataclass
class Facts(Recipe):
    """Draws problems. Each field is an option of ``sit generate domain:DOMAIN``."""

    facts: Tuple[int, int] = option((1, 4), "number of facts", type=range_from(1), metavar="LO-HI")

    def draw(self, rng):
        number = rng.randint(*self.facts)
        people = rng.sample([f"P{n}" for n in range(20)], number + 1)
        things = iter(rng.sample([f"t{n}" for n in range(40)], 2 * number))
        facts = []
        for _ in range(number):
            person, other = rng.sample(people, 2)
            verb = rng.choice(["has", "lost", "gave"])
            own = " and ".join(next(things) for _ in range(rng.randint(1, 2)))
            facts.append(f"{person} {verb} {own}" + f" to {other}" * (verb == "gave"))
        return " , ".join(facts).split()


def owners(problem):
    """The parts of the right answer."""
    parts = []
    for fact in problem.split(" , "):
        person, verb, *things = fact.replace(" and ", " ").split()
        if verb == "gave":
            *things, _, person = things
        parts += [f"{thing} of {person}" for thing in things if verb != "lost"]
    return parts or ["nothing"]


def answer(problem):
    """Finds the answer that a model learns; ``Label("", reason)`` leaves a problem out."""
    return Label(" , ".join(owners(problem)))


class Owners(Judge):
    """Accepts the parts of the right answer in any order."""

    quick = True  # it takes milliseconds, so it needs no process of its own

    def verify(self, problem, answer):
        right = sorted(answer.split(" , ")) == sorted(owners(problem))
        return Verdict.satisfied if right else Verdict.violated


class Parts(Grammar):
    """Answers are ``thing of person , thing of person ...``, or ``nothing``.

    A state is the number of tokens that the part still needs; None before the first one.
    """

    def start(self, source):
        return None

    def next(self, state, token):
        if state is None and token == "nothing":
            return -1  # nothing may follow
        wanted = {None: "thing", 3: "thing", 2: "of", 1: "person", 0: ","}.get(state)
        if wanted != getattr(token, "sort", token):
            return None
        return {None: 2, 0: 3}.get(state, (state or 0) - 1)

    def shortest(self, state):
        return 1 if state is None else max(state, 0)


DOMAIN = Domain(
    name="owners",
    version=1,  # raise it when sentences come to mean something else
    symbols="person=P[0-9]+\nthing=t[0-9]+",
    judges={"owners": Owners},
    grammar=Parts,
    recipe=Facts,
    labels={"owners": answer},
)
