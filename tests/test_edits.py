"""Edits of existing data: the training data of the paper's tables, and random renamings."""

from random import Random

import pytest
from command_line import sit

from sit_fairseq.datasets.pair_files import read_pairs, write_pairs
from sit_fairseq.errors import UserError
from sit_fairseq.evaluation import plots
from sit_fairseq.judging.judge import make_judge
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.logic.ltl import data_symbols
from sit_fairseq.logic.propositional import random_formula, smallest_answer


@pytest.fixture
def write(tmp_path):
    """A function that writes pairs to files and returns the prefix of their names."""

    def write(name, pairs):
        write_pairs(str(tmp_path / name), pairs)
        return tmp_path / name

    return write


def pairs_of(prefix):
    return read_pairs(str(prefix))


@pytest.mark.parametrize(
    "before, after",
    [
        (("xor x & r o", "x 1 o 0"), ("xor a & c b", "a 1 b 0")),
        (("<-> d 1", "d 1"), ("<-> a 1", "a 1")),
        # Symbols that the answer lacks must not become those that it has.
        (("& ! a b", "b 1"), ("& ! b a", "a 1")),
        (("& ! a b", "{ b }"), ("& ! b a", "{ a }")),
        (("U e & c X b", "c ; & b ! e ; { b ; 1 }"), ("U c & a X b", "a ; & b ! c ; { b ; 1 }")),
        (("U 1 c", "a ; & a ! b ; { c }"), ("U 1 c", "a ; & a ! b ; { c }")),
        (("! X 0", "{ 1 }"), ("! X 0", "{ 1 }")),
        (("q p17 q", "q p17 q"), ("a b a", "a b a")),
    ],
)
def test_renamed_by_hand(write, tmp_path, before, after):
    sit("edit", "renamed", write("in", [before]), tmp_path / "out")
    assert pairs_of(tmp_path / "out") == [after]


def test_renamed_pairs_are_the_same_but_for_names(write, tmp_path):
    rng = Random(1)
    pairs = []
    while len(pairs) < 300:
        formula = random_formula(rng, rng.randint(1, 20), "fghijklm")
        answer = smallest_answer(formula)
        if answer:
            pairs.append((" ".join(formula), answer))
    sit("edit", "renamed", write("in", pairs), tmp_path / "out")
    made = pairs_of(tmp_path / "out")
    assert len(made) == 300
    judge = make_judge("prop")
    for (source, target), (formula, answer) in zip(pairs, made):
        both = list(zip(f"{source} {target}".split(), f"{formula} {answer}".split()))
        forth, back = dict(both), {new: old for old, new in both}
        assert len(set(both)) == len(forth) == len(back)  # no two become one
        assert all(old == new for old, new in both if old not in "fghijklm")
        symbols = data_symbols(answer.split())
        assert symbols == list("abcdefgh"[: len(symbols)])
        rest = [symbol for symbol in data_symbols(formula.split()) if symbol not in symbols]
        assert symbols + rest == list("abcdefgh"[: len(symbols + rest)])
        assert judge.verify(formula, answer) is Verdict.satisfied


def test_more_symbols_than_letters(write, tmp_path):
    line = " ".join(f"s{i}" for i in range(27))
    sit("edit", "renamed", write("in", [(line, line), ("b a", "b a")]), tmp_path / "out")
    line = " ".join(f"p{i}" for i in range(27))
    assert pairs_of(tmp_path / "out") == [(line, line), ("p0 p1", "p0 p1")]


def test_reduced(write, tmp_path):
    pairs = [(f"! p{i}", f"p{i} 0") for i in range(500)]
    prefix = write("in", pairs)
    sit("edit", "reduced", prefix, tmp_path / "out", "--size", 200)
    sit("edit", "reduced", prefix, tmp_path / "again", "--size", 200)
    sit("edit", "reduced", prefix, tmp_path / "other", "--size", 200, "--seed", 1)
    made = pairs_of(tmp_path / "out")
    assert len(made) == 200 and made == sorted(set(made), key=pairs.index)
    assert pairs_of(tmp_path / "again") == made != pairs_of(tmp_path / "other")
    sit("edit", "reduced", prefix, tmp_path / "all", "--size", 500)
    assert pairs_of(tmp_path / "all") == pairs
    with pytest.raises(UserError, match="there are 500 pairs, not 80000; change --size"):
        sit("edit", "reduced", prefix, tmp_path / "more")
    assert not list(tmp_path.glob("more*"))


def test_supplemented(write, tmp_path, capsys):
    pairs = [("U a b", "{ b }"), ("X a", "1 ; { a }"), ("1", "{ 1 }")]
    extra = [
        ("! X 0", "{ 1 }"),
        ("X  a", "1 ; { a }"),  # there already
        ("U c d", "{ d }"),  # too many symbols
        ("X c", "1 ; { c }"),
        ("! X 0", "{ 1 }"),  # there by now
        ("xor 1 X 0", "{ 1 }"),  # an operator is no symbol
    ]
    sit("edit", "supplemented", write("in", pairs), write("extra", extra), tmp_path / "out")
    assert pairs_of(tmp_path / "out") == pairs + [extra[0], extra[3], extra[5]]
    said = capsys.readouterr().out.splitlines()[-1]
    assert said == "pairs by number of symbols: 0: 1 -> 3, 1: 1 -> 2, 2: 1 -> 1"


def test_histograms_before_and_after(write, tmp_path, monkeypatch):
    figures = []
    save = plots.save_png
    monkeypatch.setattr(plots, "save_png", lambda *args: (figures.append(args[0]), save(*args)))
    prefix, extra = write("in", [("U a b", "{ b }"), ("X a", "1 ; { a }")]), [("1", "{ 1 }")]
    figure = ("--figure", tmp_path / "out.png")
    sit("edit", "supplemented", prefix, write("extra", extra), tmp_path / "out", *figure)
    assert (tmp_path / "out.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    (axes,) = figures[0].axes
    heights = [[bar.get_height() for bar in bars] for bars in axes.containers]
    assert heights == [[0, 1, 1], [1, 1, 1]] and axes.get_yscale() == "log"
    assert list(axes.get_xticks()) == [0, 1, 2]
    with pytest.raises(UserError, match="out.png is a file; name a folder"):
        figure = ("--figure", tmp_path / "out.png" / "out.png")
        sit("edit", "supplemented", prefix, tmp_path / "extra", tmp_path / "out", *figure)


def test_random_renaming(write, tmp_path):
    pairs = [("xor a b", "a 1 b 0"), ("| a 1", "a 1")] * 20
    prefix = write("in", pairs)
    options = ["--symbols", "[a-z]", "--names", "p,q,r,s"]
    sit("rename", prefix, tmp_path / "out", *options)
    made = pairs_of(tmp_path / "out")
    assert len(set(made)) > 6
    for source, target in made:
        first, *more = data_symbols(source.split())
        assert (source, target) in [(f"| {first} 1", f"{first} 1")] + [
            (f"xor {first} {second}", f"{first} 1 {second} 0") for second in more
        ]
        assert {first, *more} <= set("pqrs")


def test_random_renaming_stays_within_sorts(write, tmp_path):
    prefix = write("in", [("T1 c1 T2", "c1 T2")] * 20)
    options = ["--names", "T5,T6,c7,c8,c9", "--symbols", r"table=T\d", r"column=c\d"]
    sit("rename", prefix, tmp_path / "out", *options)
    made = pairs_of(tmp_path / "out")
    assert {source[0::3] for source, _ in made} == {"TcT"} and len(set(made)) == 6
    assert all(source[3:] == target and source[:2] != target[3:] for source, target in made)
    with pytest.raises(UserError, match="line 1: 2 symbols of the sort table need as many"):
        sit("rename", prefix, tmp_path / "no", *options, "--names", "T5,c7,c8,c9")


@pytest.mark.parametrize(
    "symbols, names, message",
    [
        (
            "[a-z]",
            "p",
            "line 1: 2 symbols need as many different names, but only 1 can be chosen; .* --names",
        ),
        ("[a-z]", "x,&", "'&' is no symbol; change --names or --symbols"),
        ("[a", "p,q", "is not a regular expression"),
    ],
)
def test_renamings_that_cannot_be(write, tmp_path, symbols, names, message):
    prefix = write("in", [("xor a b", "a 1 b 0")])
    with pytest.raises(UserError, match=message):
        sit("rename", prefix, tmp_path / "out", "--symbols", symbols, "--names", names)
    assert not list(tmp_path.glob("out*"))


# Files of pairs.


def test_pairs_must_be_pairs(tmp_path):
    (tmp_path / "in.src").write_text("a\n")
    (tmp_path / "in.tgt").write_text("a 1\na 1\n")
    with pytest.raises(UserError, match="in.src has 1 lines but .tgt has 2"):
        read_pairs(str(tmp_path / "in"))
    with pytest.raises(UserError, match="nowhere.src"):
        read_pairs(str(tmp_path / "nowhere"))


def test_a_folder_is_made_and_a_file_is_none(tmp_path):
    prefix = str(tmp_path / "new" / "x")
    write_pairs(prefix, [("a b", "c"), ("a b", "d")])
    assert read_pairs(prefix) == [("a b", "c"), ("a b", "d")]
    with pytest.raises(UserError, match="x.src is a file; name a folder"):
        write_pairs(str(tmp_path / "new" / "x.src" / "x"), [])
