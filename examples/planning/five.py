"""Random states and goals of five domains, labelled by rules, whose sentences can be read again.

    sit generate examples.planning.five:DOMAIN my/data --sizes blocksworld=3,5-8 gripper=2

The domains are in the folder ``domains``. A judge says of an action whether it is good, applicable, or
none.
"""

import argparse
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from random import Random
from typing import Collection, Dict, List, Mapping, Sequence, Set, Tuple

from examples.planning.folders import problems_in
from examples.planning.rules import good_actions
from examples.planning.sampling import SAMPLERS, random_state
from sit_fairseq.datasets.labelling import Label
from sit_fairseq.datasets.options import option
from sit_fairseq.datasets.recipes import Recipe
from sit_fairseq.domains import Domain
from sit_fairseq.domains.planning import learnt
from sit_fairseq.domains.planning.applicable import applicable
from sit_fairseq.domains.planning.learnt import Learnt
from sit_fairseq.domains.planning.matching import match
from sit_fairseq.domains.planning.pddl_files import read_problem
from sit_fairseq.domains.planning.sentences import Writer
from sit_fairseq.domains.planning.strips import Atom, PlanningDomain, Problem
from sit_fairseq.domains.planning.symmetry import colours, number
from sit_fairseq.errors import MalformedFormula
from sit_fairseq.judging.judge import Judge
from sit_fairseq.judging.verdict import Verdict

# Words for ways in both directions, and for an object of no atom.
_BOTH_WAYS, _THERE = "linked", "is"


@lru_cache(maxsize=1)
def known() -> Dict[str, Learnt]:
    """The five domains by name."""
    return {one.domain.name: one for one in learnt.read(str(Path(__file__).parent))}


def writer(name: str, problem: Problem) -> Writer:
    """Writes sentences of a problem of a domain."""
    return Writer(known()[name], known()[name].domain, problem)


def sorts() -> List[str]:
    """The sorts of objects of all domains."""
    return sorted({sort for one in known().values() for sort in one.sorts})


def sort_of(name: str) -> str:
    """The sort of an object, by its name in sentences."""
    return name.rstrip("0123456789")


def read_sentence(tokens: Sequence[str]) -> Tuple[PlanningDomain, Problem]:
    """Reads a sentence as a problem; raises MalformedFormula for any other text."""
    found = known().get(tokens[0]) if tokens else None
    if found is None:
        raise MalformedFormula(f"a sentence begins with one of {', '.join(known())}")
    domain = found.domain
    arity = {_BOTH_WAYS: 2, _THERE: 1, **domain.predicates}
    state, goal, objects, place = set(), set(), {}, 1
    while place < len(tokens):
        word = tokens[place]
        predicate = word.rstrip("?!")
        count = arity.get(predicate)
        names = tokens[place + 1 : place + 1 + (count or 0)]
        if count is None or len(names) < count:
            raise MalformedFormula(f"token {place + 1}, {word!r}, begins no atom of {domain.name}")
        for name in names:
            if sort_of(name) not in sorts():
                raise MalformedFormula(f"{name!r} after {word!r} is no object")
            objects[name] = sort_of(name)
        atom = (predicate, *names)
        if predicate == _BOTH_WAYS:
            state.update((("connected", *names), ("connected", *reversed(names))))
        if word != predicate:
            goal.add(atom)
        if word[-1] != "?" and predicate not in (_BOTH_WAYS, _THERE):
            state.add(atom)
        place += 1 + count
    state |= _implied(domain.name, state, objects)
    return domain, Problem(objects, frozenset(state), frozenset(goal))


def _implied(name: str, state: Set[Atom], objects: Mapping[str, str]) -> Set[Atom]:
    """The atoms of a state that sentences leave out."""
    if name == "visitall":
        return {("visited", *atom[1:]) for atom in state if atom[0] == "at-robot"}
    held = {a[-1]: a[1] for a in state if a[0] in ("holding", "lifting")}
    covered = {a[2] for a in state if a[0] == "on"} | set(held)
    covered |= {a[1] for a in state if a[0] == "in"}
    if name == "blocksworld":
        clear = {("clear", block) for block in objects if block not in covered}
        return clear if held else clear | {("handempty",)}
    if name == "depots":
        found = {("clear", x) for x, s in objects.items() if s in ("crate", "pallet")}
        free = {("available", x) for x, s in objects.items() if s == "hoist"}
        return (found - {("clear", x) for x in covered}) | (
            free - {("available", hoist) for hoist in held.values()}
        )
    return set()


def problem_key(
    sentence: Sequence[str], sorts: Collection[str], both_ways: Collection[str] = (_BOTH_WAYS,)
) -> int:
    """A number that a sentence shares with all its renamings, and with few others.

    Args:
        sentence: the words.
        sorts: of its objects.
        both_ways: words of which the two objects may change places.
    """
    atoms: List[Atom] = []
    for word in sentence[1:]:
        if sort_of(word) in sorts:
            atoms[-1] = (*atoms[-1], word)
        else:
            atoms.append((word,))
    atoms += [(a[0], a[2], a[1]) for a in atoms if a[0] in both_ways]
    kinds = {name: sort_of(name) for atom in atoms for name in atom[1:]}
    alone = sorted(atom for atom in atoms if len(atom) == 1)
    return number((sentence[0], alone, sorted(colours(kinds, atoms).values())))


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
        raise argparse.ArgumentTypeError(
            f"the sampler {name!r} is unknown; choose {', '.join(SAMPLERS)}"
        )
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
        self._without = keys_of(self.without)  # the processes get them with the recipe

    def draw(self, rng: Random) -> List[str]:
        name, sizes = rng.choice(list(self.sizes))
        problem = SAMPLERS[name][0](rng.choice(sizes), rng)
        state = random_state(known()[name].domain, problem, rng)
        drawn = Writer(known()[name], known()[name].domain, problem, numbered=False)
        sentence = drawn.sentence(state, rng)
        return [] if problem_key(sentence, sorts()) in self._without else sentence


def keys_of(folders: Sequence[str]) -> Set[int]:
    """The keys of the first states and goals of all problems in some folders."""
    five, keys = list(known().values()), set()
    for path, text, domain in chain.from_iterable(map(problems_in, folders)):
        one = match(read_problem(text, str(path), domain), str(path), five)
        found = writer(one.learnt.domain.name, one.problem)
        keys.add(problem_key(found.sentence(one.problem.initial), sorts()))
    return keys


DOMAIN = Domain(
    name="examples.planning.five:DOMAIN",
    version=1,
    symbols="\n".join(rf"{sort}={sort}\d+" for sort in sorts()),
    judges={"good": NextActionJudge},
    recipe=PlanningRecipe,
    labels={"good": good_label},
)
