"""Propositional data: what formulas and assignments there are."""

from collections import Counter

import pytest
from generated import generate, read

BASE = {"0", "1", "!", "&", "|", "<->", "xor"}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The formulas and assignments of a data set of 3000 pairs."""
    return read(generate("prop", tmp_path_factory.mktemp("prop") / "x", "--size", 3000))


def test_lengths_are_uniform_once_there_are_enough_formulas(data):
    lengths = Counter(len(source.split()) for source in data[0])
    assert set(lengths) == set(range(1, 36))
    assert lengths[1] == lengths[2] == 1  # all there are, up to renaming: a, ! a
    assert all(55 < lengths[length] < 140 for length in range(6, 36)), lengths


def test_symbols_and_operators_are_those_that_were_named(data, tmp_path):
    assert {*" ".join(data[0]).split()} == {*"abcde", *BASE}
    generate("prop", tmp_path / "names", "--symbols", "f,go,h", "--size", 200)
    assert {*" ".join(read(tmp_path / "names")[0]).split()} == {"f", "go", "h", *BASE}
    generate("prop", tmp_path / "p", "--operators", "!,->", "--size", 200)
    assert {*" ".join(read(tmp_path / "p")[0]).split()} == {*"! -> 0 1 a b c d e".split()}
