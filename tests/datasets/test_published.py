"""Published files are read line by line, and a bad line spoils no other."""

import json

import pytest

from sit_fairseq.datasets.published import (
    BadLine,
    PublishedSample,
    read_heat_map,
    read_published_pairs,
)


def pairs(tmp_path, text, semantics):
    (tmp_path / "data.txt").write_text(text)
    return list(read_published_pairs(str(tmp_path / "data.txt"), semantics))


def sample(formula, answer):
    return PublishedSample(formula.split(), answer.split())


def test_pairs(tmp_path):
    ltl = "&!ab\n&!ab;{1}\nU1Xc\nc;1;{c;!c}\n"
    assert pairs(tmp_path, ltl, "ltl") == [
        sample("& ! a b", "& ! a b ; { 1 }"),
        sample("U 1 X c", "c ; 1 ; { c ; ! c }"),
    ]
    prop = "<->a!xor0b\na0b1\n|ab\nb1"
    assert pairs(tmp_path, prop, "prop") == [
        sample("<-> a ! xor 0 b", "a 0 b 1"),
        sample("| a b", "b 1"),
    ]
    assert pairs(tmp_path, "", "prop") == []


def test_blank_lines_count_only_before_the_end(tmp_path):
    assert pairs(tmp_path, "a\na1\n\n \n", "prop") == [sample("a", "a 1")]
    items = pairs(tmp_path, "a\na1\n\nb\nb1\n", "prop")
    assert items == [sample("a", "a 1"), BadLine(3, "it is blank", ""), sample("b", "b 1")]


@pytest.mark.parametrize(
    "bad, number, reason",
    [
        ("&a\na;{1}\n", 3, "operand"),
        ("a;{1}\n", 3, "complete after token 1"),
        ("\n", 3, "blank"),
        ("&ab\n", 4, "the trace was expected, but a trace has one '{'"),  # no trace at all
        ("&ab\n\n", 4, "blank"),
        ("&ab\na;b\n", 4, "a trace has one '{'"),
        ("&ab\n&a;{1}\n", 4, "step 1: the formula ends"),
        ("&ab\na;{c}\n", 4, "symbol 'c' is not in the formula"),
        ("&aY\na;{1}\n", 3, "'Y' is neither"),
        ("&a;\na;{1}\n", 3, "';' belongs to traces"),
    ],
)
def test_a_bad_line_is_named_and_the_others_are_read(tmp_path, bad, number, reason):
    good = "Xa\n1;a;{1}\n"
    items = pairs(tmp_path, good + bad + good, "ltl")
    wrong = [item for item in items if isinstance(item, BadLine)]
    assert items[0] == items[-1] == sample("X a", "1 ; a ; { 1 }")
    assert len(items) == 2 + len(wrong)
    assert wrong[0].number == number and reason in wrong[0].reason
    assert wrong[0].text == (good + bad + good).split("\n")[number - 1]


@pytest.mark.parametrize(
    "text, number, reason",
    [
        ("a\n", 1, "ends before the assignment"),
        ("a\na1\nXa\na1\n", 3, "unknown operator 'X'"),
        ("a\na\n", 2, "'a' has no value"),
        ("a\n1a\n", 2, "'1' stands where a symbol should"),
        ("a\na1b1\n", 2, "symbol 'b' is not in the formula"),
        ("&a;\na1\n", 1, "';' belongs to traces"),
    ],
)
def test_bad_propositional_lines(tmp_path, text, number, reason):
    bad = [item for item in pairs(tmp_path, text, "prop") if isinstance(item, BadLine)]
    assert bad[0].number == number and reason in bad[0].reason


ENTRY = {"symbols": 2, "length": 4, "formula": "xor!ab", "assignment": "a1b1"}


def test_heat_map(tmp_path):
    path = tmp_path / "map.jsonl"
    # The length in characters is accepted, too.
    path.write_text(json.dumps(ENTRY) + "\n" + json.dumps({**ENTRY, "length": 6, "more": []}))
    assert list(read_heat_map(str(path), "prop")) == [sample("xor ! a b", "a 1 b 1")] * 2


@pytest.mark.parametrize(
    "change, reason",
    [
        ({"symbols": 3}, "has 2 symbols, not 3"),
        ({"length": 5}, "has 4 tokens, not 5"),
        ({"length": "4"}, '"length" is a number'),
        ({"symbols": True}, '"symbols" is a number'),
        ({"formula": None}, '"formula" is a text'),
        ({"assignment": ["a1"]}, '"assignment" is a text'),
        ({"assignment": "a1;"}, "has no value"),
        ({"formula": "xor!a"}, "1 operand"),
    ],
)
def test_bad_entries(tmp_path, change, reason):
    path = tmp_path / "map.jsonl"
    path.write_text(json.dumps(ENTRY) + "\n" + json.dumps({**ENTRY, **change}) + "\n")
    good, bad = read_heat_map(str(path), "prop")
    assert isinstance(good, PublishedSample)
    assert bad.number == 2 and reason in bad.reason


@pytest.mark.parametrize("line", ["", "{", "[1]", "3", "[" * 100000])
def test_lines_that_are_no_objects(tmp_path, line):
    path = tmp_path / "map.jsonl"
    path.write_text(line + "\n")
    (bad,) = read_heat_map(str(path), "prop")
    assert bad.number == 1 and "it is not" in bad.reason
