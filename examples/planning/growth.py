"""Measures a model on random problems of Blocksworld, by the number of blocks.

    python -m examples.planning.growth --path MODEL --result R.json

The search is the same for all models, and short: it follows one state over the model's three best
actions, and asks about five states for each block. With ``random`` for a model it tries applicable
actions in random order.
"""

import argparse
from random import Random
from typing import Any, Dict, Sequence

from examples.planning.chance import random_actions
from examples.planning.five import writer
from examples.planning.sampling import blocksworld
from sit_fairseq.datasets.options import at_least
from sit_fairseq.domains.planning.solving import ModelActions, PlanSearch, solve
from sit_fairseq.evaluation.depends import versions
from sit_fairseq.evaluation.result_file import write_result
from sit_fairseq.model import Model
from sit_fairseq.storage.files import sha256_of_file

BLOCKS = (*range(3, 11), 12, 15, 20)
_STATES = 5  # that the model is asked about, for each block of a problem
_ACTIONS = 3


def measure(ask: Any, blocks: Sequence[int], number: int) -> Dict[str, Dict[str, Any]]:
    """Counts verified plans: so many problems of each number of blocks, always the same ones."""
    result: Dict[str, Dict[str, Any]] = {}
    for size in blocks:
        rng, tasks = Random(size), []
        while len(tasks) < number:
            problem = blocksworld(size, rng)
            if not problem.goal <= problem.initial:
                tasks.append(writer("blocksworld", problem))
        search = PlanSearch(budget=_STATES * size, onward=False)
        found = [one for _, one in solve(ask, tasks, search)]
        verified = sum(one.plan is not None for one in found)
        calls = sum(one.calls for one in found) / number
        result[str(size)] = {
            "verified": verified,
            "problems": number,
            "share": verified / number,
            "calls": calls,
        }
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--path", required=True, metavar="MODEL", help="the checkpoint, or random")
    add("--result", required=True, metavar="FILE", help="the JSON file to write")
    add("--problems", type=at_least(1), default=30, help="problems of each size")
    add("--blocks", type=at_least(1), nargs="+", default=BLOCKS, help="numbers of blocks")
    args = parser.parse_args()
    files, ask = {}, random_actions
    if args.path != "random":
        files = {args.path: sha256_of_file(args.path)}
        ask = ModelActions(Model.load(args.path), _ACTIONS)
    result = {"blocks": measure(ask, args.blocks, args.problems)}
    write_result(
        args.result, {"result": result, "files": files, "versions": versions(), "undecided": 0}
    )


if __name__ == "__main__":
    main()
