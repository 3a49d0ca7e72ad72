"""Sentences say what a problem is, and names have no part in them."""

from random import Random

import pytest
from domains.planning.problems import BY_NAME, DOMAINS, PROBLEMS, problem, writer

from examples.planning.five import problem_key, sorts
from examples.planning.sampling import SAMPLERS
from sit_fairseq.domains.planning.learnt import learn
from sit_fairseq.domains.planning.matching import match
from sit_fairseq.domains.planning.pddl_files import read_domain, read_problem
from sit_fairseq.domains.planning.sentences import Writer, renamed
from sit_fairseq.domains.planning.strips import Problem
from sit_fairseq.errors import UserError
from sit_fairseq.symbols.pattern import SymbolPattern


def first(name, problem):
    return tuple(writer(name, problem).sentence(problem.initial))


@pytest.mark.parametrize("name", PROBLEMS)
def test_objects_of_sentences_are_symbols_of_their_sorts(name):
    sorts = BY_NAME[name].sorts
    pattern = SymbolPattern("\n".join(rf"{sort}={sort}\d+" for sort in sorts))
    words = set(first(name, PROBLEMS[name]))
    found = {word: pattern.sort(word) for word in words if pattern.sort(word) is not None}
    named = {n for atom in PROBLEMS[name].initial | PROBLEMS[name].goal for n in atom[1:]}
    assert len(found) == len(named)
    assert all(word.startswith(pattern.sorts[sort]) for word, sort in found.items())


@pytest.mark.parametrize("name", DOMAINS)
def test_the_key_and_the_sentence_of_a_renamed_problem_are_the_same(name):
    problem, rng = PROBLEMS[name], Random(3)
    others = [f"z{n}" for n in range(len(problem.sorts))]
    rng.shuffle(others)
    map_ = dict(zip(problem.sorts, others))
    other = Problem(
        {map_[one]: sort for one, sort in problem.sorts.items()},
        renamed(problem.initial, map_),
        renamed(problem.goal, map_),
    )
    written = {first(name, one) for one in (problem, other)}
    assert len(written) == 1 and len({problem_key(one, sorts()) for one in written}) == 1


@pytest.mark.parametrize("name", DOMAINS)
def test_the_order_of_objects_in_a_file_has_no_part_in_sentences(name):
    """In problems with objects that are alike, and with some that look so in their surroundings."""
    rng = Random(4)
    draw, sizes = SAMPLERS[name]
    problems = [PROBLEMS[name], *(draw(rng.choice(sizes), rng) for _ in range(20))]
    for problem in problems:
        written = set()
        for _ in range(4):
            objects = rng.sample(list(problem.sorts.items()), len(problem.sorts))
            written.add(first(name, Problem(dict(objects), problem.initial, problem.goal)))
        assert len(written) == 1


WAYS = """(define (domain ways) (:types spot level robot)
  (:constants home - spot)
  (:predicates (at ?r - robot ?s - spot) (road ?a ?b - spot) (under ?a ?b - level)
               (on ?r - robot ?l - level) (seen ?s - spot) (colour ?s - spot))
  (:action go :parameters (?r - robot ?a ?b - spot) :precondition (and (at ?r ?a) (road ?a ?b))
    :effect (and (not (at ?r ?a)) (at ?r ?b) (seen ?b)))
  (:action lift :parameters (?r - robot ?a ?b - level)
    :precondition (and (at ?r home) (on ?r ?a) (under ?a ?b))
    :effect (and (not (on ?r ?a)) (on ?r ?b))))"""


def test_what_makes_no_difference_is_not_written():
    """Roads in both directions are one atom, orders have their steps, and nobody asks for colours."""
    kinds = [frozenset({one}) for one in ("spot", "level", "robot")]
    learnt = learn(WAYS, "ways.pddl", kinds, ["under"])
    start = problem(
        "a l1 l2 l3, b r, c home s t",
        "road s t, road t s, road home s, under l1 l2, under l2 l3, under l1 l3, at r s, on r l1, "
        "seen s, colour s",
        "seen s, seen t, on r l1",
    )
    sentence = " ".join(
        Writer(learnt, learnt.domain, start, numbered=False).sentence(start.initial)
    )
    assert sentence.startswith("ways: ")
    atoms = {" ".join(atom.split()) for atom in sentence.replace("ways.", ",")[6:].split(",")[1:]}
    road = {"road~ c2 c3", "road~ c3 c2"} & atoms
    assert atoms - road == {
        *("road c1 c2", "under< a1 a2", "under< a2 a3", "at b1 c2", "on! b1 a1"),
        *("seen? c3", "the-home c1"),
    }
    assert len(road) == 1


def test_a_constant_of_a_domain_is_known_whatever_a_file_calls_it():
    kinds = [frozenset({one}) for one in ("spot", "level", "robot")]
    known, text = learn(WAYS, "ways.pddl", kinds, []), WAYS.replace("home", "base")
    start = """(define (problem p) (:domain ways) (:objects s - spot r - robot a b - level)
      (:init (at r s) (road s base) (on r a) (under a b)) (:goal (not (on r a))))"""
    found = match(read_problem(start, "p.pddl", read_domain(text, "d.pddl")), "d.pddl", [known])
    sentence = Writer(known, found.domain, found.problem).sentence(found.problem.initial)
    assert {"ways.the-home", "ways.on-?"} <= set(sentence)


def test_constants_that_only_actions_tell_apart_have_no_order():
    text = """(define (domain d) (:constants {}) (:predicates (at ?x) (done))
      (:action a :parameters () :precondition (at k1) :effect (done))
      (:action b :parameters () :precondition (and (at k2) (done)) :effect (not (at k2))))"""
    start = "(define (problem p) (:domain d) (:objects o) (:init (at k1) (at k2) (at o)) (:goal (done)))"
    sentences = set()
    for constants in ("k1 k2", "k2 k1"):
        domain = text.format(constants)
        known = learn(domain, "d.pddl", [frozenset()], [])
        found = match(read_problem(start, "p.pddl", read_domain(domain, "d.pddl")), "p", [known])
        sentences.add(
            tuple(Writer(known, found.domain, found.problem).sentence(found.problem.initial))
        )
    assert len(sentences) == 1


@pytest.mark.parametrize(
    "predicates", ["(is ?x) (at ?x)", "(at ?x) (at- ?x)", "(at ?x) (the-k ?x)"]
)
def test_a_predicate_that_sentences_use_otherwise_is_refused(predicates):
    text = f"""(define (domain d) (:constants k) (:predicates {predicates})
      (:action a :parameters (?x) :precondition (at k) :effect (at ?x)))"""
    with pytest.raises(UserError, match="d.pddl: sentences have another use for the predicate"):
        learn(text, "d.pddl", [frozenset()], [])
