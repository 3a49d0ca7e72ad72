"""Vanilla models of many kinds, trained for a moment by fairseq's own commands."""

import random
from pathlib import Path
from types import SimpleNamespace

import fairseq_cli.preprocess
import fairseq_cli.train
import pytest
from command_line import IN_PROCESS, UNVALIDATED, hydra_train, run, sit
from vanilla_models import CONVERSION, HYDRA, KINDS, SIZES, SYMBOLS, sentence

from sit_fairseq.datasets.pair_files import write_pairs


@pytest.fixture(scope="session")
def data(once) -> SimpleNamespace:
    """The same text with one dictionary, and with two; ``test`` has only the symbol a."""
    return once("vanilla_data", make_data)


def make_data(root) -> SimpleNamespace:
    rng = random.Random(3)
    splits = {
        "train": [sentence(rng, rng.sample(SYMBOLS, rng.randint(1, 4))) for _ in range(40)],
        "test": [sentence(rng, ["a"]) for _ in range(20)],
    }
    for split, pairs in splits.items():
        write_pairs(str(root / split), pairs)
    files = ("--trainpref", root / "train", "--testpref", root / "test")
    for name, options in (("joined", ["--joined-dictionary"]), ("separate", [])):
        run(
            fairseq_cli.preprocess,
            *("-s", "src", "-t", "tgt", "--destdir", root / name, *files, *options),
        )
    return SimpleNamespace(root=root, joined=root / "joined", separate=root / "separate")


@pytest.fixture(scope="session")
def vanilla(data, once):
    """Gives the checkpoint of a kind of model, trained when it is first asked for."""

    def train(kind: str, root: Path) -> Path:
        directory = data.separate if kind.startswith("separate") else data.joined
        if kind == "hydra":
            (root / "hydra.yaml").write_text(HYDRA.format(data=directory, save_dir=root / kind))
            hydra_train("--config-dir", root, "--config-name", "hydra")
        else:
            run(
                fairseq_cli.train,
                *(directory, "--save-dir", root / kind, "--task", "translation"),
                *("--arch", "transformer", *SIZES, *IN_PROCESS, "--no-epoch-checkpoints"),
                *("--optimizer", "adam", "--lr", 0.01, "--batch-size", 8, "--max-update", 3),
                *UNVALIDATED,
                *KINDS[kind],
            )
        return root / kind / "checkpoint_last.pt"

    return lambda kind: once(f"vanilla_{kind}", lambda root: train(kind, root))


@pytest.fixture
def convert(tmp_path, capsys):
    """Runs the verb, with the options of ``CONVERSION`` that are not given; returns what it wrote
    and what it printed."""

    def call(source: Path, *options, out: str = "stream.pt"):
        capsys.readouterr()
        added = [word for pair in CONVERSION.items() if pair[0] not in options for word in pair]
        sit("convert", source, tmp_path / out, *added, *options)
        return tmp_path / out, capsys.readouterr().out

    return call
