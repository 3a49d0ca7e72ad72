"""The notation without spaces."""

import pytest

from sit_fairseq.logic.compact import UnknownToken, compact_tokens


@pytest.mark.parametrize(
    "text, tokens",
    [
        ("&!ab", "& ! a b"),
        ("UaXb", "U a X b"),
        ("xor<->ab->c1", "xor <-> a b -> c 1"),
        ("<->xor!x0|or", "<-> xor ! x 0 | o r"),
        ("GFWRMaabc", "G F W R M a a b c"),
        ("a;&ab;{b}", "a ; & a b ; { b }"),
        ("{1;!a}", "{ 1 ; ! a }"),
        ("a1b0", "a 1 b 0"),
        (" & a\tb ", "& a b"),
        ("x o r", "x o r"),
        ("", ""),
    ],
)
def test_tokens(text, tokens):
    assert compact_tokens(text) == tokens.split()


@pytest.mark.parametrize(
    "text, character",
    [
        ("&aQ", "Q"),
        ("a-b", "-"),
        ("&a&b<>c", "<"),
        ("a2", "2"),
        ("&a\u00e9", "\u00e9"),
        ("=ab", "="),
    ],
)
def test_unknown_characters_are_named(text, character):
    with pytest.raises(UnknownToken, match=f"^'{character}' is neither"):
        compact_tokens(text)
