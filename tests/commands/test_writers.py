"""A second writer of the same output ends at once, whatever the command."""

import os

import pytest
from command_line import ROOT, sit
from conftest import needs_spot

from sit_fairseq.errors import UserError
from sit_fairseq.storage.files import partial_files
from sit_fairseq.storage.journal import Journal

SHIPPED = ROOT / "checkpoints" / "prop"


def pair(folder):
    """Another process is writing a pair of files."""
    return partial_files(f"{folder}/out.src", f"{folder}/out.tgt")


def journal(path):
    """Another process keeps a journal."""
    return Journal(str(path), "entries", {}, advice="remove it", where="it")


@pytest.mark.parametrize(
    "words, first",
    [
        ("generate prop OUT --size 20 --max-length 7", pair),
        pytest.param(
            "generate ltl OUT --size 20 --max-length 7",
            lambda folder: journal(folder / "out.journal"),
            marks=needs_spot,
        ),
        (
            "grid copying OUT --max-length 3",
            lambda folder: journal(folder / "out" / "grid.journal"),
        ),
        ("export CHECKPOINT OUT", lambda folder: partial_files(str(folder / "out" / "model.pt"))),
    ],
)
def test_a_second_writer_ends(tmp_path, words, first):
    names = {"OUT": tmp_path / "out", "CHECKPOINT": SHIPPED / "model.pt"}
    words = [names.get(word, word) for word in words.split()]
    if words[0] == "export":
        (tmp_path / "out").mkdir()
    with first(tmp_path):
        before = sorted(os.listdir(tmp_path))
        with pytest.raises(UserError, match="is (being written|in use) by another process"):
            sit(*words)
        assert sorted(os.listdir(tmp_path)) == before


def test_an_export_is_there_as_a_whole_or_not(tmp_path):
    (tmp_path / "out" / "dict.tgt.txt").mkdir(parents=True)  # cannot become a file
    with pytest.raises(UserError, match="Is a directory; write somewhere"):
        sit("export", SHIPPED / "model.pt", tmp_path / "out")
    assert os.listdir(tmp_path / "out") == ["dict.tgt.txt"]
