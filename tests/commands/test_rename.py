"""``sit rename``: a random renaming of each pair."""

import pytest
from command_line import sit

from sit_fairseq.commands._options import names
from sit_fairseq.datasets.pair_files import read_pairs, write_pairs
from sit_fairseq.domains.formulas.syntax import formula_symbols
from sit_fairseq.errors import UserError


def write(tmp_path, pairs):
    """Writes pairs to files and returns the prefix of their names."""
    write_pairs(str(tmp_path / "in"), pairs)
    return tmp_path / "in"


def test_random_renaming(tmp_path):
    pairs = [("xor a b", "a 1 b 0"), ("| a 1", "a 1")] * 20
    prefix = write(tmp_path, pairs)
    options = ["--symbols", "[a-z]", "--names", "p,q,r,s"]
    sit("rename", prefix, tmp_path / "out", *options)
    made = read_pairs(str(tmp_path / "out"))
    assert len(set(made)) > 6
    for source, target in made:
        first, *more = formula_symbols(source.split())
        assert (source, target) in [(f"| {first} 1", f"{first} 1")] + [
            (f"xor {first} {second}", f"{first} 1 {second} 0") for second in more
        ]
        assert {first, *more} <= set("pqrs")


def test_random_renaming_stays_within_sorts(tmp_path):
    prefix = write(tmp_path, [("T1 c1 T2", "c1 T2")] * 20)
    options = ["--names", "T5,T6,c7,c8,c9", "--symbols", r"table=T\d", r"column=c\d"]
    sit("rename", prefix, tmp_path / "out", *options)
    made = read_pairs(str(tmp_path / "out"))
    assert {source[0::3] for source, _ in made} == {"TcT"} and len(set(made)) == 6
    assert all(source[3:] == target and source[:2] != target[3:] for source, target in made)
    with pytest.raises(UserError, match="line 1: 2 symbols of the sort table need as many"):
        sit("rename", prefix, tmp_path / "no", *options, "--names", "T5,c7,c8,c9")


@pytest.mark.parametrize(
    "symbols, names, message",
    [("[a-z]", "p", "change --names"), ("[a-z]", "x,&", "'&'"), ("[a", "p,q", "expression")],
)
def test_renamings_that_cannot_be(tmp_path, symbols, names, message):
    prefix = write(tmp_path, [("xor a b", "a 1 b 0")])
    with pytest.raises(UserError, match=message):
        sit("rename", prefix, tmp_path / "out", "--symbols", symbols, "--names", names)
    assert not list(tmp_path.glob("out*"))


def test_what_is_read_is_not_written_over(tmp_path):
    prefix = tmp_path / "grid"
    write_pairs(str(prefix), [("a", "a")])
    options = ("--symbols", "[a-z]")
    for words in (["rename", prefix, prefix, "--names", "b"], ["grid", tmp_path, "--from", prefix]):
        with pytest.raises(UserError, match="grid.src would be written over"):
            sit(*words, *options)
    assert read_pairs(str(prefix)) == [("a", "a")]


def test_names_may_be_ranges(tmp_path):
    prefix = write(tmp_path, [("<ent1> <ent2>", "<ent2>")] * 200)
    options = ("--symbols", "<ent[0-9]+>|<date>", "--names", "<ent9>..<ent11>,<date>")
    sit("rename", prefix, tmp_path / "out", *options)
    found = {name for source, _ in read_pairs(str(tmp_path / "out")) for name in source.split()}
    assert found == {"<ent9>", "<ent10>", "<ent11>", "<date>"}
    assert names("x08..x10,y") == ["x08", "x09", "x10", "y"]


@pytest.mark.parametrize("given", ["<a0>..<b3>", "a..b", "<e3>..<e5>,<e4>", "x,", "x9..x0"])
def test_names_that_are_none(tmp_path, capsys, given):
    with pytest.raises(SystemExit):
        sit("rename", "in", tmp_path / "out", "--symbols", ".*", "--names", given)
    assert "--names" in capsys.readouterr().err.rpartition("error")[2]
