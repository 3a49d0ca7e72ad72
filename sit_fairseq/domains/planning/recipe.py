"""Random states and goals with an action that is good next."""

import argparse
from dataclasses import dataclass
from itertools import chain
from random import Random
from typing import List, Mapping, Sequence, Set, Tuple

from sit_fairseq.datasets.labelling import Label
from sit_fairseq.datasets.options import option
from sit_fairseq.datasets.recipes import Recipe
from sit_fairseq.domains.planning.folders import problems_in
from sit_fairseq.domains.planning.known import known_domains
from sit_fairseq.domains.planning.policies import good_actions
from sit_fairseq.domains.planning.sampling import SAMPLERS, random_state
from sit_fairseq.domains.planning.sentences import (
    naming,
    problem_key,
    read_sentence,
    renamed,
    sentence,
)


def good_label(source: str) -> Label:
    """One of the actions that are good next, drawn by the sentence itself."""
    domain, problem = read_sentence(source.split())
    good = good_actions(domain, problem)
    if not good:
        return Label("", "solved")
    return Label(" ".join(Random(source).choice(good)))


def _sizes(text: str) -> Tuple[str, Tuple[int, ...]]:
    """The type of a domain with the sizes of its problems: ``blocksworld=3,5-8``."""
    name, equals, listed = text.partition("=")
    if name not in SAMPLERS:
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(SAMPLERS)}")
    if not equals:
        return name, SAMPLERS[name][1]
    try:
        ranges = [tuple(map(int, part.split("-"))) for part in listed.split(",")]
        sizes = tuple(size for part in ranges for size in range(part[0], part[-1] + 1))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 1:
        reason = "the sizes are numbers from 1 on and ranges of them, as in blocksworld=3,5-8"
        raise argparse.ArgumentTypeError(f"{text!r}: {reason}")
    return name, sizes


@dataclass
class PlanningRecipe(Recipe):
    """States and goals of random problems, each with one of the actions that are good next.

    A problem is drawn by its domain and size: the number of blocks, balls, packages, places to visit
    or crates. A rule solves it, and one of the states on the way is the sample, or a state that a
    few random actions lead to.
    """

    sizes: Sequence[Tuple[str, Tuple[int, ...]]] = option(
        [(name, sizes) for name, (_, sizes) in SAMPLERS.items()],
        "domains, all as often, and sizes of their problems: blocksworld=3,5-8; a name alone has the "
        "sizes of the shipped model",
        type=_sizes,
        nargs="+",
        metavar="DOMAIN",
    )
    without: Sequence[str] = option(
        [],
        "folders of PDDL problems: leave out every state and goal that are one of theirs, whatever "
        "the objects are called",
        nargs="+",
        metavar="DIR",
    )

    per_chunk = 500

    def __post_init__(self) -> None:
        self._without = _keys(self.without)  # the processes get them with the recipe

    def draw(self, rng: Random) -> List[str]:
        name, sizes = rng.choice(list(self.sizes))
        domain = known_domains()[name]
        problem = SAMPLERS[name][0](rng.choice(sizes), rng)
        state = random_state(domain, problem, rng)
        if problem_key(domain, state, problem.goal) in self._without:
            return []
        return sentence(domain, state, problem.goal, rng)


def _keys(folders: Sequence[str]) -> Set[int]:
    """The keys of the first states and goals of all problems in some folders."""
    keys = set()
    for _, found in chain.from_iterable(map(problems_in, folders)):
        names = naming(found.domain, found.problem)
        state, goal = (renamed(a, names) for a in (found.problem.initial, found.problem.goal))
        keys.add(problem_key(found.domain, state, goal))
    return keys


LABELS: Mapping = {"good": good_label}
