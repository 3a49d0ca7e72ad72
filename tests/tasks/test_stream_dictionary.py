"""A fairseq dictionary with an open set of symbols."""

import pytest
from conftest import SYMBOLS, make_dictionary
from fairseq.data import Dictionary

from sit_fairseq.errors import UserError
from sit_fairseq.tasks.stream_dictionary import StreamDictionary


def test_splits_tokens_by_full_match():
    dictionary = make_dictionary(["a", "b1", "ab"], ["xor", "a b"], "[a-z]\\d?")
    assert dictionary.known_symbols() == ["a", "b1"]
    assert dictionary.base_tokens() == ["a b", "ab", "xor"]
    assert dictionary.is_symbol("z9") and not dictionary.is_symbol("ab")


def test_without_a_pattern_nothing_is_a_symbol():
    dictionary = make_dictionary(pattern=None)
    assert dictionary.known_symbols() == [] and not dictionary.is_symbol("a")
    assert set(SYMBOLS) < set(dictionary.base_tokens())
    assert dictionary.index("zz") == dictionary.unk()


def test_summary_names_the_first_of_each_kind():
    dictionary = make_dictionary(["d", "b", "a", "c"], ["&"], "[a-z]")
    assert dictionary.summary() == "4 symbols (a, b, c, ...) and 1 base token (&)"
    dictionary = make_dictionary(["c", "x12"], ["&", "<->", "!", "1"], "[a-z]\\d")
    assert dictionary.summary() == "0 symbols and 6 base tokens (!, &, 1, ...)"
    assert make_dictionary(["b", "a"], [], ".").summary() == "2 symbols (a, b) and 0 base tokens"


def test_base_tokens_do_not_depend_on_the_order_of_the_file():
    one, other = (make_dictionary(base=base) for base in ("!&10", "0&!1"))
    assert one.index("!") != other.index("!") and one.base_tokens() == other.base_tokens()


def test_filler_is_neither_base_token_nor_symbol():
    dictionary = make_dictionary(pattern="[a-z]|made.*")
    assert "madeupword0000" in dictionary.symbols
    assert dictionary.is_symbol("made") and not dictionary.is_symbol("madeupword0000")
    assert dictionary.known_symbols() == SYMBOLS
    assert not any("madeup" in token for token in dictionary.base_tokens())


def test_unseen_symbols_get_one_index_each():
    dictionary = make_dictionary()
    size = len(dictionary)
    found = [dictionary.index(token) for token in ("z", "y", "z", "a")]
    assert found == [size, size + 1, size, dictionary.indices["a"]]
    assert len(dictionary) == size + 2 and dictionary.string(found[:2]) == "z y"
    assert dictionary.count[size] == 0


def test_base_tokens_are_fixed_once_the_pattern_is_set():
    dictionary = make_dictionary()
    size = len(dictionary)
    assert dictionary.index("NEW") == dictionary.unk()
    assert dictionary.add_symbol("NEW") == dictionary.unk()
    line = dictionary.encode_line("NEW a 0", add_if_not_exist=True)
    assert line[0] == dictionary.unk() and len(dictionary) == size
    assert dictionary.add_symbol("&") == dictionary.indices["&"]
    assert dictionary.add_symbol("z") == size
    dictionary.adopt(["NEW", "&"])
    assert dictionary.index("NEW") == size + 1 == len(dictionary) - 1


def test_file_is_one_of_fairseq(tmp_path):
    dictionary = make_dictionary(pattern=None)
    path = str(tmp_path / "dict.txt")
    dictionary.save(path)
    stock, loaded = Dictionary.load(path), StreamDictionary.load(path)
    assert stock.symbols == loaded.symbols == dictionary.symbols
    assert loaded.pattern is None and loaded == dictionary


@pytest.mark.parametrize("pattern", ["[a-z", "*"])
def test_invalid_pattern(pattern):
    with pytest.raises(UserError, match="--symbols .* is not a regular expression"):
        make_dictionary(pattern=pattern)


@pytest.mark.parametrize("pattern, token", [(".*", "<s>"), ("<unk>|a", "<unk>")])
def test_pattern_must_spare_special_tokens(pattern, token):
    dictionary = make_dictionary()
    with pytest.raises(UserError, match=f"special token '{token}'; choose a regular expression"):
        dictionary.set_pattern(pattern)
    assert dictionary.pattern == "[a-z]"


def test_a_token_of_the_data_that_looks_like_filler():
    dictionary = StreamDictionary()
    dictionary.add_symbol("madeupword0001", n=3)
    dictionary.add_symbol("madeupword0002", n=0)  # as fairseq-preprocess fills up
    dictionary.set_pattern("[a-z]")  # it matches none
    with pytest.raises(UserError, match="the data hold the token 'madeupword0001'"):
        dictionary.set_pattern(r"\w+")


def test_symbols_that_were_only_passing_are_forgotten():
    dictionary = make_dictionary()
    size = len(dictionary)
    dictionary.index("z")
    kept = len(dictionary)
    dictionary.index("y")
    dictionary.forget_after(kept)
    assert len(dictionary) == len(dictionary.count) == kept == size + 1
    assert "y" not in dictionary and dictionary.index("z") == size
    assert dictionary.index("x") == kept and dictionary.string([kept]) == "x"
