"""Which tokens are symbols, without a dictionary."""

import pytest

from sit_fairseq.errors import UserError
from sit_fairseq.symbols import pattern as module
from sit_fairseq.symbols.pattern import SymbolPattern, is_filler


def test_symbols_match_in_full_and_are_listed_by_first_appearance():
    pattern = SymbolPattern(r"[a-z]\d*")
    assert pattern.text == r"[a-z]\d*"
    assert pattern.symbols("& b7 | a ! b7 xor 1".split()) == ["b7", "a"]
    assert pattern.is_symbol("b7") and not pattern.is_symbol("b7b")


def test_filler_is_no_symbol():
    assert is_filler("madeupword0000") and not is_filler("madeupword")
    pattern = SymbolPattern(r"[a-z]+\d*")
    assert not pattern.is_symbol("madeupword0000") and pattern.is_symbol("madeup1")


@pytest.mark.parametrize("regex, message", [("[a-z", "not a regular expression"), (".*", "'<s>'")])
def test_patterns_that_are_refused(regex, message):
    with pytest.raises(UserError, match=message):
        SymbolPattern(regex)


@pytest.mark.parametrize(
    "regex, message",
    [
        ("(" * 4_900 + "a" + ")" * 4_900, "has too many brackets"),
        ("[a-z]|" * 2_000 + "b", "is longer than 10000 characters"),
        ("((a?){1000}){1000}", "or than 500000 with all that it repeats"),
        ("(a{0}|(b{800,}){900})", "or than 500000 with all that it repeats"),
        ("a{99999999999999999999}", "or than 500000 with all that it repeats"),
    ],
)
def test_patterns_that_take_much_to_be_read(regex, message):
    with pytest.raises(UserError, match=message):
        SymbolPattern(regex)


def test_patterns_may_count():
    pattern = SymbolPattern("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|v{1,60000}")
    assert pattern.is_symbol("01234567-89ab-cdef-0123-456789abcdef") and pattern.is_symbol("v" * 99)


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
