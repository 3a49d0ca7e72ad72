"""Infix notation, as it is written; test_reading reads it back."""

import pytest

from sit_fairseq.domains.formulas.infix import infix


@pytest.mark.parametrize(
    "prefix, text",
    [
        ("! a", "!a"),
        ("X X a", "X X a"),
        ("& U a b ! X c", "(a U b) & !X c"),
        ("U a & b c", "a U (b & c)"),
        ("G F -> a <-> b xor 0 c", "G F (a -> (b <-> (0 xor c)))"),
        ("R W a b M c | d e", "(a W b) R (c M (d | e))"),
        ("& speed_limit X1", 'speed_limit & "X1"'),
        ("U true Ga", '"true" U "Ga"'),
    ],
)
def test_writing(prefix, text):
    assert infix(prefix.split()) == text
