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


@pytest.fixture
def inputs(tmp_path):
    """A folder with a few files to work on."""
    (tmp_path / "in.src").write_text("& a b\na\n")
    (tmp_path / "in.tgt").write_text("a 1 b 1\na 1\n")
    return tmp_path


@pytest.mark.parametrize(
    "words, first",
    [
        ("generate prop OUT --size 20 --max-length 7", pair),
        ("generate copying OUT --size 20 --max-length 30", pair),
        pytest.param(
            "generate ltl OUT --size 20 --max-length 7",
            lambda folder: journal(folder / "out.journal"),
            marks=needs_spot,
        ),
        (
            "grid copying OUT --max-length 3",
            lambda folder: journal(folder / "out" / "grid.journal"),
        ),
        ("rename IN OUT --symbols [a-z] --names p,q,r", pair),
        ("export CHECKPOINT OUT", lambda folder: partial_files(str(folder / "out" / "model.pt"))),
    ],
)
def test_a_second_writer_ends(inputs, words, first):
    names = {
        "OUT": inputs / "out",
        "IN": inputs / "in",
        "CHECKPOINT": SHIPPED / "model.pt",
    }
    words = [names.get(word, word) for word in words.split()]
    if words[0] == "export":
        (inputs / "out").mkdir()
    with first(inputs):
        before = sorted(os.listdir(inputs))
        with pytest.raises(UserError, match="is (being written|in use) by another process"):
            sit(*words)
        assert sorted(os.listdir(inputs)) == before


def test_an_export_is_there_as_a_whole_or_not(tmp_path):
    (tmp_path / "out" / "dict.tgt.txt").mkdir(parents=True)  # cannot become a file
    with pytest.raises(UserError, match="Is a directory; write somewhere"):
        sit("export", SHIPPED / "model.pt", tmp_path / "out")
    assert os.listdir(tmp_path / "out") == ["dict.tgt.txt"]
