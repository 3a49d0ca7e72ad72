"""Writes random problems of five domains in PDDL, with the plans of rules, to train the shipped model.

    python -m examples.planning.problems my/five PLANBENCH SYMT
    sit train planning my/five/gripper/domain.pddl my/five/gripper --plans my/five/plans --out my/model

Each domain has a folder, with its file and its problems. Of half of the problems the first state is one
that few random actions lead to, from the way to the goal. A problem is drawn anew if a state on its way
is the first one of a problem below the other folders, whatever the objects are called.
"""

from pathlib import Path
from random import Random
from typing import Iterator, List, Set, Tuple

from examples.planning.five import keys_of, known, problem_key, sorts, writer
from examples.planning.rules import good_actions
from examples.planning.sampling import SAMPLERS, astray, random_state
from examples.script import run
from sit_fairseq.domains.planning import learnt
from sit_fairseq.domains.planning.labelling import shortened
from sit_fairseq.domains.planning.matching import match
from sit_fairseq.domains.planning.pddl_files import read_problem
from sit_fairseq.domains.planning.sentences import Writer
from sit_fairseq.domains.planning.strips import (
    Action,
    PlanningDomain,
    Problem,
    State,
    apply,
    written,
)
from sit_fairseq.storage.files import replacing

_SHIPPED = Path(__file__).resolve().parents[2] / "checkpoints/planning"

# Problems of each domain, of which some are harder to learn.
COUNTS = {
    "blocksworld": 2000,
    "depots": 2000,
    "gripper": 1000,
    "logistics": 3000,
    "visitall": 1500,
}


def drawn(name: str, rng: Random) -> Tuple[Problem, List[Action], List[State]]:
    """A random problem, the plan of the rule, and the states on its way."""
    sample, sizes = SAMPLERS[name]
    domain = known()[name].domain
    while True:
        problem = sample(rng.choice(sizes), rng)
        if rng.random() < 0.5:
            state = astray(domain, problem, random_state(domain, problem, rng), rng)
            problem = Problem(problem.sorts, state, problem.goal)
        plan, states = followed(domain, problem, rng)
        if plan:
            return problem, plan, states


def followed(
    domain: PlanningDomain, problem: Problem, rng: Random
) -> Tuple[List[Action], List[State]]:
    """The plan of the rule without useless actions, and the states on its way but the last one."""
    plan, state = [], problem.initial
    while good := good_actions(domain, Problem(problem.sorts, state, problem.goal)):
        plan.append(rng.choice(good))
        state = apply(domain, state, plan[-1])
    while (shorter := shortened(domain, problem, plan)) != plan:
        plan = shorter
    states = [problem.initial]
    for action in plan:
        states.append(apply(domain, states[-1], action))
    return plan, states[:-1]


def questions(size: int) -> List[Tuple[str, str]]:
    """First states of random problems, as the shipped model reads them, each with a good action."""
    domains, pairs, rng = learnt.read(str(_SHIPPED)), [], Random(1)
    for number in range(size):
        name = list(SAMPLERS)[number % len(SAMPLERS)]
        problem, plan, _ = drawn(name, rng)
        read = read_problem(text_of(name, problem), name, known()[name].read)
        found = match(read, name, domains)
        writer = Writer(found.learnt, found.domain, found.problem)
        sentence = writer.sentence(found.problem.initial)
        pairs.append((" ".join(sentence), " ".join(writer.written(plan[0]))))
    return pairs


def text_of(name: str, problem: Problem) -> str:
    """A problem in PDDL."""
    objects = " ".join(f"{one} - {sort}" for one, sort in problem.sorts.items())
    initial, goal = (" ".join(map(written, sorted(a))) for a in (problem.initial, problem.goal))
    return (
        f"(define (problem p) (:domain {name})\n  (:objects {objects})\n"
        f"  (:init {initial})\n  (:goal (and {goal})))\n"
    )


def _texts(name: str, count: int, out: Path, without: Set[int]) -> Iterator[Tuple[Path, str]]:
    """The files of a domain, and what they hold."""
    yield out / name / "domain.pddl", known()[name].text
    rng, done, refused, words = Random(name), 0, 0, sorts()
    while done < count:
        problem, plan, states = drawn(name, rng)
        one = writer(name, problem)
        if any(problem_key(one.sentence(state), words) in without for state in states):
            refused += 1
            continue
        done += 1
        yield out / name / f"{name}-{done}.pddl", text_of(name, problem)
        yield out / "plans" / f"{name}-{done}.plan", "".join(f"{written(a)}\n" for a in plan)
    print(f"{name}: {count} problems; {refused} were left out for a state of a test problem")


def main(out: Path, *without: str) -> None:
    keys = keys_of(without)
    for name, count in COUNTS.items():
        for path, text in _texts(name, count, out, keys):
            with replacing(str(path)) as (file,):
                file.write(text)


if __name__ == "__main__":
    run(main)
