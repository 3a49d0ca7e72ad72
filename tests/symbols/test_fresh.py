"""Reserved slots: what they are called, and which columns they open."""

import math

import pytest
import torch

from sit_fairseq.errors import UserError
from sit_fairseq.symbols.fresh import FreshSymbols, numbered
from sit_fairseq.symbols.tokens import TokenTable


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


def test_names_go_on_with_numbers_where_these_are_symbols():
    table, fresh = build(3, pattern=r"[a-c]|v\d")
    assert names(table, fresh.name([table.index("a")])) == ["a", "c", "b", "v0"]
    table.index("v7")  # typed later
    assert names(table, fresh.name([table.index("v1")])) == ["v1", "c", "a", "b"]
    assert fresh.enough_for(10) and not fresh.enough_for(11)  # c a b v0 ... v9


def test_given_names():
    table, fresh = build(2, given="b,a")
    b, a = map(table.index, "ba")
    assert fresh.name([]) == [b, a] and fresh.name([b]) == [b, a]
    assert fresh.enough_for(0) and not fresh.enough_for(1)


@pytest.mark.parametrize(
    "given, reason", [("a,&", "'&' is no symbol"), ("a,b,a", "a name stands there twice")]
)
def test_names_that_cannot_be_given(given, reason):
    with pytest.raises(UserError, match=f"--fresh-names {given}: {reason}"):
        build(1, given=given)


def test_too_few_names():
    table, fresh = build(3)
    assert fresh.lacking([]) is None
    assert fresh.lacking([table.index("b")]).startswith("leaves 2 names for the 3 symbols")


def test_slots_are_taken_in_their_order():
    _, fresh = build(2)
    canonical = torch.tensor([[0, 10, 9, 10, 3], [10, 0, 11, 77, 0]])
    taken = fresh.taken(canonical, torch.tensor([9, 11]))
    assert taken.tolist() == [[0, 2, 2, 2, 2], [0, 0, 1, 1, 1]]


def test_open_are_those_that_are_taken_and_the_next():
    _, fresh = build(2)
    first, taken = torch.tensor([3, 2]), torch.tensor([[0, 1, 2], [0, 0, 2]])
    closed = fresh.close(torch.zeros(2, 3, 5), first, taken).eq(-math.inf)
    assert closed.sum(2).tolist() == [[1, 0, 0], [2, 2, 1]]
    assert bool((closed == (closed.cumsum(2) > 0)).all())  # the last columns


def test_symbols_are_numbered_by_first_appearance():
    tokens = torch.tensor([[7, 5, 7, 6, 5], [5, 5, 9, 9, 9]])
    fresh = torch.tensor([[True, False, True, True, False], [True, True, False, False, False]])
    assert numbered(tokens, fresh).tolist() == [[0, -1, 0, 1, -1], [0, 0, -1, -1, -1]]
