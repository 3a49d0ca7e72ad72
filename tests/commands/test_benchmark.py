"""The benchmark, at a size at which its figures mean nothing."""

import json
import logging
import re

import pytest
import torch
from command_line import sit

from sit_fairseq.benchmark.bench import ANSWER, DATA


@pytest.fixture
def run_benchmark(tmp_path, monkeypatch):
    """Runs the verb with these options and returns its JSON and its report."""

    def run(*options: str):
        for name in set(DATA) - {"prop, 5 symbols"}:
            monkeypatch.delitem(DATA, name)
        monkeypatch.setitem(ANSWER, "prop", 4)
        sizes = ("--batch-size", "3", "--batches", "2", "--repetitions", "1", "--threads", "1")
        sit("benchmark", tmp_path, *sizes, *options)
        found = json.loads((tmp_path / "benchmark.json").read_text())
        return found, (tmp_path / "benchmark.md").read_text()

    yield run
    logging.disable(logging.NOTSET)


def test_models_do_the_same_work_and_are_compared(run_benchmark):
    found, report = run_benchmark("--parts", "models")
    own = found["models"]["prop, 5 symbols"]
    assert set(own["seconds"]) == {"training", "validation", "beam 3", "beam 25"}
    assert all(len(own["seconds"]["training"][kind]) == 1 for kind in ("package", "literal"))
    # Every symbol of the dictionary is a stream of the literal algorithms.
    assert own["operations of training"]["literal"] > own["operations of training"]["package"] > 0
    assert re.search(r"\| training +\|", report) and found["machine"]["torch"] == torch.__version__
