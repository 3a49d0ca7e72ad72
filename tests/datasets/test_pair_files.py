"""Pairs of files are read and written together."""

import os

import pytest

from sit_fairseq.datasets.pair_files import read_pairs, write_pairs
from sit_fairseq.errors import UserError


def test_pairs_must_be_pairs(tmp_path):
    (tmp_path / "in.src").write_text("a\n")
    (tmp_path / "in.tgt").write_text("a 1\na 1\n")
    with pytest.raises(UserError, match="in.src has 1 lines but .tgt has 2"):
        read_pairs(str(tmp_path / "in"))
    with pytest.raises(UserError, match="nowhere.src"):
        read_pairs(str(tmp_path / "nowhere"))


def test_a_folder_is_made_and_a_file_is_none(tmp_path):
    prefix = str(tmp_path / "new" / "x")
    write_pairs(prefix, [("a b", "c"), ("a b", "d")])
    assert read_pairs(prefix) == [("a b", "c"), ("a b", "d")]
    with pytest.raises(UserError, match="Cannot write .*x.src"):
        write_pairs(str(tmp_path / "new" / "x.src" / "x"), [])


def test_symbolic_links_are_written_through(tmp_path):
    """A large data set may lie on another disk."""
    disk = tmp_path / "disk"
    disk.mkdir()
    (disk / "old.src").write_text("old\n")
    os.symlink(disk / "old.src", tmp_path / "x.src")
    os.symlink(disk / "new.tgt", tmp_path / "x.tgt")  # the file is still to be made
    write_pairs(str(tmp_path / "x"), [("a", "b")])
    assert (disk / "old.src").read_text() == "a\n" and (disk / "new.tgt").read_text() == "b\n"
    assert all((tmp_path / f"x.{side}").is_symlink() for side in ("src", "tgt"))
    assert sorted(os.listdir(tmp_path)) == ["disk", "x.src", "x.tgt"]
    assert sorted(os.listdir(disk)) == ["new.tgt", "old.src"]
