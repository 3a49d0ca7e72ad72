"""A training that is killed and started again ends as if it had not been."""

import json
import multiprocessing
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path
from unittest import mock

import fairseq_cli.hydra_train
import pytest
import torch
import torch._dynamo  # noqa: F401  an optimizer would import it in each process
from command_line import ROOT, preprocess, sit
from integration.conftest import same
from vanilla_models import load

from sit_fairseq.models import fairseq_adapter  # noqa: F401  registers all
from sit_fairseq.tasks.stream_translation import StreamTranslationTask

SENTENCES, EPOCHS = 150, 2
UPDATES = 10 * EPOCHS  # two batches of eight sentences each


def described(data, save_dir, workers):
    """A shipped configuration, made small, with validation, averages and random embeddings."""
    return fairseq_cli.hydra_train.cli_main, [
        *("--config-dir", ROOT / "examples/paper/hydra", "--config-name", "prop"),
        *(f"common.user_dir={ROOT / 'sit_fairseq'}", "common.tensorboard_logdir=null"),
        *(f"task.data={data}", "task.validate_semantics=null"),
        *("common.cpu=true", f"hydra.run.dir={save_dir}", f"checkpoint.save_dir={save_dir}"),
        *("checkpoint.save_interval_updates=3", "checkpoint.best_checkpoint_metric=loss"),
        *("checkpoint.maximize_best_checkpoint_metric=false", "model.stream_attention=EP-DP-CP"),
        *("+model.symbol_embedding=random", "model.encoder_layers=1", "model.encoder_embed_dim=32"),
        *("model.encoder_attention_heads=4", "lr_scheduler.warmup_updates=9"),
        *("checkpoint.no_epoch_checkpoints=true", "checkpoint.keep_interval_updates=1"),
        *("model.dropout=0.1", "dataset.batch_size=8", f"dataset.num_workers={workers}"),
        *("+model.position_gaps=20", "+optimization.update_freq=[2]"),
        "ema.store_ema=true",
        f"optimization.max_update={UPDATES}",
    ]


def train_and_note(command, arguments, notes) -> None:
    """Trains, noting each batch in a file: its update, its epoch, its sentences."""
    torch.set_num_threads(1)
    train_step = StreamTranslationTask.train_step

    def noting(self, sample, model, criterion, optimizer, update_num, ignore_grad=False):
        with open(notes, "a") as file:
            file.write(json.dumps([update_num, self._epoch, sample["id"].tolist()]) + "\n")
        return train_step(self, sample, model, criterion, optimizer, update_num, ignore_grad)

    StreamTranslationTask.train_step = noting
    with mock.patch.object(sys, "argv", ["fairseq", *map(str, arguments)]):
        command()


def read_notes(directory) -> list:
    """The batches so far; the last line may be half written."""
    return [json.loads(line) for line in (directory / "notes").read_text().split("\n")[:-1]]


def run(data, directory, workers=0, last_update=None, wait=0.0) -> bool:
    """Trains in a process, which is killed once it has begun an update, and some seconds more.

    Returns:
        whether it came to its end.
    """
    before = len(read_notes(directory))
    process = os.fork()
    if process == 0:
        status = 1
        try:
            arguments = described(data, directory / "checkpoints", workers)
            train_and_note(*arguments, directory / "notes")
            status = 0
        except BaseException:
            traceback.print_exc()
        os._exit(status)
    if last_update is not None:
        while not any(update >= last_update for update, *_ in read_notes(directory)[before:]):
            assert os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
            time.sleep(0.002)
        time.sleep(wait)
        os.kill(process, signal.SIGKILL)
    return os.waitpid(process, 0)[1] == 0


def train_all(data, root) -> None:
    """Trains once as a whole and once in parts, killed twice.

    It needs a process that has imported fairseq but computed nothing, as only that can be
    copied by a fork.
    """
    multiprocessing.set_start_method("fork", force=True)  # of the loaders' workers, as usual
    rng = random.Random(1)
    for name in ("whole", "parts"):
        (root / name).mkdir(parents=True)
        (root / name / "notes").touch()
    assert run(data, root / "whole")
    for update in sorted(rng.sample(range(UPDATES - 6), 2)):
        wait = rng.uniform(0, 0.05)  # a few updates
        assert not run(data, root / "parts", rng.randint(0, 2), update, wait)
    assert run(data, root / "parts")


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """The root of all trainings."""
    root = tmp_path_factory.mktemp("interruptions")
    options = ("--max-length", 7, "--size", SENTENCES, "--workers", 1)
    sit("generate", "prop", root / "prop", *options)
    data = preprocess(root / "bin", "--trainpref", root / "prop", "--validpref", root / "prop")
    process = multiprocessing.get_context("spawn").Process(target=train_all, args=(data, root))
    process.start()
    process.join()
    assert process.exitcode == 0
    return root


def test_every_sentence_is_seen_once_an_epoch(trained):
    parts, whole = (
        {(update, epoch, tuple(sentences)) for update, epoch, sentences in read_notes(directory)}
        for directory in (trained / name for name in ("parts", "whole"))
    )
    # An update that was lost is made again of the same batches.
    assert parts == whole
    epochs = {}
    for _, epoch, sentences in parts:
        epochs.setdefault(epoch, []).extend(sentences)
    assert epochs.keys() == set(range(1, EPOCHS + 1))
    for epoch, sentences in epochs.items():
        assert sorted(sentences) == list(range(SENTENCES)), epoch


def test_the_shipped_configuration_decays_matrices_alone(trained):
    state = load(trained / "whole" / "checkpoints" / "checkpoint_last.pt")
    groups = state["last_optimizer_state"]["param_groups"]
    found = [(group["betas"], group["weight_decay"]) for group in groups]
    assert found == [((0.9, 0.95), 0.1), ((0.9, 0.95), 0.0)]


def test_checkpoint_is_bit_equal(trained):
    found, expected = (
        load(trained / name / "checkpoints" / "checkpoint_last.pt") for name in ("parts", "whole")
    )
    for part in ("model", "last_optimizer_state", "task_state"):
        assert same(found[part], expected[part]), part
    for part in ("train_iterator", "ema", "best", "val_loss"):
        assert same(*(state["extra_state"].get(part) for state in (found, expected))), part
    last, expected_last = (state["optimizer_history"][-1] for state in (found, expected))
    assert same(last, expected_last)
    assert last["num_updates"] == UPDATES
