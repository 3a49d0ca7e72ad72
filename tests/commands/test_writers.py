"""A second writer of the same output ends at once, whatever the command."""

import os

import pytest
from command_line import ROOT, sit

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
        (
            "grid copying OUT --max-length 3",
            lambda folder: journal(folder / "out" / "grid.journal"),
        ),
    ],
)
def test_a_second_writer_ends(tmp_path, words, first):
    words = [tmp_path / "out" if word == "OUT" else word for word in words.split()]
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
