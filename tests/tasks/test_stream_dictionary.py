"""A fairseq dictionary with an open set of symbols."""

import pytest
from conftest import SYMBOLS, make_dictionary
from fairseq.data import Dictionary

from sit_fairseq.errors import UserError
from sit_fairseq.tasks.stream_dictionary import StreamDictionary


def test_filler_is_neither_base_token_nor_symbol():
    dictionary = make_dictionary(pattern="[a-z]|made.*")
    assert "madeupword0000" in dictionary.symbols
    assert dictionary.is_symbol("made") and not dictionary.is_symbol("madeupword0000")
    assert dictionary.known_symbols() == SYMBOLS
    assert not any("madeup" in token for token in dictionary.base_tokens())


def test_base_tokens_are_fixed_once_the_pattern_is_set():
    dictionary = make_dictionary()
    size = len(dictionary)
    assert dictionary.index("NEW") == dictionary.unk()
    new = dictionary.add_symbol("NEW")
    line = dictionary.encode_line("NEW a OLD", add_if_not_exist=True)
    assert line[0] == new != line[2] and min(new, line[2]) > len(dictionary) == size
    assert dictionary[new] == dictionary.unk_word
    assert dictionary.add_symbol("&") == dictionary.indices["&"]
    assert dictionary.add_symbol("z") == size
    dictionary.adopt(["NEW", "&"])
    assert dictionary.index("NEW") == size + 1 == len(dictionary) - 1


def test_typed_sentences_bring_new_names_and_may_be_forgotten():
    dictionary = make_dictionary()
    size = len(dictionary)
    tokens = dictionary.read("& z & y z")
    assert dictionary.string(tokens) == "& z & y z" and tokens[-1] == dictionary.eos()
    assert dictionary.symbols[size:] == ["z", "y"] and dictionary.count[size] == 0
    dictionary.forget_after(size + 1)
    assert len(dictionary) == len(dictionary.count) == size + 1
    assert "y" not in dictionary and dictionary.index("z") == size
    assert dictionary.index("x") == size + 1 and dictionary.string([size + 1]) == "x"


def test_file_is_one_of_fairseq(tmp_path):
    dictionary = make_dictionary(pattern=None)
    path = str(tmp_path / "dict.txt")
    dictionary.save(path)
    stock, loaded = Dictionary.load(path), StreamDictionary.load(path)
    assert stock.symbols == loaded.symbols == dictionary.symbols
    assert loaded.pattern is None and loaded == dictionary


FILES = {
    "empty token": b"& 2\n 3\n",
    "fraction": b"& 2\na 1.5\n",
    "huge": b"& 2\na 1" + b"0" * 5000 + b"\n",
    "twice": b"& 2\na 2\na 1\n",
    "space in a token": b"& 2\na b 1\n",
    "line separator": "& 2\na\u2028b 1\n".encode(),
    "blank line": b"& 2\n\na 1\n",
    "flag alone": b"#fairseq:overwrite\n",
    "token of fairseq's": b"& 2\n<pad> 3 #fairseq:overwrite\n",
    "byte order mark": b"\xef\xbb\xbf& 2\n",
    "not UTF-8": b"& 2\n\xff\xfe 1\n",
    "binary": b"\x80\x04\x95" + bytes(range(256)),
}


@pytest.mark.parametrize("content", list(FILES.values()), ids=list(FILES))
def test_other_files_end_in_one_sentence(content, tmp_path):
    (tmp_path / "dict.txt").write_bytes(content)
    with pytest.raises(UserError, match="dict.txt is no dictionary of fairseq-preprocess") as error:
        StreamDictionary.load(str(tmp_path / "dict.txt"))
    assert "\n" not in str(error.value) and "adding" not in str(error.value)


def test_a_token_of_the_data_that_looks_like_filler():
    dictionary = StreamDictionary()
    dictionary.add_symbol("madeupword0001", n=3)
    dictionary.add_symbol("madeupword0002", n=0)  # as fairseq-preprocess fills up
    dictionary.set_pattern("[a-z]")  # it matches none
    with pytest.raises(UserError, match="the data hold the token 'madeupword0001'"):
        dictionary.set_pattern(r"\w+")
