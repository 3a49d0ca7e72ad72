"""Measures CPU seconds of an update of each model of ``results.yaml``, in one process and in turns.

    OMP_NUM_THREADS=1 python -m examples.code.seconds outputs/code

A round is an update of each model, on the same 32 functions of training. Whatever slows the machine
down slows all of them down. Printed are medians, and how many updates take as long as 1,500 of Plain.
"""

import statistics
import time
from collections import defaultdict
from pathlib import Path
from random import Random
from typing import Dict, List

import torch
import torch.nn.functional as F

from examples.code.copying import code_model
from examples.paper.tables import make_runs, make_table, read_yaml, settings
from examples.script import run
from sit_fairseq.evaluation.result_file import markdown_table
from sit_fairseq.storage.files import read_sentences
from sit_fairseq.symbols.tokens import TokenTable
from sit_fairseq.training.muon import MuonAndAdamW, mark_embeddings

ROUNDS, BATCH = 40, 32
HERE = Path(__file__).parent


class Training:
    """Updates of one model.

    Args:
        options: of training, as ``hydra.yaml`` has them.
        data: the folder of its data, as ``pieces.py`` writes it.
    """

    def __init__(self, options: Dict, data: Path) -> None:
        names = [line.split()[0] for line in read_sentences(str(data / "dict.txt"))]
        self._tokens = TokenTable(names, pattern=options["task"]["symbols"])
        self._model = code_model(options["model"], self._tokens)
        mark_embeddings(self._model)
        self._optimizer = MuonAndAdamW(
            self._model.parameters(), lr=options["optimization"]["lr"][0]
        )
        self._lines = read_sentences(str(data / "train"))

    def update(self, places: List[int]) -> float:
        """CPU seconds of an update on some functions."""
        target = self._tokens.encode([self._lines[place] for place in places])
        before = torch.cat((torch.full_like(target[:, :1], self._tokens.eos()), target[:, :-1]), 1)
        start = time.process_time()
        logits = self._model(before).flatten(0, 1)
        targets = self._model.targets(before, target).flatten()
        self._optimizer.zero_grad()
        F.cross_entropy(logits, targets, ignore_index=self._tokens.pad()).backward()
        torch.nn.utils.clip_grad_norm_(self._model.parameters(), 1.0)
        self._optimizer.step()
        return time.process_time() - start


def main(out: Path) -> None:
    """Prints the table."""
    table = make_table(read_yaml(str(HERE / "results.yaml")), "results", HERE)
    base, (first, *_) = read_yaml(str(HERE / "hydra.yaml")), table.seeds
    trainings = {
        one.model: Training(settings(one, base), out / "data" / one.data.name)
        for one in make_runs(table, out)
        if one.overrides[-1] == f"common.seed={first}"
    }
    seconds, rng = defaultdict(list), Random(1)
    for _ in range(ROUNDS):
        places = [rng.randrange(10_000) for _ in range(BATCH)]
        for name, training in trainings.items():
            seconds[name].append(training.update(places))
    median = {name: statistics.median(found) for name, found in seconds.items()}
    rows = [["Model", "CPU seconds of an update", "updates in the time of 1,500 of Plain"]]
    for name, one in median.items():
        rows.append([name, f"{one:.3f}", f"{1500 * median['Plain'] / one:.0f}"])
    print(markdown_table(rows))


if __name__ == "__main__":
    run(main)
