"""Plans for files in PDDL; rules take the place of the model."""

import re
from types import SimpleNamespace

import pytest
from domains.planning.pddl_written import Author, unions
from domains.planning.problems import DOMAINS, FOLDER, PROBLEMS, problem

from examples.planning.five import good_actions, read_sentence
from sit_fairseq.domains import find
from sit_fairseq.domains.planning import answering, solving
from sit_fairseq.domains.planning.answering import PlanSolver, best
from sit_fairseq.domains.planning.learnt import learn
from sit_fairseq.domains.planning.matching import matches
from sit_fairseq.domains.planning.pddl_files import read_domain, read_problem
from sit_fairseq.domains.solver import Limits
from sit_fairseq.errors import UserError

# What a model of all domains knows, which has seen no way in one direction alone.
WORDS = {"linked", *DOMAINS} | {
    f"{name}{mark}"
    for one in DOMAINS.values()
    for name in (*one.predicates, *one.operators)
    for mark in ("", "?", "!")
    if name != "connected"
}


def rules(questions):
    """Good actions for each sentence, in the place of a model."""
    found = []
    for sentence, _ in questions:
        found.append([(action, -1.0) for action in sorted(good_actions(*read_sentence(sentence)))])
    return found


@pytest.fixture
def solve(tmp_path, monkeypatch):
    """Writes a domain and problems to files and solves them; returns the solver and what came of
    each problem."""
    monkeypatch.setattr(solving, "ModelActions", lambda model: model.actions)

    def call(domain, *problems, actions=rules, knows=WORDS, longest=1024):
        texts = {"domain.pddl": domain, **{f"p{at}.pddl": text for at, text in enumerate(problems)}}
        for name, text in texts.items():
            (tmp_path / name).write_text(text)
        given = list(enumerate([str(tmp_path / name) for name in texts], start=1))
        model = SimpleNamespace(base_tokens=knows, actions=actions, longest=longest, folder=FOLDER)
        solver = PlanSolver(find("planning"), given, lambda: model, Limits((1, 2), 60.0))
        return solver, dict(solver.answers(range(len(problems))))

    return call


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_author_gets_the_same_plan_in_their_names(solve, name):
    known, problem = DOMAINS[name], PROBLEMS[name]
    plans = set()
    for seed in range(4):
        author = Author(seed, typed=seed % 2 == 0)
        texts = author.domain(known), author.problem(problem, unions(known))
        solver, found = solve(*texts)
        assert found[0].status == "verified" and solver.right(0, found[0].text)
        ours = {v: k for (what, k), v in author.names.items() if what == "action"}
        actions = [line[1:-1].split()[0] for line in found[0].text.split("\n")]
        plans.add(tuple(ours[action] for action in actions))
    assert len(plans) == 1


BLOCKS = Author(1, typed=False).domain(DOMAINS["blocksworld"])


def blocks(goal):
    """A problem of the author of ``BLOCKS``."""
    author = Author(1, typed=False)
    author.domain(DOMAINS["blocksworld"])
    initial = "on a b, ontable b, ontable c, clear a, clear c, handempty"
    return author.problem(problem("block a b c", initial, goal))


def test_a_problem_without_a_plan_is_proved(solve):
    solver, found = solve(BLOCKS, blocks("on a b, on b a"), blocks("on b c"), blocks("on a a"))
    assert solver.none == "no plan exists"
    statuses = ["no answer exists", "verified", "no answer exists"]
    assert [found[at].status for at in range(3)] == statuses


def test_a_goal_that_holds_has_the_empty_plan(solve):
    solver, found = solve(BLOCKS, blocks("on a b"))
    assert found[0].status == "verified" and found[0].text == "" and solver.right(0, "")


def test_a_file_that_cannot_be_read_leaves_the_others_answered(solve):
    _, found = solve(BLOCKS, "(define (problem p)", blocks("on b c"))
    assert found[0].status == "cannot be read" and "p0.pddl" in found[0].reason
    assert found[1].status == "verified"
    _, found = solve(BLOCKS, blocks("on b c"), actions=lambda questions: [[] for _ in questions])
    assert (found[0].status, found[0].text) == ("not verified", "")
    problem = "(define (problem p) (:domain d) (:init (p)) (:goal (p)))"
    _, found = solve("(define (domain d) (:predicates (p)))", problem)
    assert found[0].status == "cannot be answered" and "blocksworld" in found[0].reason
    with pytest.raises(UserError, match="a file with a domain, and then"):
        PlanSolver(find("planning"), [(1, "domain.pddl")], None, Limits((1,), 60.0))


LITTLE = ("blocksworld", "on", "on?", "on!", "ontable", "holding")


def nothing(questions):
    """No action, whatever is asked; a model is told of goals that it knows alone."""
    assert not any("holding?" in sentence for sentence, _ in questions)
    return [[] for _ in questions]


@pytest.mark.parametrize(
    "goal, actions, status, told",
    [
        ("on b c", rules, "verified", ""),
        ("holding b", nothing, "verified", "found without the model, which was trained on no goal"),
        ("on b c, holding a", nothing, "verified", "found without the model"),
    ],
)
def test_goals_of_a_kind_that_a_model_lacks_are_looked_for(solve, goal, actions, status, told):
    solver, found = solve(BLOCKS, blocks(goal), actions=actions, knows=LITTLE)
    assert found[0].status == status and found[0].reason.startswith(told)
    assert solver.right(0, found[0].text)


def test_a_goal_of_a_kind_that_a_model_lacks_may_be_out_of_reach(solve, monkeypatch):
    monkeypatch.setattr(answering, "shortest", lambda *task, order: (None, []))
    _, found = solve(BLOCKS, blocks("holding b"), actions=nothing, knows=LITTLE)
    assert found[0].status == "not verified" and found[0].reason.endswith("; change --path")
    author = Author(1, typed=False)
    author.domain(DOMAINS["blocksworld"])
    assert author.names["predicate", "holding"] in found[0].reason


def test_names_have_no_part_in_a_plan_that_is_found_without_the_model(solve):
    """Either ball could be the first."""
    balls = problem(
        "room r1 r2, ball b1 b2, gripper left right",
        "at-robot r1, at b1 r1, at b2 r1, free left, free right",
        "carry b1 left, at b2 r2",
    )
    plans = set()
    for seed in range(6):
        author = Author(seed, typed=False)
        known = DOMAINS["gripper"]
        texts = author.domain(known), author.problem(balls, unions(known))
        knows = ("gripper", "at-robot", "at", "free", "carry", "at?", "at!")
        _, found = solve(*texts, actions=nothing, knows=knows)
        assert found[0].reason.startswith("found without the model")
        ours = {new: old for (what, old), new in author.names.items() if what != "predicate"}
        lines = [line[1:-1].split() for line in found[0].text.split("\n")]
        plans.add(tuple(frozenset(ours[word] for word in line) for line in lines))
    assert len(plans) == 1


LAMPS = """(define (domain lamps) (:predicates (lit ?l) (dark ?l) (near ?l))
  (:action on :parameters (?l) :precondition (and (near ?l) (dark ?l))
    :effect (and (lit ?l) (not (dark ?l))))
  (:action off :parameters (?l) :precondition (and (near ?l) (lit ?l))
    :effect (and (dark ?l) (not (lit ?l)))))"""


class Every:
    """The words of a model that knows all."""

    def __contains__(self, word):
        return True


class LitAlone:
    """The words of a model that was trained on no goal but lit."""

    def __contains__(self, word):
        return word != "lamps.dark?"


def seen(first, words):
    """The action of a file that the match takes for *on*, if *on* or *off* is defined ``first``."""
    names = {"on": "x", "off": "y", "lit": "p", "dark": "q", "near": "r"}
    head, on, off = LAMPS.split("\n  (:action")
    parts = (on, off[:-1]) if first == "on" else (off[:-1], on)
    text = "\n  (:action".join((head, *parts)) + ")"
    text = re.sub(r"\b(on|off|lit|dark|near)\b", lambda found: names[found[1]], text)
    start = "(define (problem p) (:domain lamps) (:objects a) (:init (q a) (r a)) (:goal (p a)))"
    task = read_problem(start, "p", read_domain(text, "d"))
    ways = list(matches(task, "p", [learn(LAMPS, "l", [frozenset({"(near)"})], [])]))
    assert [way.operators["on"][0] for way in ways] in (["x", "y"], ["y", "x"])
    found, writer = best(ways, words)
    assert not writer.untold
    return found.operators["on"][0]


def test_of_several_ways_to_see_a_domain_one_with_known_words_is_taken():
    assert {seen(first, LitAlone()) for first in ("on", "off")} == {"x"}


def test_the_order_of_definitions_has_no_part_in_how_a_domain_is_seen():
    assert len({seen(first, Every()) for first in ("on", "off")}) == 1


def test_a_problem_that_is_too_long_for_a_model_is_said_before_it_is_named(solve, monkeypatch):
    monkeypatch.setattr(answering, "Writer", None)
    _, found = solve(BLOCKS, blocks("on b c"), longest=5)
    assert found[0].status == "cannot be answered"
    assert "3 objects" in found[0].reason and "the model reads 4" in found[0].reason


def test_of_an_order_the_steps_alone_count(monkeypatch):
    """A lift of 12 floors has 66 pairs of floors, of which a sentence has the 11 steps."""
    text = """(define (domain lift) (:predicates (above ?a ?b) (at ?f))
      (:action up :parameters (?a ?b) :precondition (and (at ?a) (above ?b ?a))
        :effect (and (at ?b) (not (at ?a)))))"""
    pairs = [f"(above f{b} f{a})" for b in range(12) for a in range(b)]
    objects = " ".join(f"f{n}" for n in range(12))
    start = (
        f"(define (problem p) (:domain lift) (:objects {objects}) (:init (at f0) {' '.join(pairs)})"
    )
    task = read_problem(f"{start} (:goal (at f11)))", "p", read_domain(text, "d"))
    solver = SimpleNamespace(
        _domain="d",
        no_matching=False,
        no_numbering=True,
        _learnt=[learn(text, "d", [frozenset()], ["above"])],
    )
    solver.model = SimpleNamespace(
        longest=60, base_tokens=("lift.above!", "lift.above", "lift.at", "lift.at?", "lift.above<")
    )
    found, writer = PlanSolver._matched(solver, task)
    assert len(found.problem.initial) > 60 > len(writer.sentence(found.problem.initial))


def test_costs_are_said_to_be_ignored(solve):
    paid = BLOCKS.replace(":effect (and", ":effect (and (increase (total-cost) 2)")
    assert paid != BLOCKS
    _, found = solve(paid, blocks("on b c"))
    assert found[0].status == "verified" and found[0].reason == "action costs are ignored"


def test_a_constant_of_an_inequality_is_minded(solve):
    """Block c may not be stacked; whatever objects are called in sentences."""
    known, author = DOMAINS["blocksworld"], Author(1, typed=False)
    domain = author.domain(known)
    sets = "block a b c", "on a b, ontable b, ontable c, clear a, clear c, handempty"
    problems = [author.problem(problem(*sets, goal)) for goal in ("on b c", "on c a")]
    moved, c = author.names["stack", "?x"], author.names["object", "c"]
    before, head, after = domain.partition(f"(:action {author.names['action', 'stack']}")
    after = after.replace("(and", f"(and (not (= ?{moved} {c}))", 1)
    _, found = solve(f"{before}(:constants unused {c})\n{head}{after}", *problems)
    assert [found[at].status for at in range(2)] == ["verified", "no answer exists"]


def test_a_model_is_not_asked_for_ways_of_a_kind_that_it_lacks(solve):
    known, author = DOMAINS["visitall"], Author(1, typed=True)
    domain, places = author.domain(known), "place x1 x2"
    there = problem(places, "connected x1 x2, at-robot x1, visited x1", "visited x2")
    back = problem(places, "connected x1 x2, connected x2 x1, at-robot x1", "visited x2")
    texts = [author.problem(one, unions(known)) for one in (there, back)]
    _, found = solve(domain, *texts)
    name = author.names["predicate", "connected"]
    assert found[0].status == "cannot be answered"
    assert found[0].reason.startswith(f"the model was trained on nothing like ({name} ")
    assert found[1].status == "verified"
    _, found = solve(domain, texts[0], knows={*WORDS, "connected"})
    assert found[0].status == "verified"


def test_a_wrong_plan_is_not_right(solve):
    solver, found = solve(BLOCKS, blocks("on b c"))
    lines = found[0].text.split("\n")
    assert solver.right(0, "\n".join(lines))
    for damaged in (lines[:-1], lines[::-1], [*lines, lines[-1]], [*lines, ""], ["(a b)"], [""]):
        assert not solver.right(0, "\n".join(damaged))
