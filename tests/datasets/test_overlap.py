"""Overlaps of files, verbatim and up to renaming."""

import pytest
from command_line import sit

from sit_fairseq.errors import UserError

TRAIN = ["& a b", "! c", "xor a a", "& x y", "& a b"]
TEST = ["& b a", "! c", "xor a b", "& a  b", "xor c d"]


def write(path, lines):
    path.write_text("".join(line + "\n" for line in lines))
    return path


def rows(text):
    """The rows of the table, without its head."""
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()[2:]]


@pytest.fixture
def files(tmp_path):
    return write(tmp_path / "test.src", TEST), write(tmp_path / "train.src", TRAIN)


def test_formulas(files, tmp_path, capsys):
    test, train = files
    sit("overlap", tmp_path / "test", "--with", train)  # a prefix, and a file
    assert rows(capsys.readouterr().out) == [
        [str(test), "5", "itself", "0", "2"],  # & a b, xor c d
        [str(test), "5", str(train), "2", "3"],  # ! c and & a b, and & b a
        [str(train), "5", "itself", "1", "2"],  # & a b, and & x y
    ]


def test_status(files, tmp_path, capsys):
    test, train = files
    with pytest.raises(UserError, match="^3 times a test sentence is the renaming"):
        sit("overlap", test, "--with", train, "--expect-none")
    assert len(rows(capsys.readouterr().out)) == 3  # all the same
    new = write(tmp_path / "new.src", ["| a b", "| c d", "a"])
    sit("overlap", new, "--with", train, "--expect-none")
    assert rows(capsys.readouterr().out)[1][3:] == ["0", "0"]
    with pytest.raises(UserError, match="--expect-none: say with --with"):
        sit("overlap", new, "--expect-none")


def test_a_pattern_says_what_symbols_are(tmp_path, capsys):
    test = write(tmp_path / "test", ["<e1> met <e2>", "<e1> saw <e2>", "<e1> met <e1>", "<e0> U"])
    train = write(tmp_path / "train", ["<e9> met <e5>", "<e1> met <e2>", "<e1> saw", "<e0> X"])
    sit("overlap", test, "--with", train, "--symbols", "<e[0-9]>")
    assert [row[3:] for row in rows(capsys.readouterr().out)] == [
        list(x) for x in ("00", "11", "01")
    ]
    for words, message in (((), "Line 1 of .*test"), (("--symbols", "("), "regular expression")):
        with pytest.raises(UserError, match=message):
            sit("overlap", test, "--with", train, *words)


@pytest.mark.parametrize(
    "patterns, renamed", [([r"table=T\d", r"column=c\d"], "1"), ([r"[Tc]\d"], "3")]
)
def test_what_is_renamed_across_sorts_is_no_overlap(tmp_path, capsys, patterns, renamed):
    test = write(tmp_path / "test", ["T0 c0", "c0 T0", "T1 T0"])
    train = write(tmp_path / "train", ["T3 c9"])
    sit("overlap", test, "--with", train, "--symbols", *patterns)
    assert rows(capsys.readouterr().out)[1][3:] == ["0", renamed]


def test_a_set_without_renamings_is_written(tmp_path, capsys):
    write(tmp_path / "all.src", ["& a b", "| c d", "| a b", "! a", "! ! b"])
    write(tmp_path / "all.tgt", list("12345"))
    train = write(tmp_path / "train", ["& x y", "! z"])
    sit("overlap", tmp_path / "all", "--with", train, "--write", tmp_path / "test")
    assert (tmp_path / "test.src").read_text().splitlines() == ["| c d", "! ! b"]
    assert (tmp_path / "test.tgt").read_text().splitlines() == ["2", "5"]
    sit("overlap", tmp_path / "test", "--with", train, "--expect-none")
    with pytest.raises(UserError, match="name one TEST"):
        sit("overlap", train, train, "--write", tmp_path / "test")


def test_a_domain_and_a_pattern_are_two_ways(tmp_path):
    with pytest.raises(UserError, match="change --symbols or --domain"):
        sit("overlap", tmp_path / "a", "--symbols", "[a-z]", "--domain", "prop")


def test_a_domain_says_what_its_sentences_are(tmp_path, capsys):
    test = write(tmp_path / "test", ["a b a", "b b"])  # no formulas
    train = write(tmp_path / "train", ["c d c", "c d"])
    sit("overlap", test, "--with", train, "--domain", "copying")
    assert rows(capsys.readouterr().out)[1][3:] == ["0", "1"]
    with pytest.raises(UserError, match="no domain 'cooking'.* change --domain"):
        sit("overlap", test, "--with", train, "--domain", "cooking")
