"""Placeholders of lines, and masks in their place."""

import re
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sit_fairseq.domains.placeholders.ladder import Ladder, try_forms
from sit_fairseq.domains.placeholders.masks import FORMS, Form, in_order, placeholder_pattern, spans
from sit_fairseq.errors import UserError
from sit_fairseq.judging.verdict import Verdict

ALL = placeholder_pattern()

SELECT = "{sex, select, male {{n, plural, one {He has # item} other {He has {n}}}} other {x}}"

# Lines, and the parts of each that are masked.
LINES = [
    ("Copy %s to {dir}", ["%s", "{dir}"]),
    ("100 % sure, 5% of %5.2f", ["%5.2f"]),
    ('say "%s"', ['"%s"']),
    ("file%d.txt of %2$s", ["file%d", "%2$s"]),
    ("%(n)s, {n, plural, one {#} other {{n} x}}.", ["%(n)s", "{n, plural, one {#} other {{n} x}}"]),
    ("<b>bold</b> &amp; &#39; &#x27;", ["<b>", "</b>", "&amp;", "&#39;", "&#x27;"]),
    (
        "%(first name)s, %1$tB, %b, %<s, %hhd, %td",
        "%(first name)s,%1$tB,%b,%<s,%hhd,%td".split(","),
    ),
    ("Options\n%s", ["%s"]),
    ('50%<b>now</b> 5%<a href="x">', ["<b>", "</b>", '<a href="x">']),
    (f"of {SELECT} now", [SELECT]),
    ("see https://a.org/b?c=1, or mail a.b@c.org.", ["https://a.org/b?c=1", "a.b@c.org"]),
    ("%s%d", ["%s", "%d"]),
    ("%d files (%d%% of %,d) by %(name)r", ["%d", "%d%%", "%,d", "%(name)r"]),
    ("100%% of %{name}s, #{count}", ["100%%", "%{name}", "#{count}"]),
    ("共%d首歌曲，第%d页", ["%d", "%d"]),
    ("größe%d ל%s", ["größe%d", "%s"]),
    ("请访问https://a.org/b，然后写信给a@b.org。", ["https://a.org/b", "a@b.org"]),
    ("%shttp://a.b", ["%shttp://a.b"]),
    ("no placeholder", []),
    ("مرحبا {name}، é\u0301 %s", ["{name}", "%s"]),
]


@pytest.mark.parametrize("line, expected", LINES)
def test_parts_of_a_line(line, expected):
    found = [part.text for part in spans(line, ALL)]
    assert found == expected


WORDS = ["a", "Of", "%s", "%d", "{n}", "<b>", '"%s"', "(x)", "1", "é", "http://a.b/c", "x%s", ","]


@given(st.lists(st.sampled_from(WORDS), max_size=12), st.sampled_from(FORMS))
def test_a_mask_that_comes_back_is_the_placeholder(words, text):
    line, form = " ".join(words), Form.of(text)
    parts = spans(line, ALL)
    masked = form.mask(line, parts)
    if masked is not None:
        assert form.unmask(line, parts, masked) == line
        assert not parts or not any(ALL.finditer(masked.replace(str(form), ""))) or text[0] in "%{<"


def test_case_and_spaces_of_a_translation():
    line, form = "(%s) and {b}.", Form.of("PH1")
    parts = spans(line, ALL)
    assert form.unmask(line, parts, "e ph 1 ePh2.") == "e (%s) e {b}."


@pytest.mark.parametrize("translation", ["PH1", "PH1 PH1 PH2", "PH1 PH3", "PH2 PH1", ""])
def test_a_placeholder_that_is_lost_doubled_or_moved(translation):
    line, form = "%s and %d", Form.of("PH1")
    assert form.unmask(line, spans(line, ALL), translation) is None


def test_a_line_that_has_such_masks_needs_others():
    line = "PH1 is %s"
    assert Form.of("PH1").mask(line, spans(line, ALL)) is None
    (found,) = Ladder(list, ALL)([line])
    assert found == (line, "[1]", Verdict.satisfied)


@pytest.mark.parametrize("count", [0, 1, 200])
def test_any_number_of_placeholders(count):
    line = "x " + " y ".join(["%s"] * count)
    assert Ladder(list, ALL)([line])[0].text == line


def lossy(lines):
    """Keeps [1] in lines of one placeholder, and nothing of PH1."""
    return [re.sub(r"\[\d+\] \w+ \[\d+\]|PH\d", "", line).upper() for line in lines]


def test_rungs_are_climbed_until_all_is_there():
    lines = ["a %s", "a %s b %s", "a", "%s"]
    assert [Ladder(lossy, ALL)([line])[0] for line in lines] == Ladder(lossy, ALL)(lines)
    with pytest.raises(UserError, match="gives 1 texts for 2; change translate"):
        Ladder(lambda lines: lines[:1], ALL)(lines[:2])
    with pytest.raises(UserError, match="gives 0 texts for 1; change offers"):
        Ladder(lossy, ALL, ["PH1"], lambda lines: [])(["a %s"])
    (failed,) = Ladder(lambda lines: [line + " %s" for line in lines], ALL)(["a %d"])
    assert failed.rung == "cut" and failed.verdict is Verdict.violated
    assert Ladder(lossy, ALL)(lines) == [
        ("A %s", "[1]", Verdict.satisfied),
        ("A %s B %s", "cut", Verdict.satisfied),
        ("A", "as is", Verdict.satisfied),
        ("%s", "[1]", Verdict.satisfied),
    ]


def test_forms_are_tried_on_lines():
    trials = try_forms(["a %s", "a %s b %s"], lossy, ALL, ("PH1", "[1]"))
    assert [(trial.form, trial.share) for trial in trials] == [
        ("[1]", 0.5),
        ("as is", 0.0),
        ("PH1", 0.0),
    ]
    assert trials[0].kept == {1: 1} and trials[0].total == {1: 1, 2: 1}
    with pytest.raises(UserError, match="gives 1 texts for 3"):
        try_forms(["a %s"], lambda lines: lines[:1], ALL, ("PH1", "[1]"))


def test_without_forms_a_line_is_cut_at_its_placeholders():
    found = Ladder(lossy, ALL, [])(["a %s", "plain"])
    assert [(one.text, one.rung) for one in found] == [("A %s", "cut"), ("PLAIN", "as is")]


@pytest.mark.parametrize("text", ["{" * 4000, "{a" * 3000, "{}" * 3000 + "{", "{{}" * 2000])
def test_braces_that_never_close_take_no_time(text):
    started = process_time()
    spans(text, ALL)
    assert process_time() - started < 5


@pytest.mark.parametrize("pattern", ["x*", "(", "fprint("])
def test_patterns_that_say_nothing(pattern):
    with pytest.raises(UserError, match="pattern"):
        placeholder_pattern([pattern])


def test_patterns_have_groups_and_flags_of_their_own():
    pattern = placeholder_pattern([r"(?P<one>a)(?P=one)", r"(?i)(b)\1", "(?=x)", r"b.*"])
    assert [match.group() for match in pattern.finditer("ab aa Bb x b1")] == ["b aa Bb x b1"]
    assert [match.group() for match in pattern.finditer("aa Bb x")] == ["aa", "Bb"]


def test_what_has_a_name_or_number_may_move():
    for form in ("%1$s", "%(n)s", "%{n}", "%<n>s", "%1", "%L1", "%n%", "%%", "{n}", "${n}"):
        assert not in_order(form), form
    for form in ("%s", "%<s", "%5d", "%'d", "%-5.2f", "{}", "{:d}", "{!r}"):
        assert in_order(form), form


@pytest.mark.parametrize("form", ["PH", "PH11", "1", "21", "1 ", "PH1\n"])
def test_forms_without_one_number(form):
    with pytest.raises(UserError, match="form"):
        Form.of(form)
