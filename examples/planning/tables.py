"""Measures a model on PlanBench and on the test problems of SymT, beside what was published.

    python -m examples.planning.tables checkpoints/planning --planbench DIR --symt DIR --out DIR

--planbench is a checkout of github.com/karthikv792/LLMs-Planning, or its folder plan-bench; --symt
one with the PDDL files of SymT (Fritzsche, Gestrin and Seipp 2026). Every plan that counts was
executed from the first state of its problem to the goal. Each set has a file DIR/SET.json when it is
done; the same command goes on with the others, then prints the tables. With ``random`` for a model the
search tries applicable actions in random order, which shows what it does alone.
"""

import argparse
import json
from pathlib import Path
from random import Random
from time import perf_counter
from typing import Any, Dict, Iterator, List, Optional, Tuple

from examples.planning.chance import random_actions
from examples.planning.five import known, words
from examples.planning.folders import problems_in
from examples.planning.rules import good_actions
from sit_fairseq.domains.planning.sentences import Writer, naming, renamed
from sit_fairseq.domains.planning.solving import ModelActions, PlanSearch, solve
from sit_fairseq.domains.planning.strips import PlanningDomain, Problem, apply
from sit_fairseq.model import Model
from sit_fairseq.storage.files import replacing

# Shares in percent. Board: the leaderboard in PlanBench's repository (Valmeekam et al. 2023), zero
# shot, last entry of March 2025. PlanGPT, SymTED: Fritzsche, Gestrin and Seipp, AAAI 2026
# (arXiv 2508.07743); state-centric: arXiv 2602.23148, each with its best way of decoding.
_R1, _O1, _GPT4O = "DeepSeek R1 (board, 2025)", "o1-preview (board, 2024)", "GPT-4o (board, 2024)"
_SYMT = ("PlanGPT 117 M", "SymTED 16 M", "state-centric 1 M")

# Blocksworld of 3 to 5 blocks with names as published, Mystery's, and random ones, on the board.
NAMES: Dict[str, Tuple[float, float, Optional[float]]] = {
    _R1: (99.1, 54.1, 25.8),
    _O1: (97.8, 52.8, 37.3),
    "o1-mini (board, 2024)": (56.6, 19.1, 3.5),
    "Llama 3.1 405B (board, 2024)": (62.6, 0.8, None),
    _GPT4O: (35.5, 0.0, None),
}

# Sets: what they are called, the folder, and published shares.
SETS: Dict[str, Tuple[str, str, Dict[str, float]]] = {
    "blocksworld_600": (
        "Blocksworld, 600",
        "planbench:blocksworld/generated_basic*",
        {_R1: 99.1, _O1: 97.8, _GPT4O: 35.5},
    ),
    "mystery_600": (
        "Mystery Blocksworld, 600",
        "planbench:blocksworld/mystery/generated_basic*",
        {_R1: 54.1, _O1: 52.8, _GPT4O: 0.0},
    ),
    "hard_110": (
        "Blocksworld Hard, 110",
        "planbench:blocksworld_hard/generated",
        {_R1: 53.6, _O1: 23.65},
    ),
    "logistics_286": ("Logistics, 286", "planbench:logistics/generated_basic", {}),
    "logistics_deceptive": (
        "Logistics, 286, misleading names",
        "planbench:obfuscated_deceptive_logistics/generated_basic",
        {},
    ),
    "logistics_random": (
        "Logistics, 286, random names",
        "planbench:obfuscated_randomized_logistics/generated_basic",
        {},
    ),
    "depots_501": ("Depots, 501", "planbench:depots/generated_basic", {}),
    "symt_blocks": (
        "SymT blocks, 9 to 17 objects",
        "symt:blocks/test-extrapolation",
        dict(zip(_SYMT, (0, 13, 50))),
    ),
    "symt_gripper": (
        "SymT gripper, 16 to 46 objects",
        "symt:gripper/test-extrapolation",
        dict(zip(_SYMT, (0, 79, 42))),
    ),
    "symt_visitall": (
        "SymT visitall, 21 to 121 objects",
        "symt:visitall-from-everywhere/test-extrapolation",
        dict(zip(_SYMT, (2, 64, 100))),
    ),
    "symt_logistics": (
        "SymT logistics, 22 to 37 objects",
        "symt:logistics/test-extrapolation",
        dict(zip(_SYMT, (0, 0, 0))),
    ),
}

# Sets that are others in other names.
OBFUSCATED = {
    "mystery_600": "blocksworld_600",
    "logistics_deceptive": "logistics_286",
    "logistics_random": "logistics_286",
}


def rule_length(domain: PlanningDomain, problem: Problem) -> Tuple[int, float]:
    """The length of the plan of the rule that made the training data, and the seconds it took."""
    names, start, rng = naming(problem), perf_counter(), Random(0)
    sorts = {names[one]: sort for one, sort in problem.sorts.items()}
    state, goal = renamed(problem.initial, names), renamed(problem.goal, names)
    length = 0
    while not goal <= state:
        good = good_actions(domain, Problem(sorts, state, goal))
        state = apply(domain, state, rng.choice(good))
        length += 1
    return length, perf_counter() - start


def first_is_good(domain: PlanningDomain, problem: Problem, action: Any) -> bool:
    """Whether the rule takes an action, too, in the first state."""
    names = naming(problem)
    sorts = {names[one]: sort for one, sort in problem.sorts.items()}
    first = Problem(sorts, renamed(problem.initial, names), renamed(problem.goal, names))
    own = action and (action[0], *(names[one] for one in action[1:]))
    return own in good_actions(domain, first)


def measure(tasks: List[Writer], ask: Any, options: PlanSearch) -> Dict[str, Any]:
    """Searches plans of some problems; the counts and means of a row."""
    start = perf_counter()
    found = dict(solve(ask, tasks, options))
    seconds = perf_counter() - start
    solved = [place for place, one in found.items() if one.plan is not None]
    rules = [rule_length(task.domain, task.problem) for task in tasks]
    sizes: Dict[int, List[int]] = {}
    for place, task in enumerate(tasks):
        count = sizes.setdefault(len(task.problem.sorts), [0, 0])
        count[0] += place in solved
        count[1] += 1
    return {
        "problems": len(tasks),
        "verified": len(solved),
        "first": sum(
            first_is_good(task.domain, task.problem, found[place].first)
            for place, task in enumerate(tasks)
        ),
        "length": sum(len(found[place].plan) for place in solved) / max(1, len(solved)),
        "rule_length": sum(rules[place][0] for place in solved) / max(1, len(solved)),
        "calls": sum(one.calls for one in found.values()) / len(tasks),
        "seconds": seconds / len(tasks),
        "rule_seconds": sum(seconds for _, seconds in rules) / len(tasks),
        "by_objects": {str(size): count for size, count in sorted(sizes.items())},
        "plans": {str(place): found[place].plan for place in sorted(solved)},
    }


def equal_plans(row: Dict[str, Any], other: Dict[str, Any]) -> Tuple[int, int]:
    """How many of one set's problems that another has too, and how many of them have its plan up to
    the names of objects, or have none as there."""
    places = {text: place for place, text in enumerate(other["sentences"])}
    pairs = [(at, places[text]) for at, text in enumerate(row["sentences"]) if text in places]

    def form(plans: Dict[str, Any], place: int) -> List[List[Any]]:
        numbers: Dict[str, int] = {}
        return [
            [name, *(numbers.setdefault(one, len(numbers)) for one in objects)]
            for name, *objects in plans.get(str(place)) or ()
        ]

    equal = sum(form(row["plans"], a) == form(other["plans"], b) for a, b in pairs)
    return len(pairs), equal


def tasks_of(place: str, args: argparse.Namespace) -> Optional[List[Writer]]:
    """The problems of a set, or a sample of them; None if its folder was not named."""
    source, _, pattern = place.partition(":")
    root = getattr(args, source)
    if root is None:
        return None
    folders = [
        f
        for base in ("", "instances", "plan-bench/instances", "pddl")
        for f in Path(root, base).glob(pattern)
    ]
    tasks = [
        found
        for folder in sorted(set(folders))
        for _, found in problems_in(str(folder), list(known().values()))
        if len(found.problem.sorts) <= args.most_objects
    ]
    if args.sample and args.sample < len(tasks):
        tasks = Random(1).sample(tasks, args.sample)
    return [Writer(one.learnt, one.domain, one.problem, words()) for one in tasks]


def percent(row: Dict[str, Any], key: str = "verified") -> str:
    return f"{100 * row[key] / row['problems']:.1f}"


def table(rows: Dict[str, Dict[str, Any]]) -> Iterator[str]:
    """The lines of both tables in Markdown."""
    yield "| Problems | Verified plans, % | Published, % |"
    yield "| --- | --- | --- |"
    for name, row in rows.items():
        title, _, published = SETS[name]
        others = ", ".join(f"{who} {share:g}" for who, share in published.items())
        yield f"| {title} | **{percent(row)}** ({row['verified']} of {row['problems']}) | {others} |"
    yield ""
    yield (
        "| Problems | First action as the rule's, % | Actions a plan (the rule's) | Calls a problem | "
        "Seconds a problem (the rule's) |"
    )
    yield "| --- | --- | --- | --- | --- |"
    for name, row in rows.items():
        lengths = f"{row['length']:.1f} ({row['rule_length']:.1f})"
        seconds = f"{row['seconds']:.2f} ({row['rule_seconds']:.4f})"
        cells = [SETS[name][0], percent(row, "first"), lengths, f"{row['calls']:.0f}", seconds]
        yield f"| {' | '.join(cells)} |"
    for name, plain in OBFUSCATED.items():
        if name in rows and plain in rows:
            shared, equal = equal_plans(rows[name], rows[plain])
            yield ""
            yield (
                f"{SETS[name][0]}: of {shared} problems that are also in {SETS[plain][0]}, {equal} "
                "have the same plan, action by action."
            )


def _asked(args: argparse.Namespace) -> Any:
    """The model that is asked for actions, or random choice."""
    if args.model == "random":
        return random_actions
    return ModelActions(Model.load(args.model), args.actions)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("model", help="a checkpoint, a folder with a model, or random: no model")
    add("--planbench", help="the folder of PlanBench")
    add("--symt", help="the folder of SymT's problems")
    add("--out", required=True, help="folder of the results")
    add("--sets", nargs="+", default=list(SETS), choices=list(SETS), help="sets to measure")
    add("--sample", type=int, default=0, help="random problems of each set (default: all)")
    add("--most-objects", type=int, default=1000, help="only problems of so many objects")
    add("--actions", type=int, default=3, help="actions that the model gives in a state")
    add("--width", type=int, default=1, help="states that are followed at once")
    add("--budget", type=int, default=1000, help="most states of a problem that are asked about")
    args = parser.parse_args()
    options, ask, rows = PlanSearch(args.width, args.budget), None, {}
    given = {name: value for name, value in vars(args).items() if name not in ("sets", "out")}
    for name in args.sets:
        path = Path(args.out, f"{name}.json")
        if not path.exists():
            tasks = tasks_of(SETS[name][1], args)
            if not tasks:
                continue
            ask = ask or _asked(args)
            row = measure(tasks, ask, options)
            row["sentences"] = [" ".join(task.sentence(task.problem.initial)) for task in tasks]
            row["options"] = given
            with replacing(str(path)) as (file,):
                json.dump(row, file)
        rows[name] = json.loads(path.read_text(encoding="utf-8"))
        if rows[name]["options"] != given:
            raise SystemExit(
                f"{path} was measured with other options; name another folder by --out"
            )
    print("\n".join(table(rows)))


if __name__ == "__main__":
    main()
