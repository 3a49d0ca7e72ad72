"""Training by several processes: fairseq's own torch.distributed, started by torchrun."""

import json
import re
import socket
import subprocess
import sys
from pathlib import Path

import fairseq_cli.train
import pytest
from command_line import PLUG_IN, ROOT, TRAINING, UNVALIDATED, preprocess_lines, run, sit

BIN = Path(sys.executable).parent
LOGGING = ["--log-format", "json", "--log-interval", 1, *UNVALIDATED, "--dropout", 0]


def curve(entries):
    """Loss, scale and number of sentences of each update, as logged."""
    return [(entry["loss"], entry["scale"], entry["bsz"]) for entry in map(json.loads, entries)]


def one_rank(data, directory, caplog, *arguments):
    """Trains in this process, accumulating two batches per update."""
    caplog.clear()
    options = (*PLUG_IN, *TRAINING, *LOGGING, "--update-freq", 2, *arguments)
    run(fairseq_cli.train, data, "--save-dir", directory, *options)
    return curve(record.message for record in caplog.records if record.name == "train_inner")


def two_ranks(data, directory, *arguments):
    """Trains in two processes, each with every other batch."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [BIN / "torchrun", "--no-python", "--nproc_per_node", 2, "--master_port", port]
    command += ["bash", ROOT / "examples/distributed/run.sh", data, "--save-dir", directory]
    command += [*PLUG_IN, *TRAINING, *LOGGING, *arguments]
    command += ["--ddp-backend", "legacy_ddp", "--distributed-backend", "gloo"]
    result = subprocess.run(
        [*map(str, command)],
        capture_output=True,
        text=True,
        env={"PATH": f"{BIN}:/usr/bin:/bin", "OMP_NUM_THREADS": "1", "HOME": str(directory)},
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return curve(re.findall(r"train_inner \| (\{.*\})", result.stdout + result.stderr))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    directory = tmp_path_factory.mktemp("distributed")
    prefix = directory / "prop"
    sit("generate", "prop", prefix, "--max-length", 7, "--size", 150, "--workers", 1)
    read = [prefix.with_suffix(side).read_text().splitlines() for side in (".src", ".tgt")]
    return preprocess_lines(directory, *read, split="valid")


def test_two_ranks_train_like_one_with_two_batches_per_update(data, tmp_path, caplog):
    """Finetuning with Muon on data with fewer base tokens, ended and resumed in an epoch, at whose
    end the second rank gets a dummy batch."""
    one_rank(data, tmp_path / "base", caplog, "--symbols", "[a-z]", "--max-update", 2)
    sources, targets = ["& a ! b", "! c", "& p & q r", "q"], ["a 1 b 0", "c 0", "p 1 q 1", "q 1"]
    other = preprocess_lines(tmp_path, sources * 10, targets * 10, "valid")
    options = ("--finetune-from-model", tmp_path / "base" / "checkpoint_last.pt", "--batch-size", 6)
    options += ("--symbols", "[a-z]", "--optimizer", "muon", "--max-update")
    expected = one_rank(other, tmp_path / "one", caplog, *options, 9)
    started = two_ranks(other, tmp_path / "two", *options, 6)
    resumed = two_ranks(other, tmp_path / "two", *options, 9)
    assert len(expected) == 9
    assert len({size for _, _, size in expected}) > 1, "the last update of an epoch is smaller"
    assert started + resumed == expected


def test_two_ranks_train_own_places_like_one(data, tmp_path, caplog):
    words = ("--symbols", "[a-z]", "--stream-places", "own", "--batch-size", 6, "--max-update", 3)
    expected = one_rank(data, tmp_path / "one", caplog, *words)
    assert two_ranks(data, tmp_path / "two", *words) == expected
    assert len(expected) == 3
