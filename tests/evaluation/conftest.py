"""Checkpoints of hardly trained models, and sentences for them."""

import shutil
from types import SimpleNamespace

import pytest
from command_line import UNVALIDATED, preprocess, sit, train


@pytest.fixture(scope="session")
def models(once) -> SimpleNamespace:
    """Formulas over a to e; a model with streams, whose data directory is gone, and fairseq's
    own, which needs ``data``."""
    return once("models", make_models)


def make_models(root) -> SimpleNamespace:
    options = ("--max-length", 9, "--workers", 1)
    sit("generate", "prop", root / "train", "--size", 300, "--seed", 1, *options)
    sit("generate", "prop", root / "test", "--size", 45, "--seed", 3, *options)
    files = ("--trainpref", root / "train", "--testpref", root / "test")
    data = preprocess(root / "trained_on", *files)
    training = ("--max-update", 8, *UNVALIDATED, "--no-epoch-checkpoints")
    stream = train(data, root / "stream", *training)
    sizes = [("layers", 1), ("embed-dim", 16), ("ffn-embed-dim", 16), ("attention-heads", 2)]
    plain = train(
        data,
        root / "plain",
        *("--arch", "transformer", "--criterion", "cross_entropy", *training),
        *[x for side in ("en", "de") for name, n in sizes for x in (f"--{side}coder-{name}", n)],
    )
    shutil.move(data, root / "bin")
    return SimpleNamespace(
        data=root / "bin",
        stream=stream,
        plain=plain,
        prefix=root / "test",
        sources=(root / "test.src").read_text().splitlines(),
        targets=(root / "test.tgt").read_text().splitlines(),
    )
