"""The rules that training data are made of: where they lead."""

from random import Random

import pytest
from domains.planning.problems import DOMAINS

from examples.planning.rules import good_actions
from examples.planning.sampling import SAMPLERS
from sit_fairseq.domains.planning.applicable import applicable
from sit_fairseq.domains.planning.strips import Problem, apply, obstacle


def follow(domain, problem, rng):
    """The number of actions until the goal holds by the rule; each good one is applicable."""
    state = problem.initial
    for number in range(200):
        if problem.goal <= state:
            return number
        good = good_actions(domain, Problem(problem.sorts, state, problem.goal))
        assert good and not any(obstacle(domain, state, problem.sorts, one) for one in good)
        state = apply(domain, state, rng.choice(good))
    raise AssertionError("the rule goes in circles")


@pytest.mark.parametrize("name", DOMAINS)
def test_rules_reach_the_goal_from_every_state(name):
    domain, rng = DOMAINS[name], Random(1)
    draw, sizes = SAMPLERS[name]
    for number in range(40):
        problem = draw(rng.choice(sizes), rng)
        state = problem.initial
        for _ in range(number % 4):
            actions = sorted(applicable(domain, state, problem.sorts))
            state = apply(domain, state, rng.choice(actions))
        follow(domain, Problem(problem.sorts, state, problem.goal), rng)


def test_a_tower_is_turned_over_without_detours():
    domain = DOMAINS["blocksworld"]
    tower = {("on", "block1", "block2"), ("on", "block2", "block3"), ("ontable", "block3")}
    state = frozenset({*tower, ("clear", "block1"), ("handempty",)})
    goal = frozenset({("on", "block3", "block2"), ("on", "block2", "block1")})
    sorts = dict.fromkeys(("block1", "block2", "block3"), "block")
    assert follow(domain, Problem(sorts, state, goal), Random(1)) == 6
