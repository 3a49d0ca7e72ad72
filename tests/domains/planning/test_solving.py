"""Plans, step by step, with a model of random weights."""

from dataclasses import replace

import pytest
import torch
from conftest import make_dictionary, make_model
from domains.planning.problems import BY_NAME, DOMAINS, PROBLEMS, writer
from generated import generate, read

from examples.planning.chance import random_actions
from examples.planning.five import DOMAIN
from sit_fairseq.domains.planning.applicable import applicable
from sit_fairseq.domains.planning.sentences import Writer
from sit_fairseq.domains.planning.solving import ModelActions, PlanSearch, solve
from sit_fairseq.domains.planning.strips import Operator, Problem, execute
from sit_fairseq.model import Model


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    sources, targets = read(
        generate(DOMAIN.name, tmp_path_factory.mktemp("x") / "x", "--size", 400)
    )
    words = sorted({word for line in sources + targets for word in line.split()})
    base = [word for word in words if not word[-1].isdigit()]
    names = [word for word in words if word[-1].isdigit()]
    dictionary = make_dictionary(names, base, DOMAIN.symbols)
    torch.manual_seed(1)
    options = {"stream_places": "own", "encoder_positions": "rope", "decoder_positions": "rope"}
    return Model([make_model(dictionary, **options)], "planning")


def solved(model, problems, actions=5, **options):
    """The solutions by place."""
    ask = ModelActions(model, actions, batch_size=2)
    writers = [writer(name, problem) for name, problem in problems]
    return dict(solve(ask, writers, PlanSearch(**options)))


@pytest.mark.slow
def test_plans_reach_the_goal_whatever_the_model_thinks(model):
    problems = list(PROBLEMS.items())
    found = solved(model, problems, actions=8, budget=60)
    assert sorted(found) == list(range(len(problems)))
    plans = {problems[place][0]: one.plan for place, one in found.items() if one.plan}
    assert {"blocksworld", "gripper", "visitall"} <= set(plans)
    for name, plan in plans.items():
        assert execute(DOMAINS[name], PROBLEMS[name], plan) is None


def test_a_goal_that_holds_needs_no_action_and_no_call(model):
    problem = PROBLEMS["blocksworld"]
    done = Problem(problem.sorts, problem.initial, frozenset({("on", "a", "b")}))
    (found,) = solved(model, [("blocksworld", done)]).values()
    assert found.plan == [] and found.calls == 0


def test_the_budget_is_kept_for_each_problem(model):
    problem = PROBLEMS["logistics"]
    found = solved(model, [("logistics", problem)] * 2, budget=3)
    assert [one.calls for one in found.values()] == [3, 3]
    assert all(one.plan is None for one in found.values())


def test_no_state_is_entered_twice(model):
    """With every action to choose from, the search sees all that can be reached, then ends."""
    problem = PROBLEMS["visitall"]
    sorts = {**problem.sorts, "x4": "place"}
    never = Problem(sorts, problem.initial, problem.goal | {("visited", "x4")})
    (found,) = solved(model, [("visitall", never)], actions=8).values()
    assert found.plan is None and found.calls == 6  # x2, x1, which is like x3, x2, x3, x2, x1


def test_an_action_that_leads_to_a_new_state_is_chosen_onward(model):
    """Only turning back is left to a robot at the end of its way, or nothing where it came by it."""
    (found,) = solved(model, [("visitall", PROBLEMS["visitall"])], 1, onward=True).values()
    assert found.plan is not None and found.calls == len(found.plan) == 3


def test_what_a_file_asks_for_beyond_the_known_domain_is_kept():
    """A robot that may not leave its first place."""
    known, problem = DOMAINS["visitall"], PROBLEMS["visitall"]
    move = replace(known.operators["move"], without=(("visited", "?to"), ("visited", "?from")))
    strict = replace(known, operators={"move": move})
    strict = Writer(BY_NAME["visitall"], strict, problem)
    ((_, found),) = solve(random_actions, [strict])
    assert found.plan is None


def test_the_first_action_is_the_likeliest_however_few_are_asked_for(model):
    """Also where other actions share a first word that is likelier than that of this action."""
    writers = [writer(name, problem) for name, problem in PROBLEMS.items()]
    questions = [
        (one.sentence(one.problem.initial), [(one.written(action), 1) for action in every])
        for one in writers
        for every in [sorted(applicable(one.domain, one.problem.initial, one.problem.sorts))]
    ]
    first, several = ModelActions(model, 1)(questions), ModelActions(model, 40)(questions)
    assert [[words for words, _ in one] for one in first] == [[some[0][0]] for some in several]


def test_a_state_of_two_searches_has_the_actions_that_each_has_left(model):
    """They came to it on different ways, so that other states are new to them."""
    one = writer("visitall", PROBLEMS["visitall"])
    every = [
        (one.written(action), 1)
        for action in sorted(applicable(one.domain, one.problem.initial, one.problem.sorts))
    ]
    asked = [(one.sentence(one.problem.initial), [action]) for action in every]
    ask = ModelActions(model)
    found = ask([*asked, asked[0]])
    assert [words for ((words, _),) in found] == [words for words, _ in (*every, every[0])]
    alone = [*ask(asked[:1]), *ask(asked[1:]), *ask(asked[:1])]
    for ((words, score),), ((same, other),) in zip(found, alone):
        assert words == same and score == pytest.approx(other, abs=1e-4)


def test_actions_that_change_nothing_are_not_asked_about():
    """A lamp that is on can be lit again."""
    operator = Operator("light", {"?x": frozenset({"place"})}, (), (("visited", "?x"),), ())
    domain = replace(DOMAINS["visitall"], operators={"light": operator})
    problem = PROBLEMS["visitall"]
    asked = []

    def ask(questions):
        asked.extend(actions for _, actions in questions)
        return [[(actions[0][0], 0.0)] for _, actions in questions]

    ((_, found),) = solve(ask, [Writer(BY_NAME["visitall"], domain, problem)])
    assert [[number for _, number in actions] for actions in asked] == [[2], [1]]
    assert len(found.plan) == 2
