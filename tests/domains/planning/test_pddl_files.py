"""Files in PDDL: what is read, and what is said of what cannot be."""

import pytest

from sit_fairseq.domains.planning.pddl_files import read_domain, read_problem, read_text
from sit_fairseq.domains.planning.strips import Operator
from sit_fairseq.errors import UserError

DOMAIN = """; a comment with ( and :requirements :adl
(DEFINE (DOMAIN Shop)
  (:requirements :STRIPS :typing :negative-preconditions :equality :action-costs)
  (:types crate - thing  thing van - object)
  (:constants Home - thing)
  (:predicates (in ?c - crate ?v - (either van thing)) (empty) (heavy ?x))
  (:functions (total-cost) - number)
  (:action Load
    :parameters (?c - crate ?v - van ?other)
    :precondition (and (empty) (not (in ?c ?v)) (not (= ?c ?other)) (heavy Home))
    :effect (and (in ?C ?v) (not (empty)) (increase (total-cost) 1)))
  (:action rest :parameters () :precondition () :effect (empty)))
"""
PROBLEM = """(define (problem p) (:domain SHOP)
  (:objects C1 c2 - crate V - van any)
  (:init (empty) (in c1 v) (not (in c2 v)) (= (total-cost) 0) (heavy home))
  (:goal (and (in c1 V) (and (empty))))
  (:metric minimize (total-cost)))
"""


def test_a_domain_is_read_with_types_equality_and_costs():
    read = read_domain(DOMAIN, "d.pddl")
    assert read.domain.name == "Shop"
    assert read.domain.predicates == {"in": 2, "empty": 0, "heavy": 1}
    assert read.domain.operators["Load"] == Operator(
        "Load",
        {"?c": frozenset({"crate"}), "?v": frozenset({"van"}), "?other": frozenset({"object"})},
        before=(("empty",), ("heavy", "Home")),
        add=(("in", "?c", "?v"),),
        delete=(("empty",),),
        without=(("in", "?c", "?v"),),
        distinct=(("?c", "?other"),),
    )
    assert read.domain.operators["rest"] == Operator("rest", {}, (), (("empty",),), ())
    assert read.above["crate"] == {"crate", "thing", "object"}
    assert read.constants == {"Home": "thing"}


def test_a_problem_is_read_in_the_names_that_its_file_defines():
    problem = read_problem(PROBLEM, "p.pddl", read_domain(DOMAIN, "d.pddl")).problem
    sorts = {"Home": "thing", "C1": "crate", "c2": "crate", "V": "van", "any": "object"}
    assert problem.sorts == sorts
    assert problem.initial == {("empty",), ("in", "C1", "V"), ("heavy", "Home")}
    assert problem.goal == {("in", "C1", "V"), ("empty",)}


def test_sections_stand_in_any_order_and_requirements_are_not_checked():
    domain = """(define (domain d) (:action go :effect (not (at ?p home)) :parameters (?p ?q - person)
          :precondition (and (at ?p home) (= ?p ?q) (not (= ?q 1st))))
        (:requirements :adl :unheard) (:predicates (at ?x ?y)) (:constants home) (:types person))"""
    problem = """(define (problem 2) (:length (:serial 3)) (:goal (and)) (:init (at 1st home))
        (:constants) (:domain d) (:objects 1st 2-b home 1st - person home))"""
    with pytest.raises(UserError, match="there is no object 1st"):
        read_domain(domain, "d.pddl")
    read = read_domain(domain.replace("(:constants", "(:constants 1st - person"), "d.pddl")
    go = read.domain.operators["go"]
    assert (go.same, go.distinct) == ((("?p", "?q"),), (("?q", "1st"),)) and not read.costs
    assert go.before == go.delete == (("at", "?p", "home"),)
    with pytest.raises(UserError, match="':constants' is no section of a problem"):
        read_problem(problem, "p.pddl", read)
    found = read_problem(problem.replace("(:constants)", ""), "p.pddl", read).problem
    assert found.sorts == {"1st": "person", "2-b": "person", "home": "person"}
    assert found.initial == {("at", "1st", "home")} and not found.goal


def test_goals_after_not_and_objects_of_either_type_are_read():
    text = PROBLEM.replace("any)", "any - (either crate van))")
    text = text.replace("(and (empty))", "(not (empty)) (not (= c1 c2)) (= any any)")
    read = read_problem(text, "p.pddl", read_domain(DOMAIN, "d.pddl"))
    assert read.problem.goal == {("in", "C1", "V")} and read.problem.without == {("empty",)}
    either = read.problem.sorts["any"]
    assert read.domain.above[either] == {either, "crate", "van", "thing", "object"}


def test_empty_sections_and_types_without_the_requirement_are_read():
    text = """(define (domain d) (:requirements :equality) (:types ) (:constants
      ) (:predicates (p ?x - object)) (:functions
      ) (:action a :parameters (?x - object) :precondition (p ?x) :effect (not (p ?x))))"""
    read = read_domain(text, "d.pddl")
    assert read.domain.operators["a"].delete == (("p", "?x"),)


def refused(read, text, before, after):
    """What is said of a text with a change in which § marks the place of the mistake."""
    assert before in text
    marked = text.replace(before, after)
    with pytest.raises(UserError) as error:
        read(marked.replace("§", ""))
    lines = marked[: marked.index("§")].split("\n")
    place, _, reason = str(error.value).partition(": ")
    assert place == f"file.pddl, line {len(lines)}, column {len(lines[-1]) + 1}"
    assert "\n" not in reason
    return reason


@pytest.mark.parametrize(
    "before, after, told",
    [
        ("(empty) (heavy ?x)", "(empty §(heavy ?x))", "a name"),
        ("(empty) (heavy", "§() (heavy", "an atom"),
        ("- (either van thing)", "§- (van thing)", "'-'"),
        ("?other)", "§other)", "the name of the parameter"),
        ("(:constants Home", "(:constants §?home", "the name of the object"),
        (":parameters () :pre", ":parameters () §:parameters (?x) :pre", "an action has"),
        (":parameters () :pre", "§(:parameters ()) :pre", "an action has"),
        ("(DEFINE (DOMAIN Shop)", "§(define (problem shop)", "a domain begins"),
        ("(:action rest", "(§x) (:action rest", "'x' is no section"),
        ("(in ?C ?v)", "(§inn ?C ?v)", "there is no predicate inn"),
        ("(in ?C ?v)", "(§in ?C)", "in has 2 objects, not 1"),
        ("(in ?C ?v)", "(in ?C §?w)", "there is no parameter ?w"),
        ("(heavy Home)", "(heavy §House)", "there is no object house"),
        ("(heavy ?x)", "(§in ?x)", "predicate in is defined twice"),
        ("(not (= ?c ?other))", "§(= ?c)", "'=' has 2 objects, not 1"),
        ("(not (in ?c ?v))", "(§or (in ?c ?v))", "'or'"),
        ("(not (in ?c ?v))", "(§>= (fuel) 1)", "'>=' is not known in STRIPS"),
        ("(increase (total-cost) 1)", "§(increase (fuel) 1)", "of numbers"),
        ("(not (in ?c ?v))", "§(not (not (empty)))", "'not'"),
    ],
)
def test_an_error_names_file_and_place(before, after, told):
    def read(text):
        read_domain(text, "file.pddl")

    assert refused(read, DOMAIN, before, after).startswith(told)


def test_a_type_that_stands_twice_is_of_both_and_a_predicate_may_be_called_when():
    text = """(define (domain d) (:types area - place  area - thing  place thing - object)
      (:predicates (when ?x - area))
      (:action a :parameters (?x - area) :precondition () :effect (when ?x)))"""
    above = read_domain(text, "d").above["area"]
    assert above == {"area", "place", "thing", "object"}


@pytest.mark.parametrize(
    "before, after, told",
    [
        ("(:goal (and", "(:goal (empty)) §(:goal (and", "this is a second (:goal ...)"),
        ("any)", "any §c1 - van)", "object c1 is of type crate and of type van"),
        ("V - van", "V - §tram", "there is no type tram"),
        ("(in c1 v)", "(in §c3 v)", "there is no object c3"),
        ("(heavy home)", "(§heavy)", "heavy has 1 objects, not 0"),
        ("(and (empty))", "§(= c1 c2)", "this part of the goal never holds"),
        ("(and (empty))", "(not §(= c1 c1))", "this part of the goal never holds"),
        ("(and (empty))", "(§imply (empty) (empty))", "'imply' is not known in STRIPS"),
        ("(:init", "(§:start", "':start' is no section of a problem"),
    ],
)
def test_an_error_of_a_problem_names_file_and_place(before, after, told):
    def read(text):
        read_problem(text, "file.pddl", read_domain(DOMAIN, "d.pddl"))

    assert refused(read, PROBLEM, before, after).startswith(told)


@pytest.mark.parametrize(
    "text, told",
    [
        ("(" * 100_000, "d.pddl, line 1, column 51: 50 parentheses"),
        (" " * 2_000_001, "d.pddl has more than 2,000,000 characters"),
        ("\0\xff", "d.pddl, line 1, column 1: '\\x00ÿ' is no name"),
        ("a\ufffd", "d.pddl, line 1, column 1: 'a\ufffd' is not UTF-8; convert the file"),
        ("", "d.pddl, line 1, column 1: a domain begins with"),
        ("())", "d.pddl, line 1, column 3: ')' closes nothing"),
        (DOMAIN[:-3], "d.pddl, line 12, column 3: '(' is closed nowhere"),
        (f"{DOMAIN} x", "d.pddl, line 13, column 2: the domain has ended"),
    ],
)
def test_hostile_texts_are_refused_at_once(text, told):
    with pytest.raises(UserError) as error:
        read_domain(text, "d.pddl")
    assert told in str(error.value)


def test_long_lists_are_refused():
    types = " ".join(f"t{n} - t{n + 1}" for n in range(500))
    with pytest.raises(UserError, match="there are more than 100 types"):
        read_domain(f"(define (domain d) (:types {types}))", "d.pddl")
    objects = " ".join(f"o{n}" for n in range(10_001))
    text = f"(define (problem p) (:domain d) (:objects {objects}) (:init) (:goal (and)))"
    with pytest.raises(UserError, match="there are more than 10,000 objects"):
        read_problem(text, "p.pddl", read_domain("(define (domain d))", "d.pddl"))


def test_types_above_each_other_in_a_circle_are_one():
    read = read_domain("(define (domain d) (:types a - b b - a))", "d.pddl")
    assert read.above["a"] == read.above["b"] == {"a", "b", "object"}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_comment_ends_with_its_line(tmp_path, end):
    path = tmp_path / "d.pddl"
    path.write_bytes(b"\xef\xbb\xbf" + DOMAIN.replace("\n", end).encode())
    assert read_domain(read_text(str(path)), "d.pddl") == read_domain(DOMAIN, "d.pddl")


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "16.pddl").write_bytes(DOMAIN.encode("utf-16"))
    with pytest.raises(UserError, match="16.pddl is in UTF-16; save it as UTF-8"):
        read_text(str(tmp_path / "16.pddl"))
    with pytest.raises(UserError, match="none.pddl: No such file"):
        read_text(str(tmp_path / "none.pddl"))
