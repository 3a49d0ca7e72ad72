"""Actions that are alike but for names, against all renamings of small problems."""

from collections import Counter
from itertools import permutations, product
from math import factorial, prod
from random import Random

import pytest
from domains.planning.problems import BY_NAME, DOMAINS, writer

from examples.planning.sampling import SAMPLERS
from sit_fairseq.domains.planning import symmetry
from sit_fairseq.domains.planning.applicable import applicable
from sit_fairseq.domains.planning.sentences import Writer, renamed
from sit_fairseq.domains.planning.strips import Operator, PlanningDomain, Problem, apply
from sit_fairseq.domains.planning.symmetry import distinct


def renamings(problem, state):
    """All that leave the sorts of objects, a state and the goal as they are."""
    groups = {}
    for name, sort in problem.sorts.items():
        groups.setdefault(sort, []).append(name)
    for others in product(*(permutations(group) for group in groups.values())):
        names = dict(zip(sum(groups.values(), []), sum(map(list, others), [])))
        if renamed(state, names) == state and renamed(problem.goal, names) == problem.goal:
            yield names


def sets_alike(problem, state, actions):
    """The sets of actions that some renaming makes equal."""
    names = list(renamings(problem, state))
    alike = {}
    for action in actions:
        images = {(action[0], *(some[one] for one in action[1:])) for some in names}
        alike.setdefault(frozenset(images & set(actions)), []).append(action)
    return list(alike.values())


@pytest.mark.parametrize("name", SAMPLERS)
def test_they_are_those_that_a_renaming_makes_equal(name):
    sample, sizes = SAMPLERS[name]
    rng, fewer = Random(name), 0
    for size in (n for n in sizes for _ in range(6)):
        problem = sample(size, rng)
        if prod(factorial(n) for n in Counter(problem.sorts.values()).values()) > 3000:
            continue
        write, state = writer(name, problem), problem.initial
        for _ in range(4):
            actions = sorted(applicable(DOMAINS[name], state, problem.sorts))
            found = write.choices(state, actions)
            sets = sets_alike(problem, state, actions)
            assert sorted(found.values()) == sorted(map(len, sets))
            assert all(sum(one in found for one in some) == 1 for some in sets)
            fewer += len(actions) - len(found)
            state = apply(DOMAINS[name], state, rng.choice(actions))
    assert fewer or name == "blocksworld"  # where every block has its part in the goal


def test_pairs_are_told_apart_by_what_joins_them():
    """Each key fits the lock of its colour; keys alone look alike, and so do locks."""
    fit = Operator(
        "try",
        {"?k": frozenset({"key"}), "?l": frozenset({"lock"})},
        (),
        (("tried", "?k", "?l"),),
        (),
    )
    domain = PlanningDomain("locks", {"of": 2, "tried": 2}, {"try": fit})
    sorts = {f"{sort}{n}": sort for sort in ("key", "lock", "colour") for n in range(4)}
    state = frozenset(
        ("of", f"{sort}{n}", f"colour{n}") for sort in ("key", "lock") for n in range(4)
    )
    found = distinct(sorted(applicable(domain, state, sorts)), sorts, sorted(state))
    assert found == {("try", "key0", "lock0"): 4, ("try", "key0", "lock1"): 12}


def test_nothing_is_alike_where_nobody_can_tell(monkeypatch):
    """The ends of a long road differ, which its middle learns late."""
    places = [f"s{n:02}" for n in range(41)]
    roads = {("road", *pair) for one in zip(places, places[1:]) for pair in (one, one[::-1])}
    atoms = [*roads, ("at", "s20"), ("at?", "s00")]
    ways, sorts = [("go", "s20", "s19"), ("go", "s20", "s21")], dict.fromkeys(places, "place")
    for most in (symmetry.MOST, 2000):
        monkeypatch.setattr(symmetry, "MOST", most)
        assert distinct(ways, sorts, atoms) == dict.fromkeys(ways, 1)
    keys = [("turn", f"k{n}") for n in range(3)]
    sorts = {**sorts, "k0": "key", "k1": "key", "k2": "key"}
    monkeypatch.setattr(symmetry, "MOST", 200_000)
    assert distinct(keys, sorts, atoms) == {keys[0]: 3}


def test_an_object_that_operators_name_is_like_no_other():
    rooms = {"?r": frozenset({"room"})}
    enter = Operator("enter", rooms, (), (("in", "?r"),), (), distinct=(("?r", "home"),))
    paint = Operator("paint", rooms, (), (("red", "?r"),), ())
    domain = PlanningDomain("rooms", {"in": 1, "red": 1}, {"enter": enter, "paint": paint})
    problem = Problem(dict.fromkeys(("home", "r1", "r2"), "room"), frozenset(), frozenset())
    write = Writer(BY_NAME["visitall"], domain, problem)
    actions = sorted(applicable(domain, problem.initial, problem.sorts))
    assert write.choices(problem.initial, actions) == {
        ("enter", "r1"): 2,
        ("paint", "home"): 1,
        ("paint", "r1"): 2,
    }
