"""Which tokens are symbols, without a dictionary."""

import re

import pytest

from sit_fairseq.errors import UserError
from sit_fairseq.symbols import pattern as module
from sit_fairseq.symbols.pattern import SymbolPattern, is_filler


def test_symbols_match_in_full_and_are_listed_by_first_appearance():
    pattern = SymbolPattern(r"[a-z]\d*")
    assert pattern.text == r"[a-z]\d*"
    assert pattern.symbols("& b7 | a ! b7 xor 1".split()) == ["b7", "a"]
    assert pattern.is_symbol("b7") and not pattern.is_symbol("b7b")


@pytest.mark.parametrize(
    "text", ["v{i}", "{i}|{j}", "x{s}", "[{e}]+", r"x{2,3}", r"\N{DIGIT ONE}x"]
)
def test_patterns_mean_what_they_mean_to_python(text):
    """Not to the library that matches them."""
    pattern = SymbolPattern(text)
    for token in (
        "v{i}",
        "vandal",
        "v",
        "xvx",
        "{i}",
        "{j}",
        "i",
        "x{s}",
        "y",
        "{e}",
        "e",
        "xx",
        "1x",
    ):
        assert pattern.is_symbol(token) == bool(re.fullmatch(text, token)), token


def test_a_class_that_python_lacks_is_refused():
    with pytest.raises(UserError, match=r"has a class such as \[:digit:\].*; change symbols"):
        SymbolPattern("v[[:digit:]]+")


def test_filler_is_no_symbol():
    assert is_filler("madeupword0000") and not is_filler("madeupword")
    pattern = SymbolPattern(r"[a-z]+\d*")
    assert not pattern.is_symbol("madeupword0000") and pattern.is_symbol("madeup1")


def test_other_special_tokens():
    with pytest.raises(UserError, match="special token 'start'"):
        SymbolPattern("[a-z]+", ["start"])


@pytest.mark.slow
def test_a_pattern_has_no_more_than_a_second_for_a_token():
    pattern = SymbolPattern("(a|a)*b")
    assert pattern.is_symbol("aab")
    with pytest.raises(UserError, match=r"'\(a\|a\)\*b' takes more than 1 s on the token 'aaa"):
        pattern.is_symbol("a" * 60 + "cb")


def test_a_bounded_number_of_tokens_is_remembered(monkeypatch):
    monkeypatch.setattr(module, "_MOST_KNOWN", 10)
    pattern = SymbolPattern(r"[a-z]\d*")
    for number in range(35):
        assert pattern.is_symbol(f"a{number}") and not pattern.is_symbol(f"A{number}")
        assert len(pattern._known) <= 10
    assert pattern.is_symbol("a0")
