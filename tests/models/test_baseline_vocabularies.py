"""Vocabularies of the baselines: ids by name, by order of first appearance or by dictionary."""

import re

import pytest
import torch
from conftest import SYMBOLS, encode, make_dictionary

from sit_fairseq.domains.formulas.syntax import ARITY
from sit_fairseq.errors import UserError
from sit_fairseq.models.baselines import (
    CanonicalVocabulary,
    FixedVocabulary,
    NamedVocabulary,
    RandomEmbedding,
    read_slots,
)
from sit_fairseq.symbols.vocabulary import Vocabulary

VOCABULARIES = (FixedVocabulary, CanonicalVocabulary, NamedVocabulary)
# Four special tokens, then these in the order of their rows.
BASE = ["!", "&", "0", "1", "<->", "xor", "|"]
FIXED = ["!", "&", "0", "1", "<->", "a", "b", "c", "d", "e", "f", "g", "h", "xor", "|"]


def text_of(canonical, slots):
    """Of canonical ids of the first sentence."""
    vocabulary, tokens = slots.vocabulary, slots.named().decode(canonical, 0)
    return " ".join(vocabulary.dictionary[index] for index in tokens.tolist())


@pytest.mark.parametrize("kind", VOCABULARIES)
def test_one_stream_per_sentence(kind):
    dictionary = make_dictionary()
    vocabulary = kind(dictionary)
    _, slots = read_slots(vocabulary, encode(dictionary, ["& c | a c", "! 0", "b"]))
    streams = slots.streams()
    assert streams.sentence.tolist() == [0, 1, 2]
    assert streams.num_slots.tolist() == [0, 0, 0]


@pytest.mark.parametrize("kind", VOCABULARIES)
def test_sentence_and_target_and_back(kind):
    dictionary = make_dictionary()
    vocabulary = kind(dictionary)
    source, target = encode(dictionary, ["& c | a c", "! 0"]), encode(dictionary, ["a 1 c 0", "1"])
    canonical, slots = read_slots(vocabulary, source)
    encoded, slots = slots.encode(target), slots.named()
    for row in range(2):
        assert torch.equal(slots.decode(canonical[row], row), source[row])
        assert torch.equal(slots.decode(encoded[row], row), target[row])


def test_fixed_ids_are_rows_by_name():
    dictionary = make_dictionary()
    vocabulary = FixedVocabulary(dictionary, arity=ARITY)
    assert vocabulary.num_base == 4 + len(FIXED)
    canonical, slots = read_slots(vocabulary, encode(dictionary, ["& c | a c"]))
    rows = [4 + FIXED.index(token) for token in "&c|ac"]
    assert canonical.tolist() == [[*rows, 2]] and slots.names.shape == (1, 0)
    # Symbols are leaves of formulas, like constants.
    assert vocabulary.arities(canonical[0]).tolist() == [2, 0, 2, 0, 0, 0]


def test_fixed_checkpoint_into_another_dictionary():
    vocabulary = FixedVocabulary(make_dictionary())
    other = make_dictionary("hdb", ("|", "1", "!"), pattern=None)
    loaded = FixedVocabulary(other)
    loaded.load_state_dict(vocabulary.state_dict())
    assert loaded.num_base == vocabulary.num_base and other.pattern == "[a-z]"
    canonical, slots = read_slots(loaded, encode(other, ["| d b"]))
    assert canonical.tolist() == [[4 + FIXED.index(token) for token in "|db"] + [2]]
    # Symbols that this dictionary lacks can be produced all the same.
    assert text_of(torch.tensor([4 + FIXED.index("g")]), slots) == "g"


def test_fixed_rows_of_symbols_the_checkpoint_lacks():
    vocabulary = FixedVocabulary(make_dictionary("abc"))
    loaded = FixedVocabulary(make_dictionary("aybz", pattern=None))
    with pytest.raises(UserError, match="no embedding for: 'y' 'z'"):
        loaded.load_state_dict(vocabulary.state_dict())
    with pytest.raises(UserError, match="no embedding for: 'U'"):
        FixedVocabulary(make_dictionary("ab", ("U",))).load_state_dict(vocabulary.state_dict())
    with pytest.raises(UserError, match="no embedding for: 'z'"):
        read_slots(vocabulary, encode(vocabulary.dictionary, ["& a z"]))


def test_streams_do_not_take_over_symbols_as_base_tokens():
    state = FixedVocabulary(make_dictionary("ab")).state_dict()
    with pytest.raises(UserError, match="matches 'a' 'b', which the checkpoint was trained with"):
        Vocabulary(make_dictionary("ab")).load_state_dict(state)


def test_canonical_ids_are_those_of_streams():
    dictionary = make_dictionary()
    sentences = encode(dictionary, ["& c | a c", "! 0", "xor b b"])
    vocabulary = CanonicalVocabulary(dictionary)
    canonical, slots = read_slots(vocabulary, sentences)
    assert torch.equal(canonical, read_slots(Vocabulary(dictionary), sentences)[0])
    assert vocabulary.num_symbol_rows == 8 and slots.names.shape == (3, 8)
    unk, (a, b, c) = dictionary.unk(), (dictionary.index(token) for token in "abc")
    assert slots.names[:, :3].tolist() == [[c, a, unk], [unk] * 3, [b, unk, unk]]
    assert text_of(torch.tensor([11, 12, 13]), slots) == "c a <unk>"


def test_more_symbols_than_canonical_rows(caplog):
    vocabulary = CanonicalVocabulary(make_dictionary("ab"))
    dictionary = vocabulary.dictionary
    source = encode(dictionary, ["& z | y & z x", "! z"])
    canonical, slots = read_slots(vocabulary, source)
    slot, unk = vocabulary.num_base, dictionary.unk()
    row = {token: 4 + index for index, token in enumerate(BASE)}
    assert canonical[0].tolist() == [row["&"], slot, row["|"], slot + 1, row["&"], slot, unk, 2]
    z, y = (dictionary.index(name) for name in "zy")
    assert slots.names.tolist() == [[z, y], [z, unk]]
    target = slots.select(torch.tensor([0])).encode(encode(dictionary, ["x 1 y 0"]))
    assert target.tolist() == [[unk, row["1"], slot + 1, row["0"], 2]]
    read_slots(vocabulary, source)
    (warning,) = caplog.records  # once
    assert "3 different symbols" in warning.getMessage()


def test_canonical_checkpoint_keeps_the_number_of_rows():
    state = CanonicalVocabulary(make_dictionary("abc")).state_dict()
    loaded = CanonicalVocabulary(make_dictionary("uvwxyz", pattern=None))
    assert loaded.num_symbol_rows == 0
    loaded.load_state_dict(state)
    assert loaded.num_symbol_rows == 3
    _, slots = read_slots(loaded, encode(loaded.dictionary, ["! 0"]))
    assert slots.names.tolist() == [[loaded.dictionary.unk()] * 3]


def test_named_ids_follow_the_dictionary_as_it_grows():
    dictionary = make_dictionary("cab")
    vocabulary = NamedVocabulary(dictionary)
    assert vocabulary.symbol_names() == ["c", "a", "b"]
    canonical, slots = read_slots(vocabulary, encode(dictionary, ["& b z"]))
    assert vocabulary.symbol_names() == ["c", "a", "b", "z"]
    slot = vocabulary.num_base
    assert canonical[0, 1:3].tolist() == [slot + 2, slot + 3] and slots.names.shape == (1, 4)
    assert text_of(torch.arange(slot, slot + 4), slots) == "c a b z"


def test_sentences_whose_symbols_a_model_cannot_read():
    fixed, canonical, named = (kind(make_dictionary("ab")) for kind in VOCABULARIES)
    for vocabulary in (fixed, canonical, named, Vocabulary(make_dictionary("ab"))):
        assert vocabulary.unreadable(encode(vocabulary.dictionary, ["& a b"])[0]) is None
    new = encode(fixed.dictionary, ["| z & y z"])[0]
    assert fixed.unreadable(new) == "holds symbols that the model has no embedding for: 'y' 'z'"
    assert canonical.unreadable(encode(canonical.dictionary, ["| z & y z"])[0]) is None
    RandomEmbedding(named, 8, 2, seed=0, cosine=True, scaled=False)
    assert named.unreadable(encode(named.dictionary, ["& z y"])[0]) is None
    fifth = encode(named.dictionary, ["& x y"])[0]
    assert re.search("to 5, of which the model tells 4 apart$", named.unreadable(fifth))


@pytest.mark.parametrize("kind", VOCABULARIES)
def test_same_columns(kind):
    one, equal = kind(make_dictionary()), kind(make_dictionary(SYMBOLS[::-1]))
    assert one.same_columns(equal)
    assert not one.same_columns(kind(make_dictionary(base=("!", "&"))))
    assert not any(one.same_columns(k(make_dictionary())) for k in VOCABULARIES if k is not kind)
    # The only ones whose number of columns was fixed in training, beside base tokens.
    fewer = kind(make_dictionary("abc"))
    assert one.same_columns(fewer) == (kind is NamedVocabulary)
