"""Measures what an action costs, by the number of blocks: ``DIR/times.json`` for figures.py.

    python -m examples.planning.times DIR

DIR is that of more_blocks/run.sh. The models of seed 1 take turns on one thread. Each is asked for an
action in random states. The result is the median CPU time of a state, in milliseconds.
"""

import argparse
from collections import defaultdict
from pathlib import Path
from random import Random
from statistics import median
from time import process_time
from typing import Dict

import torch

from examples.planning.five import writer
from examples.planning.growth import BLOCKS
from examples.planning.sampling import blocksworld
from sit_fairseq.datasets.options import at_least
from sit_fairseq.domains.planning.applicable import applicable
from sit_fairseq.domains.planning.solving import ModelActions
from sit_fairseq.evaluation.depends import versions
from sit_fairseq.evaluation.result_file import write_result
from sit_fairseq.model import Model
from sit_fairseq.storage.files import sha256_of_file


def measure(models: Dict[str, ModelActions], states: int) -> Dict[str, Dict[str, float]]:
    """Median CPU milliseconds of an action, by model and number of blocks."""
    times = defaultdict(list)
    rng = Random(1)
    for size in BLOCKS:
        for _ in range(states):
            problem = blocksworld(size, rng)
            task = writer("blocksworld", problem)
            actions = map(task.written, applicable(task.domain, problem.initial, problem.sorts))
            question = task.sentence(problem.initial, rng), [(one, 1) for one in sorted(actions)]
            for name, ask in models.items():
                start = process_time()
                ask([question])
                times[name, size].append(1000 * (process_time() - start))
    found: Dict[str, Dict[str, float]] = defaultdict(dict)
    for (name, size), values in times.items():
        found[name][str(size)] = round(median(values), 2)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "folder", type=Path, metavar="DIR", help="has the models of more_blocks/run.sh"
    )
    parser.add_argument("--states", type=at_least(1), default=9, help="states of each size")
    args = parser.parse_args()
    torch.set_num_threads(1)
    paths = sorted(args.folder.glob("runs/*/*/seed1/model/checkpoint_last.pt"))
    models = {path.parts[-4]: ModelActions(Model.load(str(path)), 3) for path in paths}
    result = measure(models, args.states)
    files = {str(path): sha256_of_file(str(path)) for path in paths}
    content = {"result": result, "files": files, "versions": versions(), "undecided": 0}
    write_result(str(args.folder / "times.json"), content)


if __name__ == "__main__":
    main()
