"""Renamings of text and of indices: undone, composed, drawn, and never merging."""

import random

import pytest
import torch
from conftest import encode, make_dictionary

from sit_fairseq.symbols.renaming import Renaming, rename, renamings_into


def test_all_renamings_or_some_distinct_ones_of_a_seed():
    every = {renaming("x y z") for renaming in renamings_into("xyz", "abcde", 60, random.Random(1))}
    assert len(every) == 60 and all(set(image.split()) <= set("abcde") for image in every)
    found = renamings_into("xyz", "abcde", 59, random.Random(1))
    images = [renaming("x y z") for renaming in found]
    assert len(images) == len(set(images)) == 59
    again = [renaming("x y z") for renaming in renamings_into("xyz", "abcde", 59, random.Random(1))]
    other = [renaming("x y z") for renaming in renamings_into("xyz", "abcde", 59, random.Random(2))]
    assert images == again != other


def test_symbols_must_not_merge():
    with pytest.raises(ValueError):
        Renaming({"a": "c", "b": "c"})
    renaming = Renaming({"a": "b", "c": "d"})
    assert renaming("& a c") == "& b d"
    with pytest.raises(ValueError, match="'d' would merge"):
        renaming("& a d")
    with pytest.raises(ValueError, match="'&' would merge"):
        Renaming({"a": "&"})("& a c")


def test_indices_are_renamed_as_text_is():
    dictionary = make_dictionary()
    renaming = Renaming({"a": "b", "b": "a", "c": "z"})
    table = renaming.table(dictionary)
    for line in ("& a | b c", "! ! h", "xor d 1"):
        tokens = encode(dictionary, [line])
        assert torch.equal(rename(tokens, table), encode(dictionary, [renaming(line)]))
    other = make_dictionary(list("zbacdefgh"), ["0", "1", "!", "|", "&"])
    table = renaming.table(dictionary, other)
    tokens = encode(dictionary, ["& a | b c"])
    assert torch.equal(rename(tokens, table), encode(other, ["& b | a z"]))
    with pytest.raises(ValueError, match="is not renamed, but its name is taken or unknown"):
        rename(encode(dictionary, ["xor a b"]), table)


@pytest.mark.parametrize(
    "mapping, message",
    [
        ({"speed": "a"}, "'speed' is no symbol of the dictionary"),
        ({"z": "a"}, "'z' is no symbol of the dictionary"),
        ({"&": "a"}, "'&' is no symbol of the dictionary"),
        ({"a": "&"}, "'a' cannot be renamed to '&'"),
        ({"a": "speed"}, "'a' cannot be renamed to 'speed'"),
    ],
)
def test_names_that_the_dictionary_does_not_know(mapping, message):
    with pytest.raises(ValueError, match=message):
        Renaming(mapping).table(make_dictionary())
