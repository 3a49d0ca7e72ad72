import random

import pytest

from sit_fairseq.symbols.renaming import Renaming, renamings_into


def test_inverse_undoes():
    renaming = Renaming({"a": "b", "b": "c"})
    assert renaming("& a | b a") == "& b | c b"
    assert renaming.inverse()("& b | c b") == "& a | b a"


def test_inverse_merges_no_names_that_a_model_made_up():
    # a was given up: in an answer it must not be taken for what b stands for.
    inverse = Renaming({"a": "b"}).inverse()
    assert inverse("b 1") == "a 1"
    assert inverse("a 1") == "b 1"
    chain = Renaming({"a": "b", "b": "c", "d": "e"}).inverse()
    assert sorted(chain("a b c d e").split()) == list("abcde")
    assert chain("b c e") == "a b d"


def test_symbols_must_not_merge():
    with pytest.raises(ValueError):
        Renaming({"a": "c", "b": "c"})


@pytest.mark.parametrize("most", [60, 120])
def test_all_renamings_where_they_are_not_too_many(most):
    found = renamings_into("xyz", "abcde", most, random.Random(1))
    images = {renaming("x y z") for renaming in found}
    assert len(found) == len(images) == 60
    assert all(set(image.split()) <= set("abcde") for image in images)


def test_distinct_random_renamings_where_they_are():
    found = renamings_into("xyz", "abcde", 59, random.Random(1))
    images = [renaming("x y z") for renaming in found]
    assert len(images) == len(set(images)) == 59
    again = [renaming("x y z") for renaming in renamings_into("xyz", "abcde", 59, random.Random(1))]
    other = [renaming("x y z") for renaming in renamings_into("xyz", "abcde", 59, random.Random(2))]
    assert images == again != other
