"""Copies of checkpoints are whole or not there, and training goes on from a whole one."""

import shutil

import pytest
import torch
from command_line import UNVALIDATED, preprocess_lines, train
from fairseq.file_io import PathManager

from sit_fairseq.errors import UserError


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """40 pairs, for training and for validation."""
    lines = [("& a ! b", "a 1 b 0"), ("! c", "c 0"), ("& p & q r", "p 1 q 1 r 1"), ("q", "q 1")]
    sources, targets = zip(*lines * 10)
    return preprocess_lines(tmp_path_factory.mktemp("damaged"), sources, targets, split="valid")


def go_on(data, directory, updates, *options):
    options = ("--batch-size", 10, "--save-interval-updates", 2, *options)
    return train(data, directory, "--max-update", updates, *UNVALIDATED, *options)


def truncate(path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def test_interrupted_copy_leaves_what_was_there(tmp_path, monkeypatch):
    first, last = tmp_path / "checkpoint1.pt", tmp_path / "checkpoint_last.pt"
    first.write_bytes(b"new" * 1000)
    last.write_bytes(b"old")

    def interrupted(source, target):
        with open(target, "wb") as file:
            file.write(b"new")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", interrupted)
        with pytest.raises(KeyboardInterrupt):
            PathManager.copy(str(first), str(last), overwrite=True)
    assert last.read_bytes() == b"old"
    assert PathManager.copy(str(first), str(last), overwrite=True)
    assert last.read_bytes() == first.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [first.name, last.name]


def test_training_goes_on_from_the_newest_whole_checkpoint(data, tmp_path, caplog):
    expected = torch.load(go_on(data, tmp_path / "whole", 9), weights_only=True)
    last = go_on(data, tmp_path / "parts", 6)
    truncate(last)
    truncate(last.with_name("checkpoint_2_6.pt"))
    damaged = last.read_bytes()
    caplog.clear()
    found = torch.load(go_on(data, tmp_path / "parts", 9), weights_only=True)
    records = [
        record for record in caplog.records if record.name == "sit_fairseq.tasks.fairseq_patches"
    ]
    told = [record.getMessage() for record in records]
    assert len(told) == 1
    assert f"{last} is damaged" in told[0]
    assert "from checkpoint1.pt, the newest whole checkpoint (4 updates)" in told[0]
    assert last.with_name("checkpoint_last.pt.damaged").read_bytes() == damaged
    assert found["optimizer_history"][-1]["num_updates"] == 9
    for name, value in expected["model"].items():
        assert torch.equal(found["model"][name], value), name


def test_damaged_checkpoint_that_no_other_replaces(data, tmp_path):
    last = go_on(data, tmp_path, 2, "--no-epoch-checkpoints", "--save-interval-updates", 0)
    truncate(last)
    with pytest.raises(UserError, match="no whole checkpoint beside it; remove it to train from"):
        go_on(data, tmp_path, 4)
    assert last.exists()


def test_checkpoint_asked_for_by_name_is_not_replaced(data, tmp_path):
    last = go_on(data, tmp_path, 2)
    other = shutil.copy(last, tmp_path / "other.pt")
    truncate(tmp_path / "other.pt")
    with pytest.raises(UserError, match="other.pt is not a readable fairseq checkpoint"):
        go_on(data, tmp_path, 4, "--restore-file", other)


def test_finished_training_is_not_continued(data, tmp_path):
    last = go_on(data, tmp_path, 3)
    before = last.read_bytes()
    with pytest.raises(SystemExit) as end:
        go_on(data, tmp_path, 3)
    assert end.value.code == 0
    assert last.read_bytes() == before
    go_on(data, tmp_path, 4)
    assert torch.load(last, weights_only=True)["optimizer_history"][-1]["num_updates"] == 4
