from dataclasses import replace
from itertools import permutations

import pytest
from domains.planning.problems import DOMAINS, PROBLEMS, problem

from sit_fairseq.domains.planning.pddl_files import read_domain
from sit_fairseq.domains.planning.proofs import beyond_reach, shortest
from sit_fairseq.domains.planning.strips import execute


@pytest.mark.parametrize("name", PROBLEMS)
def test_no_proof_is_found_for_problems_with_plans(name):
    assert beyond_reach(DOMAINS[name], PROBLEMS[name]) is None
    found, plan = shortest(DOMAINS[name], PROBLEMS[name])
    assert found is True and execute(DOMAINS[name], PROBLEMS[name], plan) is None


def test_a_goal_that_no_action_leads_to_is_named():
    domain, start = DOMAINS["logistics"], PROBLEMS["logistics"]
    lost = problem(
        "package o, truck t, location l m, city c d",
        "in-city l c, at t l, at o l, in-city m d",
        "at o m",
    )
    assert beyond_reach(domain, lost) == "(at o m)"
    assert beyond_reach(domain, start) is None
    stays = replace(lost, goal=frozenset(), without=frozenset({("in-city", "m", "d")}))
    assert beyond_reach(domain, stays) == "(not (in-city m d))"


def test_towers_that_stand_on_themselves_have_no_plan():
    domain = DOMAINS["blocksworld"]
    start = "ontable a, ontable b, ontable c, clear a, clear b, clear c, handempty"
    for a, b, c in permutations("abc"):
        circle = problem("block a b c", start, f"on {a} {b}, on {b} {a}")
        assert beyond_reach(domain, circle) is None and shortest(domain, circle)[0] is False
        tower = problem("block a b c", start, f"on {a} {b}, on {b} {c}")
        assert len(shortest(domain, tower)[1]) == 4


def test_large_states_are_visited_in_smaller_number():
    domain, names = DOMAINS["visitall"], [f"x{n}" for n in range(1000)]
    ways = ", ".join(f"connected {a} {b}" for a in names[:10] for b in names)
    start = problem(f"place {' '.join(names)}", f"at-robot x0, {ways}", "visited y")
    assert shortest(domain, start)[0] is None


def test_a_goal_among_the_states_that_are_known_is_seen():
    """Not only among those whose actions were looked at."""
    text = """(define (domain d) (:predicates (switch ?x) (on ?x)) (:action press :parameters (?x)
      :precondition (switch ?x) :effect (on ?x)))"""
    switches = ", ".join(f"switch x{n}" for n in range(120))
    start = problem(f"object {' '.join(f'x{n}' for n in range(120))}", switches, "on x3, on x7")
    possible, plan = shortest(read_domain(text, "d").domain, start)
    assert possible and sorted(plan) == [("press", "x3"), ("press", "x7")]


def test_few_states_decide_nothing():
    domain = DOMAINS["blocksworld"]
    start = "ontable a, ontable b, ontable c, clear a, clear b, clear c, handempty"
    circle = problem("block a b c", start, "on a b, on b a")
    assert shortest(domain, circle, most=10)[0] is None
    assert shortest(domain, circle, most=22)[0] is False  # 13 with an empty hand, 9 with a block
