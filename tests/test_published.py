"""examples/paper/published.py: read sample by sample, where a bad one spoils no other."""

import os
import sys

import pytest
from generated import read

from examples.paper import published
from examples.paper.published import read_published_pairs
from sit_fairseq.errors import UserError

LTL = "&!ab\n&!ab;{1}\nU1Xc\nc;1;{c;!c}\n"
PROP = "<->a!b\na0b1\nxor->abb\na1b0\n&ab\na1\n"


@pytest.fixture
def import_(monkeypatch):
    """Runs the script in this process."""

    def run(semantics, *arguments):
        words = ["published.py", "--semantics", semantics, *map(str, arguments)]
        monkeypatch.setattr(sys, "argv", words)
        published.main()

    return run


def test_splits_of_a_folder(import_, tmp_path, capsys):
    folder, out = tmp_path / "ltl-35", tmp_path / "new" / "data"
    folder.mkdir()
    (folder / "train.txt").write_bytes(LTL.encode() * 3)
    (folder / "val.txt").write_bytes(LTL.replace("\n", "\r\n").encode())  # from Windows
    (folder / "notes.txt").write_text("?")
    import_("ltl", folder, out)
    sources = ["& ! a b", "U 1 X c"]
    targets = ["& ! a b ; { 1 }", "c ; 1 ; { c ; ! c }"]
    assert read(out / "train") == [sources * 3, targets * 3]
    assert read(out / "val") == [sources, targets]
    assert len(list(out.iterdir())) == 4
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("6 samples of") and second.startswith("2 samples of")


def test_malformed_samples_stop_or_are_left_out(import_, tmp_path, caplog):
    path, out = tmp_path / "data.txt", tmp_path / "out"
    path.write_text(PROP + "?a\na1\n" + PROP + "&a\n")
    with pytest.raises(UserError, match="^.*data.txt is malformed, line 7: "):
        import_("prop", path, out)
    assert list(tmp_path.iterdir()) == [path]
    import_("prop", path, out, "--skip-malformed")
    right = [["<-> a ! b", "xor -> a b b", "& a b"], ["a 0 b 1", "a 1 b 0", "a 1"]]
    assert read(out) == [side * 2 for side in right]
    said = [record.getMessage() for record in caplog.records]
    assert [text.split(",")[1].split(":")[0] for text in said] == [" line 7", " line 8", " line 15"]


def pairs(tmp_path, text, semantics):
    """The pairs of a file, and what is wrong with it."""
    (tmp_path / "data.txt").write_text(text)
    bad = []
    return list(read_published_pairs(str(tmp_path / "data.txt"), semantics, bad)), bad


def test_blank_lines_count_only_before_the_end(tmp_path):
    assert pairs(tmp_path, "a\na1\n\n \n", "prop") == ([("a", "a 1")], [])
    found, bad = pairs(tmp_path, "a\na1\n\nb\nb1\n", "prop")
    assert found == [("a", "a 1"), ("b", "b 1")]
    assert bad == ["line 3: the formula was expected, but the formula is empty"]
    assert pairs(tmp_path, "", "prop") == ([], [])
    _, bad = pairs(tmp_path, "a\n", "prop")
    assert bad == ["line 1: the assignment of this formula is missing"]


@pytest.mark.parametrize(
    "semantics, text, number, reason",
    [
        ("ltl", "&a\na;{1}\n", 3, "operand"),
        ("ltl", "&ab\n", 4, "the trace was expected"),  # no trace at all
        ("ltl", "&ab\na;{c}\n", 4, "symbol 'c'"),
        ("ltl", "&aY\na;{1}\n", 3, "'Y'"),
        ("prop", "Xa\na1\n", 3, "'X'"),
        ("prop", "a\na\n", 4, "no value"),
        ("prop", "a\na1b1\n", 4, "symbol 'b'"),
        ("prop", "a\n\n", 4, "empty"),
    ],
)
def test_a_bad_line_is_named_and_the_others_are_read(tmp_path, semantics, text, number, reason):
    good, pair = {
        "ltl": ("Xa\n1;a;{1}\n", ("X a", "1 ; a ; { 1 }")),
        "prop": ("a\na1\n", ("a", "a 1")),
    }[semantics]
    found, bad = pairs(tmp_path, good + text + good, semantics)
    assert found == [pair] * 2
    assert bad[0].startswith(f"line {number}: ") and reason in bad[0]


@pytest.mark.parametrize(
    "semantics, source, target, message",
    [
        ("ltl", "none", "out", "none"),
        ("ltl", "", "out", "train.txt"),
        ("ltl", "empty", "out", "change semantics"),
        ("ltl", "ltl.txt", "empty/out", "empty is a file"),
    ],
)
def test_mistakes_are_told(import_, tmp_path, semantics, source, target, message):
    (tmp_path / "ltl.txt").write_text(LTL)
    (tmp_path / "empty").write_text("")
    with pytest.raises(UserError, match=message):
        import_(semantics, tmp_path / source, tmp_path / target)
    assert sorted(os.listdir(tmp_path)) == ["empty", "ltl.txt"]
