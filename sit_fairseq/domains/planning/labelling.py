"""Labels of states, the next action: by all states of a small problem, by plans, or by a planner.

Plans lack their useless actions. A planner gets problems in names of our own, without types and costs.
"""

import resource
import subprocess
import sys
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from itertools import chain, product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import (
    Callable,
    Dict,
    FrozenSet,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Tuple,
)

from sit_fairseq.domains.planning.proofs import Graph
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

# A search of Fast Downward for a first plan, then a second each for shorter ones. A first plan may be
# twice as long, with actions that no rule would choose.
_SHORT = (
    "let(h,ff(),let(l,landmark_sum(lm_reasonable_orders_hps(lm_rhw()),pref=false),iterated(["
    "lazy_greedy([h,l],preferred=[h,l]),lazy_wastar([h],preferred=[h],w=2,max_time=1),"
    "lazy_wastar([h],preferred=[h],w=1,max_time=1)],repeat_last=false)))"
)


class Planner(NamedTuple):
    """A planner that is installed: its name, what finds a plan in some CPU seconds, and whether it
    reads what must not hold."""

    name: str
    plan: Callable[[PlanningDomain, Problem, float], Optional[List[Action]]]
    reads_not: bool


def nearest(
    graph: Graph, problem: Problem, rng: Random, most: int
) -> Iterator[Tuple[State, Action]]:
    """Some of the states from which the goal can be reached, each with an action of a shortest way."""
    states, after, _ = graph
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
    files = ["domain", "problem"]
    found = find_spec("up_fast_downward")
    if found is not None and found.submodule_search_locations:
        script = Path(found.submodule_search_locations[0], "downward/fast-downward.py")
        command = [str(script), "--plan-file", "plan", *files, "--search", _SHORT]
        return Planner("up-fast-downward", partial(_planned, command, "plan*"), True)
    if find_spec("pyperplan") is not None:
        command = ["-m", "pyperplan", "-H", "hff", "-s", "gbf", *files]
        return Planner("pyperplan", partial(_planned, command, "problem.soln"), False)
    return None


def _planned(
    command: List[str], plans: str, domain: PlanningDomain, problem: Problem, seconds: float
) -> Optional[List[Action]]:
    """The last plan that a planner writes."""
    texts, back = _plain(domain, problem)
    with TemporaryDirectory() as folder:
        for name, text in zip(("domain", "problem"), texts):
            Path(folder, name).write_text(text, encoding="utf-8")
        limits = {"timeout": 10 * seconds, "preexec_fn": partial(_limit, int(seconds))}
        try:
            subprocess.run([sys.executable, *command], cwd=folder, capture_output=True, **limits)
        except subprocess.TimeoutExpired:
            pass
        found = sorted(Path(folder).glob(plans))
        return read_plan(found[-1].read_text(), back, back) if found else None


def _limit(seconds: int) -> None:
    """Bounds the CPU time of this process, however busy the machine is."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


def read_plan(
    text: str, operators: Mapping[str, str], objects: Mapping[str, str]
) -> Optional[List[Action]]:
    """The actions of a plan, one a line in parentheses, by names in lower case; None if a word in it is
    none of the names."""
    lines = (line.strip().lower() for line in text.splitlines())
    actions = []
    for line in lines:
        if line.startswith("("):
            name, *terms = line.strip("()").split() or [""]
            actions.append((operators.get(name), *map(objects.get, terms)))
    return None if any(None in action for action in actions) else actions


def _plain(domain: PlanningDomain, problem: Problem) -> Tuple[Tuple[str, str], Dict[str, str]]:
    """A domain and a problem in PDDL with atoms for sorts and for what is the same or differs, and what
    each name stands for."""
    before, initial = _with_sorts(domain, problem)
    arity = {a[0]: len(a) - 1 for a in chain(initial, *before.values())} | {**domain.predicates}
    names: Dict[str, str] = {}
    for letter, some in (("o", problem.sorts), ("a", domain.operators), ("p", arity)):
        names.update((f"{letter}:{one}", f"{letter}{n}") for n, one in enumerate(some))

    def texts(
        atoms: Iterable[Atom], terms: Mapping[str, str] = {}, sign: str = "{}"
    ) -> Iterator[str]:
        for predicate, *some in atoms:
            objects = (terms.get(term) or names[f"o:{term}"] for term in some)
            yield sign.format(written((names[f"p:{predicate}"], *objects)))

    actions, fixed = [], set()
    for o in domain.operators.values():
        terms = {parameter: f"?x{n}" for n, parameter in enumerate(o.parameters)}
        atoms = (*before[o.name], *o.without, *o.add, *o.delete)
        fixed |= {names[f"o:{term}"] for a in atoms for term in a[1:] if term not in terms}
        asked = [*texts(before[o.name], terms), *texts(o.without, terms, "(not {})")]
        gone = (atom for atom in o.delete if atom not in o.add)
        effects = [*texts(o.add, terms), *texts(gone, terms, "(not {})")]
        actions.append(
            f"(:action {names[f'a:{o.name}']} :parameters ({' '.join(terms.values())})"
            f" :precondition (and {' '.join(asked)}) :effect (and {' '.join(effects)}))"
        )
    predicates = [
        written((names[f"p:{name}"], *(f"?x{n}" for n in range(count))))
        for name, count in arity.items()
    ]
    others = [new for name in problem.sorts if (new := names[f"o:{name}"]) not in fixed]
    goal = [*texts(problem.goal), *texts(problem.without, sign="(not {})")]
    files = (
        f"(define (domain d) (:requirements :strips :negative-preconditions)"
        f" (:constants {' '.join(sorted(fixed))}) (:predicates {' '.join(predicates)})"
        f" {' '.join(actions)})",
        f"(define (problem p) (:domain d) (:objects {' '.join(others)})"
        f" (:init {' '.join(texts(initial))}) (:goal (and {' '.join(goal)})))",
    )
    return files, {new: one.partition(":")[2] for one, new in names.items()}


def _with_sorts(
    domain: PlanningDomain, problem: Problem
) -> Tuple[Dict[str, List[Atom]], List[Atom]]:
    """The preconditions of each operator and the atoms of the first state, with atoms that say the sort
    of an object, and which objects are the same or differ."""
    operators = domain.operators.values()
    unions = list(dict.fromkeys(sorts for o in operators for sorts in o.parameters.values()))
    before = {
        o.name: [
            *o.before,
            *((f"sort {unions.index(sorts)}", name) for name, sorts in o.parameters.items()),
            *(("same or not", *pair) for pair in o.same),
            *(("differ or not", *pair) for pair in o.distinct),
        ]
        for o in operators
    }
    pairs = product(problem.sorts, repeat=2) if any(o.same or o.distinct for o in operators) else ()
    initial = [
        *problem.initial,
        *(
            (f"sort {n}", o)
            for o, s in problem.sorts.items()
            for n, u in enumerate(unions)
            if s in u
        ),
        *(("same or not" if one == two else "differ or not", one, two) for one, two in pairs),
    ]
    return before, initial
