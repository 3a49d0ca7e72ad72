"""Damaged files of fairseq-preprocess are told before fairseq reads wrong sentences from them."""

from pathlib import Path

import pytest
import torch
from fairseq.data import indexed_dataset

from sit_fairseq.errors import UserError
from sit_fairseq.tasks.binarised_files import check_binarised

SENTENCES = [[5, 6, 2], [7, 2], [5, 5, 5, 5, 2]]
FORMATS = ("mmap", "lazy")


def write(folder, kind, sentences=SENTENCES) -> str:
    prefix = str(folder / kind)
    builder = indexed_dataset.make_builder(prefix + ".bin", kind, vocab_size=100)
    for sentence in sentences:
        builder.add_item(torch.IntTensor(sentence))
    builder.finalize(prefix + ".idx")
    return prefix


@pytest.mark.parametrize("kind", FORMATS)
def test_whole_files_pass(kind, tmp_path):
    prefix = write(tmp_path, kind)
    check_binarised(prefix)
    Path(prefix + ".bin").unlink()
    check_binarised(prefix)  # there is nothing to compare with


@pytest.mark.parametrize("kind", FORMATS)
def test_a_cut_index(kind, tmp_path):
    prefix = write(tmp_path, kind)
    index = Path(prefix + ".idx")
    content = index.read_bytes()
    for size in range(len(content)):
        index.write_bytes(content[:size])
        with pytest.raises(UserError, match="index is (cut or|of another kind).*preprocess again"):
            check_binarised(prefix)


@pytest.mark.parametrize("kind", FORMATS)
def test_data_of_another_size(kind, tmp_path):
    prefix = write(tmp_path, kind)
    data = Path(prefix + ".bin")
    content = data.read_bytes()
    for other in (content[:-1], content + b"\0", b""):
        data.write_bytes(other)
        needed = f"needs {len(content)} bytes of data, there are {len(other)}"
        with pytest.raises(UserError, match=f"{kind}.idx and .bin are damaged or .*{needed}"):
            check_binarised(prefix)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_sentence_without_a_token(kind, tmp_path):
    with pytest.raises(UserError, match="sentence 2 has no token"):
        check_binarised(write(tmp_path, kind, [[2], [], [2]]))


@pytest.mark.parametrize("kind", FORMATS)
def test_no_sentence(kind, tmp_path):
    with pytest.raises(UserError, match="they hold no sentence; run fairseq-preprocess again"):
        check_binarised(write(tmp_path, kind, []))


@pytest.mark.parametrize("kind", FORMATS)
def test_an_index_with_a_wrong_bit(kind, tmp_path):
    """It is refused, or says what it said before."""
    prefix = write(tmp_path, kind)
    index = Path(prefix + ".idx")
    content = index.read_bytes()
    refused = 0
    for bit in range(8 * len(content)):
        wrong = bytearray(content)
        wrong[bit // 8] ^= 1 << bit % 8
        index.write_bytes(wrong)
        try:
            check_binarised(prefix)
        except UserError:
            refused += 1
        else:
            dataset = indexed_dataset.make_dataset(prefix, kind, fix_lua_indexing=True)
            assert [dataset[i].tolist() for i in range(len(dataset))] == SENTENCES
    assert refused > 7 * len(content)
