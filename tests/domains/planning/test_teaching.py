"""Training data of any domain: where labels come from, and what is left out."""

from random import Random

import pytest

from sit_fairseq.domains.planning import learnt, teaching
from sit_fairseq.domains.planning.labelling import (
    Planner,
    _plain,
    nearest,
    read_plan,
    shortened,
)
from sit_fairseq.domains.planning.matching import match
from sit_fairseq.domains.planning.pddl_files import read_domain, read_problem
from sit_fairseq.domains.planning.proofs import Graph, shortest, visited
from sit_fairseq.domains.planning.strips import execute
from sit_fairseq.domains.planning.teaching import PlanTeacher
from sit_fairseq.errors import UserError

LAMPS = """(define (domain lamps) (:requirements :strips :typing :adl)
  (:types lamp cable) (:constants main - cable)
  (:predicates (lit ?l - lamp) (held ?c - cable) (fits ?c - cable ?l - lamp) (free))
  (:functions (total-cost))
  (:action 2take :parameters (?c - cable) :precondition (and (free) (not (= ?c main)))
    :effect (and (held ?c) (not (free)) (increase (total-cost) 1)))
  (:action leave :parameters (?c - cable) :precondition (held ?c)
    :effect (and (free) (not (held ?c))))
  (:action light :parameters (?c - cable ?l - lamp)
    :precondition (and (held ?c) (fits ?c ?l) (not (lit ?l))) :effect (lit ?l)))"""


def problem(fits, goal, name="p"):
    objects = "(:objects a b c - lamp x y - cable)"
    pairs = " ".join(f"(fits {one[0]} {one[1]})" for one in fits.split())
    goal = " ".join(f"(lit {one})" for one in goal)
    return f"(define (problem {name}) (:domain lamps) {objects} (:init (free) {pairs}) (:goal (and {goal})))"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "domain.pddl").write_text(LAMPS)
    for number, (fits, goal) in enumerate((("xa xb yc", "abc"), ("xa yb", "ab"), ("xa", "ab"))):
        (tmp_path / f"in/p{number}.pddl").write_text(problem(fits, goal))
    (tmp_path / "in/q.pddl").write_text("(define (problem q)")
    return tmp_path


def taught(folder, seconds=60, **options):
    given = [str(folder / "domain.pddl"), str(folder / "in")]
    lines = list(PlanTeacher(**options).teach(given, str(folder), seconds))
    pairs = [
        pair
        for part in ("train", "valid")
        for pair in zip(
            *((folder / f"{part}.{e}").read_text().splitlines() for e in ("src", "tgt"))
        )
    ]
    return lines, pairs


def loaded(fits="xa xb yc", goal="abc"):
    kinds = [frozenset({one}) for one in ("lamp", "cable")]
    known = [learnt.learn(LAMPS, "d.pddl", kinds, [])]
    found = match(read_problem(problem(fits, goal), "p", read_domain(LAMPS, "d")), "p", known)
    return found.domain, found.problem


def test_small_problems_are_labelled_by_all_states_and_the_others_are_listed(folder):
    (folder / "in/r.pddl").write_text(problem("xa", "a").replace("x y", "x y z"))
    lines, pairs = taught(folder, most_objects=6)
    said = "\n".join(lines)
    assert "p2.pddl: left out: no plan exists" in said and "q.pddl: left out: " in said
    assert f"{folder}/in: 1 left out: more than 6 objects, see --most-objects" in said
    assert "action costs are ignored" in said and lines[-1].startswith("lamps: ")
    assert len(pairs) > 50
    words = {pair[1].split()[0] for pair in pairs}
    assert words == {"lamps.2take", "lamps.leave", "lamps.light"}
    (known,) = learnt.read(str(folder))
    assert known.first == "lamps:" and len(known.sorts) == 2


def test_small_problems_are_labelled_again_until_there_are_enough(folder, monkeypatch):
    every = sum(
        len(visited(*loaded(*one)).states) for one in (("xa xb yc", "abc"), ("xa yb", "ab"))
    )
    _, pairs = taught(folder)
    assert len(pairs) > 2 * teaching._GOALS * every
    monkeypatch.setattr(teaching, "_ENOUGH", len(pairs) // 2)
    assert len(pairs) // 2 < len(taught(folder)[1]) < len(pairs)
    assert all(pair[0].startswith("lamps: ") for pair in pairs)


def test_plans_that_are_given_are_labels_and_wrong_ones_are_listed(folder, monkeypatch):
    monkeypatch.setattr(teaching, "visited", lambda *task: Graph([], [], False))
    monkeypatch.setattr(teaching, "installed", lambda: None)
    (folder / "in/p0.plan").write_text(
        "(2TAKE x)\n(light x a)\n(light x b)\n(leave x)\n(2take y)\n(light y c)\n; cost = 6\n"
    )
    (folder / "in/p1.plan").write_text("(light x a)\n")
    with pytest.raises(UserError, match="too few states"):
        taught(folder, plans=str(folder / "in"))
    lesson = teaching._Lesson(
        PlanTeacher(plans=str(folder / "in")), str(folder / "domain.pddl"), str(folder / "in")
    )
    said = "\n".join([*lesson.read(), *lesson.label(60)])
    assert f"p1.plan is no plan of {folder}/in/p1.pddl" in said
    assert "p2.pddl: left out: it has too many states" in said
    assert len({pair[1] for pair in lesson.groups[0]}) == 6


def test_an_object_may_be_called_as_an_action_is():
    names = {"load": "LOAD"}, {"load": "Load", "b": "b"}
    assert read_plan("(load load b)\n; cost = 1", *names) == [("LOAD", "Load", "b")]
    assert read_plan("(b load)", *names) is None and read_plan("(load c)", *names) is None


def test_a_plan_that_is_given_stands_for_all_states(folder, monkeypatch):
    """However many pairs there are."""
    plan = "(2take x)\n(light x a)\n{}(leave x)\n(2take y)\n(light y {})\n"
    (folder / "in/p0.plan").write_text(plan.format("(light x b)\n", "c"))
    lines, pairs = taught(folder, plans=str(folder / "in"))
    assert "(1 by all states, 1 plans)" in lines[-1] and len(pairs) > 50
    (folder / "in/p1.plan").write_text(plan.format("", "b"))
    monkeypatch.setattr(teaching, "_ENOUGH", 0)
    for seconds in (60, 0):
        lines, pairs = taught(folder, plans=str(folder / "in"), seconds=seconds)
        assert "(0 by all states, 2 plans)" in lines[-1] and len(pairs) == 3 * (6 + 5)
    (folder / "in/p1.plan").write_text("(light x a)\n")  # of a problem of the same name elsewhere
    monkeypatch.undo()
    lines, _ = taught(folder, plans=str(folder / "in"))
    assert "(1 by all states, 1 plans)" in lines[-1]
    (folder / "none").mkdir()
    said = "\n".join(taught(folder, plans=str(folder / "none"))[0])
    assert "none has no plan of a problem in" in said
    with pytest.raises(UserError, match="there is no folder .*nowhere; change plans"):
        taught(folder, plans=str(folder / "nowhere"))


def test_what_a_model_cannot_read_is_left_out(folder, monkeypatch):
    (folder / "in/r.pddl").symlink_to(folder / "nothing")
    (folder / "in/s.pddl").write_text(
        "(define (problem s) (:domain lamps) (:init (free)) (:goal (free)))"
    )
    said = "\n".join(taught(folder)[0])
    assert "r.pddl: left out: " in said and "p0.pddl" not in said
    monkeypatch.setattr(teaching, "_BATCH", 30)  # each word counts once for each object
    with pytest.raises(UserError, match="no problem of .* could be labelled"):
        taught(folder)


def test_a_problem_may_have_objects_that_no_action_takes(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "domain.pddl").write_text(
        "(define (domain d) (:predicates (p) (q)) (:action a :parameters () :precondition (p) :effect (q)))"
    )
    text = "(define (problem p) (:domain d) (:objects x) (:init (p)) (:goal (q)))"
    (tmp_path / "in/p.pddl").write_text(text)
    assert taught(tmp_path)[1]


def test_a_planner_that_reads_no_not_is_not_asked(folder, monkeypatch):
    monkeypatch.setattr(teaching, "visited", lambda *task: Graph([], [], False))
    monkeypatch.setattr(teaching, "installed", lambda: Planner("toy", None, False))
    lesson = teaching._Lesson(PlanTeacher(), str(folder / "domain.pddl"), str(folder / "in"))
    with pytest.raises(UserError, match="could be labelled"):
        said = list(lesson.read())
        for line in lesson.label(60):
            said.append(line)
    assert "p0.pddl: left out: toy reads no (not ...)" in "\n".join(said)


def test_files_of_two_domains_are_two(folder):
    given = []
    for title in ("a.b", "a_b"):
        (folder / title).write_text(LAMPS.replace("domain lamps", f"domain {title}"))
        given += [str(folder / title), str(folder / "in")]
    with pytest.raises(UserError, match="two domains are called a_b"):
        list(PlanTeacher().teach(given, str(folder), 60))


def test_a_planner_gets_the_same_problem_in_plain_names(folder, monkeypatch):
    """The texts for it are read as a problem with plans of the same length."""
    seen = []

    def plan(domain, task, seconds):
        texts, back = _plain(domain, task)
        read = read_problem(texts[1], "p", read_domain(texts[0], "d"))
        found, plan = shortest(read.domain.domain, read.problem)
        seen.append(len(plan))
        text = "\n".join(f"({' '.join(one)})" for one in plan)
        return read_plan(text, back, back) if found else None

    monkeypatch.setattr(teaching, "visited", lambda *task: Graph([], [], False))
    monkeypatch.setattr(teaching, "installed", lambda: Planner("toy", plan, True))
    monkeypatch.setattr(teaching, "_ENOUGH", 500)
    lines, pairs = taught(folder)
    assert "p2.pddl: left out: toy finds no plan" in "\n".join(lines)
    assert seen[:2] == [6, 5] and len(seen) > 20 and len(pairs) > 400


def test_ways_are_shortest_and_plans_lose_useless_actions():
    domain, task = loaded()
    graph = visited(domain, task)
    length = len(shortest(domain, task)[1])
    action = dict(nearest(graph, task, Random(1), 999))[task.initial]
    assert action[0] == "2take" and length == 6
    plan = [("2take", "y"), ("leave", "y"), *shortest(domain, task)[1]]
    assert execute(domain, task, plan) is None
    assert len(shortened(domain, task, plan)) == length
    assert not visited(domain, task, 3).whole


def test_folders_without_problems_and_odd_words_are_refused(folder):
    (folder / "other").mkdir()
    with pytest.raises(UserError, match="other has no file whose name ends in .pddl"):
        list(PlanTeacher().teach([str(folder / "domain.pddl"), str(folder / "other")], "", 9))
    with pytest.raises(UserError, match="each before a folder"):
        list(PlanTeacher().teach(["x.pddl"], str(folder), 9))
    with pytest.raises(UserError, match="no problem of .* that can be used"):
        taught(folder, most_objects=2)
    given = [str(folder / "domain.pddl"), str(folder / "in")] * 2
    with pytest.raises(UserError, match="two domains are called lamps"):
        list(PlanTeacher().teach(given, str(folder), 60))
