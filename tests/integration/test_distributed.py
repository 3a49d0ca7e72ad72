"""Training by several processes: fairseq's own torch.distributed."""

import json
import re
import socket
import subprocess
import sys
from pathlib import Path

import fairseq_cli.train
import pytest
from command_line import (
    IN_PROCESS,
    PLUG_IN,
    ROOT,
    TRAINING,
    UNVALIDATED,
    preprocess_lines,
    run,
    run_preprocess,
    sit,
)

from sit_fairseq.models import fairseq_language_model  # noqa: F401  registers it

BIN = Path(sys.executable).parent
LOGGING = ["--log-format", "json", "--log-interval", 1, *UNVALIDATED, "--dropout", 0]
PAIRS = (*PLUG_IN, *TRAINING, *LOGGING)
TEXTS = (
    *("--user-dir", ROOT / "sit_fairseq", "--task", "symbol_language_modeling"),
    *("--sample-break-mode", "eos", "--arch", "symbol_invariant_transformer_lm_tiny"),
    *("--criterion", "adacos", "--optimizer", "muon", "--lr", 0.003, *IN_PROCESS, *LOGGING),
)


def curve(entries):
    """Loss, scale and number of sentences of each update, as logged."""
    return [(entry["loss"], entry["scale"], entry["bsz"]) for entry in map(json.loads, entries)]


def one_rank(data, directory, caplog, *arguments, common=PAIRS):
    """Trains in this process, accumulating two batches per update."""
    caplog.clear()
    options = (*common, "--update-freq", 2, *arguments)
    run(fairseq_cli.train, data, "--save-dir", directory, *options)
    return curve(record.message for record in caplog.records if record.name == "train_inner")


def two_ranks(data, directory, *arguments, common=PAIRS):
    """Trains in two processes, each with every other batch."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [BIN / "fairseq-train", data, "--save-dir", directory, *common, *arguments]
    command += ["--ddp-backend", "legacy_ddp", "--distributed-backend", "gloo"]
    command += ["--distributed-init-method", f"tcp://127.0.0.1:{port}", "--distributed-no-spawn"]
    command += ["--distributed-world-size", 2, "--distributed-rank"]
    ranks = [
        subprocess.Popen(
            [*map(str, command), str(rank)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={"PATH": f"{BIN}:/usr/bin:/bin", "OMP_NUM_THREADS": "1", "HOME": str(directory)},
        )
        for rank in range(2)
    ]
    said = [process.communicate()[0] for process in ranks]
    assert [process.returncode for process in ranks] == [0, 0], said[0][-3000:] + said[1][-3000:]
    return curve(re.findall(r"train_inner \| (\{.*\})", "".join(said)))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    directory = tmp_path_factory.mktemp("distributed")
    prefix = directory / "prop"
    sit("generate", "prop", prefix, "--max-length", 7, "--size", 150, "--workers", 1)
    read = [prefix.with_suffix(side).read_text().splitlines() for side in (".src", ".tgt")]
    return preprocess_lines(directory, *read, split="valid")


def test_two_ranks_train_like_one_with_two_batches_per_update(data, tmp_path, caplog):
    """Finetuning with Muon on data with fewer base tokens, through the end of an epoch, where the
    second rank gets a dummy batch."""
    one_rank(data, tmp_path / "base", caplog, "--symbols", "[a-z]", "--max-update", 2)
    sources, targets = ["& a ! b", "! c", "& p & q r", "q"], ["a 1 b 0", "c 0", "p 1 q 1", "q 1"]
    other = preprocess_lines(tmp_path, sources * 10, targets * 10, "valid")
    options = ("--finetune-from-model", tmp_path / "base" / "checkpoint_last.pt", "--batch-size", 6)
    options += ("--symbols", "[a-z]", "--optimizer", "muon", "--max-update")
    expected = one_rank(other, tmp_path / "one", caplog, *options, 9)
    assert len(expected) == 9 and len({size for _, _, size in expected}) > 1
    assert two_ranks(other, tmp_path / "two", *options, 9) == expected


def test_two_ranks_train_a_language_model_like_one(tmp_path, caplog):
    """Through the end of an epoch, where the second rank gets a dummy batch."""
    lines = ["def ( a , b ) : a + b", "def ( c ) : c", "def ( a ) : a + a ; a"] * 10
    (tmp_path / "text").write_text("".join(line + "\n" for line in lines))
    words = ("--only-source", "--trainpref", tmp_path / "text", "--destdir", tmp_path / "bin")
    run_preprocess(*words, "--validpref", tmp_path / "text", *TEXTS[:4])
    words = ("--symbols", "[a-c]", "--stream-places", "own", "--batch-size", 6, "--max-update", 5)
    expected = one_rank(tmp_path / "bin", tmp_path / "one", caplog, *words, common=TEXTS)
    assert len(expected) == 5 and len({size for _, _, size in expected}) > 1
    assert two_ranks(tmp_path / "bin", tmp_path / "two", *words, common=TEXTS) == expected
