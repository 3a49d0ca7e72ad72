"""Measures a model on sets of planning problems, beside what was published.

    python -m examples.planning.tables checkpoints/planning --planbench DIR --symt DIR --out DIR
    python -m examples.planning.tables my/ferry --ipc DIR --sets ferry_easy ferry_medium --out DIR

--planbench is a checkout of github.com/karthikv792/LLMs-Planning, or its folder plan-bench; --symt one
with the PDDL files of SymT (Fritzsche, Gestrin and Seipp 2026); --ipc one of the learning track of the
planning competition of 2023, github.com/ipc2023-learning/benchmarks. ``examples/planning/ways.py``
describes the ways. A problem that the model cannot be asked is printed, and counts as unsolved.

Every plan that counts was executed from the first state of its problem to the goal. Each set has a file
DIR/SET, WAY.json when it is done; the same command goes on with the others, then prints the tables.
"""

import argparse
import json
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Tuple

from examples.planning import ways
from examples.planning.five import known
from examples.planning.folders import problems_in
from examples.planning.problems import followed
from sit_fairseq.domains.planning import learnt
from sit_fairseq.domains.planning.answering import best
from sit_fairseq.domains.planning.matching import Match, match, matches
from sit_fairseq.domains.planning.pddl_files import read_problem
from sit_fairseq.domains.planning.sentences import Writer, naming, renamed
from sit_fairseq.domains.planning.strips import Problem
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation.proportion import Proportion
from sit_fairseq.evaluation.result_file import markdown_table
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

# Solved of 90 problems, 30 of each set, as far as published: the first four in tables 2 and 3 of arXiv
# 2503.18809 (2025), where WL features are those of Chen et al. (2024).
PUBLISHED = ("goal count", "hFF", "WL features (2024)", "DeepSeek R1's heuristics (2025)")
OF_90: Dict[str, Tuple[Optional[int], ...]] = {
    "blocksworld": (32, 27, 72, 66),
    "childsnack": (23, 25, 31, 22),
    "ferry": (None, None, None, None),
    "floortile": (3, 12, 2, 4),
    "miconic": (90, 90, 90, 90),
    "rovers": (38, 34, 37, 32),
    "satellite": (None, None, None, None),
    "sokoban": (42, 36, 38, 30),
    "spanner": (30, 30, 73, 70),
    "transport": (36, 41, 28, 59),
}

SIZES = ("easy", "medium", "hard")
SETS.update(
    (f"{domain}_{size}", (f"IPC {domain}, {size}", f"ipc:{domain}/testing/{size}", {}))
    for domain in OF_90
    for size in SIZES
)

# Sets that are others in other names.
OBFUSCATED = {
    "mystery_600": "blocksworld_600",
    "logistics_deceptive": "logistics_286",
    "logistics_random": "logistics_286",
}


class Task(NamedTuple):
    """A problem: what the model is asked, None if it cannot be; and the problem as a rule solves it, None
    without a rule."""

    writer: Optional[Writer]
    rule: Optional[Match]


def tasks_of(place: str, args: argparse.Namespace) -> List[Task]:
    """The problems of a set, or a sample of them."""
    source, _, pattern = place.partition(":")
    root, model = Path(getattr(args, source)), _model(args.model)
    bases = ("", "instances", "plan-bench/instances", "pddl")
    folders = {folder for base in bases for folder in (root / base).glob(pattern)}
    problems = [one for folder in sorted(folders) for one in problems_in(str(folder))]
    if args.sample and args.sample < len(problems):
        problems = Random(1).sample(problems, args.sample)
    domains, words, tasks = learnt.read(model.folder), frozenset(model.base_tokens), []
    for path, text, domain in problems:
        writer = rule = None
        try:
            read = read_problem(text, str(path), domain)
            _, writer = best(matches(read, str(path), domains), words)
            rule = match(read, str(path), list(known().values()))
        except UserError as error:
            if writer is None:
                print(error)
        tasks.append(Task(writer, rule))
    return tasks


@lru_cache(maxsize=1)
def _model(path: str) -> Model:
    return Model.load(path)


def rule_length(found: Match) -> int:
    """The length of the plan of the rule that made the training data."""
    names, problem = naming(found.problem), found.problem
    sorts = {names[one]: sort for one, sort in problem.sorts.items()}
    asked = Problem(sorts, renamed(problem.initial, names), renamed(problem.goal, names))
    return len(followed(found.domain, asked, Random(0))[0])


def measure(tasks: List[Task], way: str, args: argparse.Namespace) -> Dict[str, Any]:
    """Tries a way on a set. Returns the values of :func:`ways.measure`, the number of problems, the mean
    lengths of the plans found and of the rules' plans, and the sentences."""
    asked = [task for task in tasks if task.writer is not None]
    writers = [task.writer for task in asked]
    row = ways.measure(writers, ways.way_of(way, _model(args.model)), args.seconds)
    rules = [asked[int(place)].rule for place in row["plans"]]
    solved = max(1, len(rules))
    return {
        **row,
        "problems": len(tasks),
        "length": sum(map(len, row["plans"].values())) / solved,
        "rule_length": None if None in rules else sum(map(rule_length, rules)) / solved,
        "sentences": [" ".join(one.sentence(one.problem.initial)) for one in writers],
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


def lines(rows: Dict[Tuple[str, str], Dict[str, Any]]) -> Iterator[str]:
    """The table in Markdown, a row for each set and way, then equal plans and published numbers."""
    head = (
        "problems, way, verified, 95 %, actions a plan (the rule's), calls, CPU seconds, published"
    )
    table = [head.split(", ")]
    for (name, way), row in rows.items():
        title, _, published = SETS[name]
        solved, total = len(row["plans"]), row["problems"]
        low, high = Proportion(solved, total).interval()
        length = f"{row['length']:.1f}" if solved else ""
        length += f" ({row['rule_length']:.1f})" if solved and row["rule_length"] else ""
        cells = [title, way, f"{solved} of {total}", f"{100 * low:.1f}–{100 * high:.1f} %", length]
        cells += [f"{row['calls']:.0f}", f"{row['seconds']:.2f}"]
        table.append([*cells, ", ".join(f"{who} {share:g}" for who, share in published.items())])
    yield markdown_table(table)
    for (name, way), row in rows.items():
        plain = rows.get((OBFUSCATED.get(name, ""), way))
        if plain is not None:
            shared, equal = equal_plans(row, plain)
            yield ""
            yield (
                f"{SETS[name][0]}, {way}: of {shared} problems that are also in "
                f"{SETS[OBFUSCATED[name]][0]}, {equal} have the same plan, action by action."
            )
    of_90 = [
        domain
        for domain in OF_90
        if any(
            name.startswith(f"{domain}_") and SETS[name][1].startswith("ipc") for name, _ in rows
        )
    ]
    if of_90:
        yield ""
        published = [["solved of 90, published", *PUBLISHED]]
        published += [[d, *("" if n is None else n for n in OF_90[d])] for d in of_90]
        yield markdown_table(published)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("model", help="a checkpoint, or a folder with a model")
    add("--planbench", help="the folder of PlanBench")
    add("--symt", help="the folder of SymT's problems")
    add("--ipc", help="the folder of the competition's problems")
    add("--out", required=True, help="folder of the results")
    add("--sets", nargs="+", default=list(SETS), choices=list(SETS), help="sets to measure")
    add("--ways", nargs="+", default=["search"], choices=ways.NAMES, help="default: search")
    add("--sample", type=int, default=0, help="random problems of each set (default: all)")
    add("--seconds", type=float, default=60.0, help="most for a problem (default: 60)")
    args = parser.parse_args()
    try:
        print("\n".join(lines(measured(args))))
    except UserError as error:
        raise SystemExit(str(error))


def measured(args: argparse.Namespace) -> Dict[Tuple[str, str], Dict[str, Any]]:
    """Measures each set in each way, or reads its file. Returns the rows by set and way.

    Raises:
        UserError: there is no such folder, no problem, or a file of other options.
    """
    for name in ("planbench", "symt", "ipc"):
        folder = getattr(args, name)
        if folder is not None and not Path(folder).is_dir():
            raise UserError(f"there is no folder {folder}", name)
    rows = {}
    given = {
        name: value for name, value in vars(args).items() if name not in ("sets", "ways", "out")
    }
    for name in args.sets:
        if getattr(args, SETS[name][1].partition(":")[0]) is None:
            continue
        for way in args.ways:
            path = Path(args.out, f"{name}, {way}.json")
            if not path.exists():
                tasks = tasks_of(SETS[name][1], args)
                if not any(task.writer for task in tasks):
                    continue
                row = {**measure(tasks, way, args), "options": given}
                with replacing(str(path)) as (file,):
                    json.dump(row, file)
            rows[name, way] = json.loads(path.read_text(encoding="utf-8"))
            if rows[name, way]["options"] != given:
                raise UserError(
                    f"{path} was measured with other options; name another folder", "out"
                )
    if not rows:
        raise UserError("no problem of these sets was found; name other folders or sets")
    return rows


if __name__ == "__main__":
    main()
