from dataclasses import replace
from itertools import product
from random import Random

import pytest
from domains.planning.problems import DOMAINS, PROBLEMS, problem

from sit_fairseq.domains.planning.applicable import applicable
from sit_fairseq.domains.planning.strips import Operator, PlanningDomain, apply, obstacle


def by_trial(domain, state, sorts):
    """The applicable actions, found among all products of objects."""
    for operator in domain.operators.values():
        for objects in product(sorts, repeat=len(operator.parameters)):
            action = (operator.name, *objects)
            if obstacle(domain, state, sorts, action) is None:
                yield action


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_actions_are_those_without_an_obstacle(name):
    domain, rng = DOMAINS[name], Random(2)
    state, sorts = PROBLEMS[name].initial, PROBLEMS[name].sorts
    for _ in range(12):
        actions = sorted(applicable(domain, state, sorts))
        assert actions == sorted(by_trial(domain, state, sorts))
        state = apply(domain, state, rng.choice(actions))


def test_actions_mind_equal_objects_and_what_must_not_hold():
    swap = Operator(
        "swap",
        {"?x": frozenset("s"), "?y": frozenset("st")},
        before=(("p", "?x"), ("q", "?y", "o3")),
        add=(("p", "?y"),),
        delete=(("p", "?x"),),
        without=(("r", "?x", "?y"),),
        distinct=(("?x", "?y"),),
    )
    domain = PlanningDomain("swaps", {"p": 1, "q": 2, "r": 2}, {"swap": swap})
    start = problem(
        "s o1 o2, t o3, u o4",
        "p o1, p o2, p o3, q o1 o3, q o2 o3, q o3 o3, q o4 o3, q o1 o1, r o1 o3",
        "p o3",
    )
    found = sorted(applicable(domain, start.initial, start.sorts))
    assert found == sorted(by_trial(domain, start.initial, start.sorts))
    assert found == [("swap", "o1", "o2"), ("swap", "o2", "o1"), ("swap", "o2", "o3")]
    for distinct, same, number in (
        ((), (), 5),
        ((("?x", "o2"),), (), 2),
        ((), (("o2", "?y"),), 2),
        ((), (("?x", "?y"),), 2),
        ((("o1", "o1"),), (), 0),
    ):
        other = replace(domain, operators={"swap": replace(swap, distinct=distinct, same=same)})
        found = sorted(applicable(other, start.initial, start.sorts))
        assert len(found) == number
        assert found == sorted(by_trial(other, start.initial, start.sorts))


def test_an_action_is_found_once_among_many_places():
    domain = DOMAINS["visitall"]
    names = [f"x{n}" for n in range(200)]
    roads = {("connected", a, b) for a, b in product(names, names) if a != b}
    state = frozenset(roads | {("at-robot", "x7")})
    moves = list(applicable(domain, state, dict.fromkeys(names, "place")))
    assert len(moves) == len(set(moves)) == 199
