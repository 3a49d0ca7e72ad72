"""Files of sentence pairs."""

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
    with pytest.raises(UserError, match="x.src is a file; name a folder"):
        write_pairs(str(tmp_path / "new" / "x.src" / "x"), [])
