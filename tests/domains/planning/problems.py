"""Five domains, and a small problem of each."""

from typing import Dict

from conftest import PACKAGE

from sit_fairseq.domains.planning import learnt
from sit_fairseq.domains.planning.sentences import Writer
from sit_fairseq.domains.planning.strips import Problem

FOLDER = PACKAGE.parent / "examples/planning"
LEARNT = learnt.read(str(FOLDER))
BY_NAME = {one.domain.name: one for one in LEARNT}
DOMAINS = {name: one.domain for name, one in BY_NAME.items()}


def writer(name: str, problem: Problem) -> Writer:
    """Writes sentences of a problem."""
    return Writer(BY_NAME[name], DOMAINS[name], problem)


def problem(sorts: str, initial: str, goal: str) -> Problem:
    """A problem of texts: ``block a b, room r``, and atoms with commas between them."""
    groups = (group.split() for group in sorts.split(", "))
    named = {name: sort for sort, *names in groups for name in names}
    start, end = (frozenset(tuple(a.split()) for a in text.split(", ")) for text in (initial, goal))
    return Problem(named, start, end)


PROBLEMS: Dict[str, Problem] = {
    "blocksworld": problem(
        "block a b c", "on a b, ontable b, ontable c, clear a, clear c, handempty", "on b c"
    ),
    "depots": problem(
        "place d1 d2, truck t, hoist h1 h2, pallet p1 p2, crate c1 c2",
        "at t d2, at h1 d1, at h2 d2, available h1, available h2, at p1 d1, at p2 d2, at c1 d1, "
        "at c2 d1, on c1 p1, on c2 c1, clear c2, clear p2",
        "on c1 p2",
    ),
    "gripper": problem(
        "room r1 r2, ball b1 b2, gripper left right",
        "at-robot r1, at b1 r1, at b2 r2, free left, free right",
        "at b1 r2",
    ),
    "logistics": problem(
        "package o1 o2, truck t1 t2, airplane a, location l1 l2, airport p1 p2, city c1 c2",
        "in-city l1 c1, in-city p1 c1, in-city l2 c2, in-city p2 c2, at t1 l1, at t2 p2, at a p2, "
        "at o1 l1, at o2 p1",
        "at o1 l2",
    ),
    "visitall": problem(
        "place x1 x2 x3",
        "connected x1 x2, connected x2 x1, connected x2 x3, connected x3 x2, at-robot x2, "
        "visited x2",
        "visited x1, visited x3",
    ),
}
