"""Reserved slots: what they are called, and which columns they open."""

import math

import pytest
import torch

from sit_fairseq.symbols.fresh import FreshSymbols
from sit_fairseq.symbols.tokens import TokenTable
from sit_fairseq.symbols.vocabulary import Vocabulary


def build(number, tokens=("&", "c", "a", "b"), pattern="[a-c]", given=None):
    table = TokenTable(tokens, pattern)
    return table, FreshSymbols(number, table, given)


def names(table, indices):
    return [table[index] for index in indices]


def test_slots_are_called_by_the_first_names_that_source_and_target_lack():
    table, fresh = build(2)
    a, b, c = map(table.index, "abc")
    assert fresh.name([a]) == [a, c, b] and fresh.name([]) == [c, a]
    assert fresh.name([a], [b, a]) == [a, b, c]
    # Of three symbols of a target that the source lacks, two have slots.
    assert fresh.name([], [b, a, c]) == [b, a]


@pytest.mark.parametrize("pattern", ["[a-c]", r"[a-c]|v\d", "(?i)[a-c]"])
def test_names_go_on_with_numbers_whatever_the_pattern(pattern):
    table, fresh = build(3, pattern=pattern)
    assert names(table, fresh.name([table.index("a")])) == ["a", "c", "b", "v0"]
    table.index("v7")  # typed later
    assert names(table, fresh.name([table.index("v1")])) == ["v1", "c", "a", "b"]
    own = list(map(table.index, ["c", "v0", "b", "a"]))
    assert names(table, fresh.name(own)[4:]) == ["v1", "v2", "v3"]
    assert fresh.lacking(own) is None
    assert table.is_symbol("v12") and not table.is_symbol("v") and not table.is_symbol("&")


def test_a_pattern_is_widened_once_and_only_if_it_must_be():
    table, _ = build(1, pattern="[a-c]")
    assert table.pattern == "[a-c]|v[0-9]+"
    FreshSymbols(2, table, None)
    assert table.pattern == "[a-c]|v[0-9]+"
    assert build(1, pattern=r"[a-z]\w*")[0].pattern == r"[a-z]\w*"
    assert build(1, pattern="[a-c]", given="a")[0].pattern == "[a-c]"


def test_base_tokens_give_no_names():
    table, fresh = build(2, tokens=("v1", "a", "v_x"), pattern="a")
    assert names(table, fresh.name([table.index("a")])) == ["a", "v_0", "v_1"]
    assert table.base_tokens() == ["v1", "v_x"]


def test_numbered_names_are_of_no_other_sort():
    table = TokenTable(("c1",), "var=x[0-9]+\nx=c[0-9]+")
    assert table.add_numbered_symbols(1) == "x_"
    assert (table.sort("x0"), table.sort("x_0")) == (0, 1)


def test_given_names():
    table, fresh = build(2, given="b,a")
    b, a = map(table.index, "ba")
    assert fresh.name([]) == [b, a] and fresh.name([b]) == [b, a]
    assert fresh.lacking(
        []
    ) is None and "leaves names for 1 of the 2 fresh symbols" in fresh.lacking([b])


@pytest.fixture
def slots():
    """Of two sentences with 2 and 1 symbols and two reserved slots each, the first ids 7 and 6."""
    vocabulary = Vocabulary(TokenTable(("&", "a", "b"), "[a-e]"), 2)
    return vocabulary.read(vocabulary.dictionary.encode(["& a b", "a"]))[1]


def test_slots_are_taken_in_their_order(slots):
    canonical = torch.tensor([[0, 8, 7, 8, 3], [7, 0, 6, 77, 0]])
    assert slots.first_reserved.tolist() == [7, 6]
    assert slots.taken(canonical).squeeze(2).tolist() == [[0, 2, 2, 2, 2], [2, 2, 2, 2, 2]]
    assert slots.needed(torch.tensor([[0, 7], [5, 0]])).tolist() == [1, 0]


def test_open_are_those_that_are_taken_and_the_next(slots):
    canonical = torch.tensor([[0, 7, 8], [0, 0, 7]])
    closed = slots.close(torch.zeros(2, 3, 9), canonical).eq(-math.inf)
    assert closed.sum(2).tolist() == [[1, 0, 0], [2, 2, 1]]
    assert bool((closed == (closed.cumsum(2) > 0)).all())  # the last columns
