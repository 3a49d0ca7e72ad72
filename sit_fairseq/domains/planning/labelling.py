"""What to do next in problems of any domain: by all states of a small problem, by plans, or a planner.

Plans lack their useless actions. A planner gets problems in names of our own, without types and costs.
"""

import resource
import subprocess
import sys
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Callable, Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Tuple

from sit_fairseq.domains.planning.applicable import applicable
from sit_fairseq.domains.planning.strips import (
    Action,
    Atom,
    PlanningDomain,
    Problem,
    State,
    apply,
    ground,
    obstacle,
    written,
)

# The most states of a problem that are all visited, and actions in them: some seconds, and some tens of
# megabytes.
MOST_STATES, _ACTIONS = 10_000, 200_000

# The states of a problem, the nearest first, with what each action leads to, by its place.
Graph = Tuple[List[State], List[List[Tuple[Action, int]]]]


class Planner(NamedTuple):
    """A planner that is installed: its name, and what finds a plan in some CPU seconds."""

    name: str
    plan: Callable[[PlanningDomain, Problem, float], Optional[List[Action]]]


def all_states(
    domain: PlanningDomain, problem: Problem, most: int = MOST_STATES
) -> Optional[Graph]:
    """All states that can be reached; None if they are more than ``most``, or have too many actions."""
    left = _ACTIONS
    places: Dict[State, int] = {problem.initial: 0}
    states, after = [problem.initial], []
    for state in states:
        ways = []
        some = sorted(applicable(domain, state, problem.sorts))
        left -= len(some)
        if left < 0:
            return None
        for action in some:
            found = apply(domain, state, action)
            if found not in places:
                if len(places) >= most:
                    return None
                places[found] = len(states)
                states.append(found)
            ways.append((action, places[found]))
        after.append(ways)
    return states, after


def nearest(
    graph: Graph, problem: Problem, rng: Random, most: int
) -> Iterator[Tuple[State, Action]]:
    """Some of the states from which the goal can be reached, each with an action of a shortest way."""
    states, after = graph
    before: List[List[int]] = [[] for _ in states]
    for place, ways in enumerate(after):
        for _, found in ways:
            before[found].append(place)
    steps = {place: 0 for place, state in enumerate(states) if problem.reached(state)}
    ring = list(steps)
    for place in ring:
        for one in before[place]:
            if one not in steps:
                steps[one] = steps[place] + 1
                ring.append(one)
    left = [place for place in ring if steps[place]]
    for place in rng.sample(left, min(most, len(left))):
        good = [a for a, found in after[place] if steps.get(found, len(states)) < steps[place]]
        yield states[place], rng.choice(good)


def exchanged(problem: Problem, fixed: FrozenSet[str], rng: Random) -> Problem:
    """The problem with objects of a sort exchanged in its goal, but those that are fixed."""
    alike: Dict[str, List[str]] = {}
    for name, sort in problem.sorts.items():
        if name not in fixed:
            alike.setdefault(sort, []).append(name)
    to = {name: name for name in problem.sorts}
    for some in alike.values():
        to.update(zip(some, rng.sample(some, len(some))))
    goal, without = (frozenset(ground(some, to)) for some in (problem.goal, problem.without))
    return replace(problem, goal=goal, without=without)


def shortened(domain: PlanningDomain, problem: Problem, plan: List[Action]) -> List[Action]:
    """A plan without actions that can be left out, with all that need them (Nakhost and Müller 2010)."""
    place = 0
    while place < len(plan):
        state, rest = problem.initial, plan[:place]
        for action in rest:
            state = apply(domain, state, action)
        for action in plan[place + 1 :]:
            if obstacle(domain, state, problem.sorts, action) is None:
                state = apply(domain, state, action)
                rest.append(action)
        if problem.reached(state):
            plan = rest
        else:
            place += 1
    return plan


def installed() -> Optional[Planner]:
    """The planner that is installed, Fast Downward before Pyperplan; None if there is none."""
    found = find_spec("up_fast_downward")
    if found is not None and found.submodule_search_locations:
        script = Path(found.submodule_search_locations[0], "downward/fast-downward.py")
        command = [str(script), "--alias", "lama-first", "--plan-file", "plan"]
        return Planner("up-fast-downward", _running(command, "plan"))
    if find_spec("pyperplan") is not None:
        command = ["-m", "pyperplan", "-H", "hff", "-s", "gbf"]
        return Planner("pyperplan", _running(command, "problem.soln"))
    return None


def _running(
    command: List[str], result: str
) -> Callable[[PlanningDomain, Problem, float], Optional[List[Action]]]:
    def plan(domain: PlanningDomain, problem: Problem, seconds: float) -> Optional[List[Action]]:
        texts, back = _plain(domain, problem)
        with TemporaryDirectory() as folder:
            for name, text in zip(("domain", "problem"), texts):
                Path(folder, name).write_text(text, encoding="utf-8")
            words = [sys.executable, *command, "domain", "problem"]
            limits = {"timeout": 10 * seconds, "preexec_fn": partial(_limit, int(seconds))}
            try:
                subprocess.run(words, cwd=folder, capture_output=True, **limits)
            except subprocess.TimeoutExpired:
                return None
            path = Path(folder, result)
            return read_plan(path.read_text(), back) if path.exists() else None

    return plan


def _limit(seconds: int) -> None:
    """Bounds the CPU time of this process, however busy the machine is."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


def read_plan(text: str, names: Dict[str, str]) -> Optional[List[Action]]:
    """The actions of a plan, one a line in parentheses, by names in lower case; None if it has
    another name."""
    lines = (line.strip().lower() for line in text.splitlines())
    words = [line.strip("()").split() for line in lines if line.startswith("(")]
    if any(word not in names for line in words for word in line):
        return None
    return [tuple(names[word] for word in line) for line in words]


def _plain(domain: PlanningDomain, problem: Problem) -> Tuple[Tuple[str, str], Dict[str, str]]:
    """A domain and a problem in PDDL with atoms for sorts, and what each name stands for."""
    names: Dict[str, str] = {}
    for letter, some in (("o", problem.sorts), ("a", domain.operators), ("p", domain.predicates)):
        names.update((f"{letter}:{one}", f"{letter}{n}") for n, one in enumerate(some))
    operators = domain.operators.values()
    unions = sorted({tuple(sorted(s)) for o in operators for s in o.parameters.values()})
    differ = any(o.distinct for o in operators)

    def atom(one: Atom, terms: Dict[str, str] = {}) -> str:
        objects = (terms.get(term) or names[f"o:{term}"] for term in one[1:])
        return written((names[f"p:{one[0]}"], *objects))

    constants, actions = set(), []
    for one in operators:
        terms = {parameter: f"?x{n}" for n, parameter in enumerate(one.parameters)}
        atoms = [*one.before, *one.without, *one.add, *one.delete]
        pairs = [*one.distinct, *one.same]
        constants |= {t for a in [*(a[1:] for a in atoms), *pairs] for t in a if t not in terms}
        before = [atom(a, terms) for a in one.before]
        before += [f"(not {atom(a, terms)})" for a in one.without]
        for kind, some in (("differ", one.distinct), ("same", one.same)):
            both = ([terms.get(t) or names[f"o:{t}"] for t in pair] for pair in some)
            before += [written((kind, *pair)) for pair in both]
        sorts = {terms[p]: unions.index(tuple(sorted(s))) for p, s in one.parameters.items()}
        before += [f"(s{number} {term})" for term, number in sorts.items()]
        after = [atom(a, terms) for a in one.add]
        gone = [a for a in one.delete if a not in one.add]
        after += [f"(not {atom(a, terms)})" for a in gone]
        actions.append(
            f"(:action {names[f'a:{one.name}']} :parameters ({' '.join(terms.values())})"
            f" :precondition (and {' '.join(before)}) :effect (and {' '.join(after)}))"
        )
    predicates = [
        written((names[f"p:{name}"], *(f"?x{n}" for n in range(count))))
        for name, count in domain.predicates.items()
    ]
    predicates += [f"(s{number} ?x)" for number in range(len(unions))]
    predicates += ["(differ ?x ?y)", "(same ?x ?y)"]
    objects = {one: names[f"o:{one}"] for one in problem.sorts}
    initial = [atom(one) for one in problem.initial]
    for name, sort in problem.sorts.items():
        initial += [f"(s{n} {objects[name]})" for n, union in enumerate(unions) if sort in union]
        initial.append(f"(same {objects[name]} {objects[name]})")
        initial += [
            f"(differ {objects[name]} {o})" for n, o in objects.items() if differ and n != name
        ]
    goal = [*map(atom, problem.goal), *(f"(not {atom(a)})" for a in problem.without)]
    fixed = [names[f"o:{one}"] for one in sorted(constants)]
    others = [one for one in objects.values() if one not in fixed]
    texts = (
        f"(define (domain d) (:requirements :strips :negative-preconditions)"
        f" (:constants {' '.join(fixed)}) (:predicates {' '.join(predicates)}) {' '.join(actions)})",
        f"(define (problem p) (:domain d) (:objects {' '.join(others)})"
        f" (:init {' '.join(initial)}) (:goal (and {' '.join(goal)})))",
    )
    return texts, {new: one.partition(":")[2] for one, new in names.items()}
