"""Trains a model for each domain of a planning competition, and measures it on whole sets.

    python -m examples.planning.track IPC2023 my/track --domains ferry spanner --minutes 30 --sets easy

IPC2023 is a copy of the learning track's problems (github.com/ipc2023-learning/benchmarks): for each
domain ``domain.pddl``, ``training/easy``, and ``testing/easy``, ``medium`` and ``hard``. Training is
``sit train planning``. Each plan that counts was executed from the first state to the goal. The ways:

- *greedy*: the model's first action in each state, with no way back
- *onward*: its first action that leads to a new state, with no way back
- *search*: five actions of the model; the search goes back where all lead to states seen before
- *random*: the same search, applicable actions in random order
- *goal count*: best-first search by the number of atoms of the goal that are left, without a model

A set and a way have a file in OUT when they are done; the same command goes on with the others.
"""

import argparse
import json
import subprocess
import sys
from heapq import heappop, heappush
from pathlib import Path
from time import process_time
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from examples.planning.chance import random_actions
from sit_fairseq.domains.planning.applicable import applicable
from sit_fairseq.domains.planning.learnt import Learnt, read
from sit_fairseq.domains.planning.matching import match
from sit_fairseq.domains.planning.pddl_files import read_domain, read_problem, read_text
from sit_fairseq.domains.planning.sentences import Writer
from sit_fairseq.domains.planning.solving import ModelActions, PlanSearch, solve
from sit_fairseq.domains.planning.strips import apply
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.in_time import in_time
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.evaluation.result_file import markdown_table
from sit_fairseq.model import Model
from sit_fairseq.storage.files import replacing

# The length of a plan, or None, and how many states were asked about.
Outcome = Tuple[Optional[int], int]
Way = Callable[[Sequence[Writer]], Iterator[Tuple[int, Outcome]]]

# Solved of 90 problems, 30 of each set, as far as published: the first four in tables 2 and 3 of arXiv
# 2503.18809 (2025), where WL features are those of Chen et al. (2024); LAMA's row from a survey.
PUBLISHED = ("goal count", "hFF", "WL features (2024)", "DeepSeek R1's heuristics (2025)", "LAMA")
OF_90: Dict[str, Tuple[Optional[int], ...]] = {
    "blocksworld": (32, 27, 72, 66, 61),
    "childsnack": (23, 25, 31, 22, 35),
    "ferry": (None, None, None, None, 68),
    "floortile": (3, 12, 2, 4, 11),
    "miconic": (90, 90, 90, 90, 90),
    "rovers": (38, 34, 37, 32, 67),
    "satellite": (None, None, None, None, 89),
    "sokoban": (42, 36, 38, 30, 40),
    "spanner": (30, 30, 73, 70, 30),
    "transport": (36, 41, 28, 59, 66),
}


def goal_count(writers: Sequence[Writer], states: int = 1000) -> Iterator[Tuple[int, Outcome]]:
    """Best-first search by the number of atoms of the goal that do not hold."""
    for place, writer in enumerate(writers):
        domain, problem = writer.domain, writer.problem
        goal, calls = problem.goal, 0
        front: List[Tuple[int, int, int, Any]] = [
            (len(goal - problem.initial), 0, 0, problem.initial)
        ]
        seen, found = {problem.initial}, None
        while front and calls < states:
            left, _, length, state = heappop(front)
            if not left:
                found = length
                break
            calls += 1
            for action in sorted(applicable(domain, state, problem.sorts)):
                after = apply(domain, state, action)
                if after not in seen:
                    seen.add(after)
                    heappush(front, (len(goal - after), len(seen), length + 1, after))
        yield place, (found, calls)


def searched(ask: Callable, onward: bool = True) -> Way:
    """The package's search for what is asked."""

    def way(writers: Sequence[Writer]) -> Iterator[Tuple[int, Outcome]]:
        for place, found in solve(ask, writers, PlanSearch(onward=onward)):
            yield place, (found.plan if found.plan is None else len(found.plan), found.calls)

    return way


def measure(writers: Sequence[Writer], way: Way, seconds: float) -> Dict[str, Any]:
    """How many problems a way solves within some seconds each, the actions of its plans, the states
    of a problem that ended in time, and CPU seconds a problem."""
    started, outcomes = process_time(), {}

    def work(places: List[int]) -> Iterator[Tuple[int, Outcome]]:
        for place, outcome in way([writers[place] for place in places]):
            yield places[place], outcome

    for place, outcome in in_time(range(len(writers)), work, seconds):
        if outcome is not None:
            outcomes[place] = outcome
    lengths = [length for length, _ in outcomes.values() if length is not None]
    return {
        "solved": len(lengths),
        "actions": sum(lengths) / max(1, len(lengths)),
        "states": sum(calls for _, calls in outcomes.values()) / max(1, len(outcomes)),
        "limit": seconds,
        "seconds": (process_time() - started) / max(1, len(writers)),
    }


def writers_of(
    domain: Path, problems: Sequence[Path], learnt: Sequence[Learnt], model: Model
) -> Iterator[Writer]:
    """The problems of some files, as the model is asked; a line for each that it cannot be asked."""
    text, words = read_domain(read_text(str(domain)), str(domain)), frozenset(model.base_tokens)
    for path in map(str, problems):
        try:
            found = match(read_problem(read_text(path), path, text), path, learnt)
        except UserError as error:
            print(error)
        else:
            yield Writer(found.learnt, found.domain, found.problem, words)


def rows(domain: str, args: argparse.Namespace) -> Iterator[List[Any]]:
    """Trains on a domain, then measures each set in each way."""
    source, out = args.ipc / domain, args.out / domain
    train = [sys.executable, "-m", "sit_fairseq", "train", "planning"]
    train += [source / "domain.pddl", source / "training" / "easy", "--out", out]
    train += ["--most-objects", args.most_objects, "--minutes", args.minutes]
    train += ["--layers", args.layers]
    subprocess.run(list(map(str, train)), check=True)
    model = Model.load(out)
    ways: Dict[str, Way] = {
        "greedy": searched(ModelActions(model, actions=1), onward=False),
        "onward": searched(ModelActions(model, actions=1)),
        "search": searched(ModelActions(model)),
        "random": searched(random_actions),
        "goal count": goal_count,
    }
    for name in args.sets:
        problems = sorted((source / "testing" / name).glob("*.pddl"))
        writers: List[Writer] = []
        for way, search in ways.items():
            path = out / f"{name}, {way}.json"
            if not path.exists():
                writers = writers or list(
                    writers_of(source / "domain.pddl", problems, read(str(out)), model)
                )
                found = measure(writers, search, args.seconds)
                with replacing(str(path)) as (file,):
                    json.dump(found, file)
            found = json.loads(path.read_text(encoding="utf-8"))
            if found["limit"] != args.seconds:
                raise SystemExit(f"{path} was measured with other --seconds; name another folder")
            low, high = Proportion(found["solved"], len(problems)).interval()
            share = f"{found['solved']} of {len(problems)}"
            numbers = [f"{found[key]:.1f}" for key in ("actions", "states", "seconds")]
            yield [domain, name, way, share, f"{100 * low:.0f}–{100 * high:.0f} %", *numbers]


def main() -> None:
    """Prints the table, then what was published."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("ipc", type=Path, help="the folder of the problems")
    add("out", type=Path, help="folder for models and results")
    add("--domains", nargs="+", default=list(OF_90), help="folders in it (default: all ten)")
    add("--sets", nargs="+", default=["easy"], help="sets to measure (default: easy)")
    add("--minutes", type=float, default=30.0, help="of training, each (default: 30)")
    add("--most-objects", type=int, default=16, help="of a training problem (default: 16)")
    add("--layers", type=int, default=6, help="encoder layers of a model (default: 6)")
    add("--seconds", type=float, default=60.0, help="most for a problem (default: 60)")
    args = parser.parse_args()
    head = ["domain", "set", "way", "solved", "95 %", "actions", "states", "CPU seconds"]
    found = [head]
    for domain in args.domains:
        found += rows(domain, args)
    print(markdown_table(found))
    known = [domain for domain in args.domains if domain in OF_90]
    if known:
        published = [["solved of 90", *PUBLISHED]]
        published += [[d, *("–" if n is None else n for n in OF_90[d])] for d in known]
        print(f"\n{markdown_table(published)}")


if __name__ == "__main__":
    main()
