"""Data and checkpoints that the command line tests share."""

from types import SimpleNamespace

import pytest
from command_line import UNVALIDATED, preprocess, sit, train


@pytest.fixture(scope="session")
def prop(tmp_path_factory) -> SimpleNamespace:
    """Formulas over a to e, a briefly trained model, and one with random weights."""
    root = tmp_path_factory.mktemp("prop")
    options = ("--max-length", 9, "--workers", 1)
    sit("generate", "prop", root / "train", "--size", 2000, "--seed", 1, *options)
    sit("generate", "prop", root / "valid", "--size", 70, "--seed", 2, *options)
    sit("generate", "prop", root / "test", "--size", 400, "--seed", 3, *options)
    data = preprocess(
        root / "bin",
        *("--trainpref", root / "train", "--validpref", root / "valid"),
        *("--testpref", root / "test"),
    )
    trained = train(data, root / "trained", "--max-update", 60, "--warmup-updates", 20)
    random = train(data, root / "random", "--max-update", 1, "--lr", 0, "--seed", 7, *UNVALIDATED)
    return SimpleNamespace(root=root, data=data, trained=trained, random=random)
