from random import Random

import pytest
from domains.planning.problems import DOMAINS, PROBLEMS

from sit_fairseq.domains.planning.applicable import applicable
from sit_fairseq.domains.planning.strips import apply, execute

BLOCKS, STACKED = DOMAINS["blocksworld"], PROBLEMS["blocksworld"]


def plan(text):
    return [tuple(action.split()) for action in text.split(", ")]


@pytest.mark.parametrize(
    "text, step, reason",
    [
        ("unstack a b, pick-up b", 2, "(pick-up b) needs (handempty)"),
        ("unstack a b, put-down a", 3, "the goal (on b c) does not hold"),
        ("unstack a b, fly a", 2, "there is no action (fly)"),
        ("unstack a", 1, "unstack has 2 objects, not 1"),
        ("pick-up d", 1, "there is no object d"),
    ],
)
def test_a_plan_that_fails_says_where_and_why(text, step, reason):
    failure = execute(BLOCKS, STACKED, plan(text))
    assert (failure.step, failure.reason) == (step, reason)
    assert execute(BLOCKS, STACKED, plan("unstack a b, put-down a, pick-up b, stack b c")) is None
    failure = execute(DOMAINS["logistics"], PROBLEMS["logistics"], [("fly", "a", "p2", "l1")])
    assert str(failure) == "step 1: (fly a p2 l1) cannot have the location l1"


def test_static_predicates_are_those_that_no_action_changes():
    static = {name: set(domain.static) for name, domain in DOMAINS.items()}
    others = {"blocksworld": set(), "depots": set(), "gripper": set()}
    assert static == {**others, "logistics": {"in-city"}, "visitall": {"connected"}}


@pytest.mark.parametrize("name", PROBLEMS)
def test_each_known_action_can_be_taken(name):
    domain, problem, rng = DOMAINS[name], PROBLEMS[name], Random(1)
    state, taken = problem.initial, set()
    for _ in range(200):
        action = rng.choice(sorted(applicable(domain, state, problem.sorts)))
        state = apply(domain, state, action)
        taken.add(action[0])
    assert taken == set(domain.operators)
