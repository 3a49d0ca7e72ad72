"""Data and checkpoints that the command line tests share, and their comparison."""

from types import SimpleNamespace

import pytest
import torch
from command_line import UNVALIDATED, preprocess, sit, train


@pytest.fixture(scope="session")
def prop(once) -> SimpleNamespace:
    """Formulas over a to e, a briefly trained model, and one with random weights."""
    return once("prop", make_prop)


def same(first, second) -> bool:
    """Whether two states, of nested dicts and lists, are equal bit by bit."""
    if isinstance(first, torch.Tensor):
        return torch.equal(first, second)
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[k], second[k]) for k in first)
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(same, first, second))
    return first == second


def make_prop(root) -> SimpleNamespace:
    options = ("--max-length", 9, "--workers", 1)
    for seed, (split, size) in enumerate((("train", 800), ("valid", 70), ("test", 100)), start=1):
        sit("generate", "prop", root / split, "--size", size, "--seed", seed, *options)
    files = [
        word for split in ("train", "valid", "test") for word in (f"--{split}pref", root / split)
    ]
    data = preprocess(root / "bin", *files)
    trained = train(data, root / "trained", "--max-update", 60, "--warmup-updates", 20)
    random = train(data, root / "random", "--max-update", 1, "--lr", 0, "--seed", 7, *UNVALIDATED)
    lines = (root / "test.src").read_text().splitlines()
    return SimpleNamespace(root=root, data=data, trained=trained, random=random, lines=lines)
