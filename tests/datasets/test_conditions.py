"""Training conditions made from existing data, and random renamings."""

from random import Random

import pytest
from command_line import sit

from sit_fairseq.errors import UserError
from sit_fairseq.evaluation import plots
from sit_fairseq.judging.prop_judges import BitsJudge
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.logic.ltl import data_symbols
from sit_fairseq.logic.propositional import random_formula, smallest_answer


def make(*arguments):
    """Runs the verb in this process."""
    sit("condition", *arguments)


@pytest.fixture
def write(tmp_path):
    """A function that writes pairs to files and returns the prefix of their names."""

    def write(name, pairs):
        for side, lines in zip(("src", "tgt"), zip(*pairs)):
            (tmp_path / f"{name}.{side}").write_text("".join(line + "\n" for line in lines))
        return tmp_path / name

    return write


def read(prefix):
    """The pairs of PREFIX.src and PREFIX.tgt."""
    return list(
        zip(*(prefix.with_suffix(f".{s}").read_text().splitlines() for s in ("src", "tgt")))
    )


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
    make("renamed", write("in", [before]), tmp_path / "out")
    assert read(tmp_path / "out") == [after]


def test_renamed_pairs_are_the_same_but_for_names(write, tmp_path):
    rng = Random(1)
    pairs = []
    while len(pairs) < 300:
        formula = random_formula(rng, rng.randint(1, 20), "fghijklm")
        answer = smallest_answer(formula)
        if answer:
            pairs.append((" ".join(formula), answer))
    make("renamed", write("in", pairs), tmp_path / "out")
    made = read(tmp_path / "out")
    assert len(made) == 300
    for (source, target), (formula, answer) in zip(pairs, made):
        both = list(zip(f"{source} {target}".split(), f"{formula} {answer}".split()))
        forth, back = dict(both), {new: old for old, new in both}
        assert len(set(both)) == len(forth) == len(back)  # no two become one
        assert all(old == new for old, new in both if old not in "fghijklm")
        symbols = data_symbols(answer.split())
        assert symbols == list("abcdefgh"[: len(symbols)])
        rest = [symbol for symbol in data_symbols(formula.split()) if symbol not in symbols]
        assert symbols + rest == list("abcdefgh"[: len(symbols + rest)])
        assert BitsJudge().verify(formula, answer) is Verdict.satisfied


def test_more_symbols_than_letters(write, tmp_path):
    line = " ".join(f"s{i}" for i in range(27))
    make("renamed", write("in", [(line, line), ("b a", "b a")]), tmp_path / "out")
    line = " ".join(f"p{i}" for i in range(27))
    assert read(tmp_path / "out") == [(line, line), ("p0 p1", "p0 p1")]


def test_reduced(write, tmp_path):
    pairs = [(f"! p{i}", f"p{i} 0") for i in range(500)]
    prefix = write("in", pairs)
    make("reduced", prefix, tmp_path / "out", "--size", 200)
    make("reduced", prefix, tmp_path / "again", "--size", 200)
    make("reduced", prefix, tmp_path / "other", "--size", 200, "--seed", 1)
    made = read(tmp_path / "out")
    assert len(made) == 200 and made == sorted(set(made), key=pairs.index)
    assert read(tmp_path / "again") == made != read(tmp_path / "other")
    make("reduced", prefix, tmp_path / "all", "--size", 500)
    assert read(tmp_path / "all") == pairs
    with pytest.raises(UserError, match="--size 80000: there are 500 pairs"):
        make("reduced", prefix, tmp_path / "more")
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
    make("supplemented", write("in", pairs), write("extra", extra), tmp_path / "out")
    assert read(tmp_path / "out") == pairs + [extra[0], extra[3], extra[5]]
    assert capsys.readouterr().out.splitlines()[:2] == [
        "pairs by number of symbols: 0: 1 -> 3, 1: 1 -> 2, 2: 1 -> 1",
        "symbols that IN does not have: c",
    ]


def test_histograms_before_and_after(write, tmp_path, monkeypatch):
    figures = []
    save = plots.save_png
    monkeypatch.setattr(plots, "save_png", lambda *args: (figures.append(args[0]), save(*args)))
    prefix, extra = write("in", [("U a b", "{ b }"), ("X a", "1 ; { a }")]), [("1", "{ 1 }")]
    figure = ("--figure", tmp_path / "out.png")
    make("supplemented", prefix, write("extra", extra), tmp_path / "out", *figure)
    assert (tmp_path / "out.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    (axes,) = figures[0].axes
    heights = [[bar.get_height() for bar in bars] for bars in axes.containers]
    assert heights == [[0, 1, 1], [1, 1, 1]] and axes.get_yscale() == "log"
    assert list(axes.get_xticks()) == [0, 1, 2]
    with pytest.raises(UserError, match="Cannot write .*change --figure"):
        figure = ("--figure", tmp_path / "no" / "out.png")
        make("supplemented", prefix, tmp_path / "extra", tmp_path / "out", *figure)


@pytest.mark.parametrize("condition", ["renamed", "reduced"])
def test_pairs_must_be_pairs(write, tmp_path, condition):
    prefix = write("in", [("a", "a 1")])
    (tmp_path / "in.tgt").write_text("a 1\na 1\n")
    with pytest.raises(UserError, match="in.src has 1 lines but .tgt has 2"):
        make(condition, prefix, tmp_path / "out")
    with pytest.raises(UserError, match="nowhere.src"):
        make(condition, tmp_path / "nowhere", tmp_path / "out")
    assert not list(tmp_path.glob("out*"))


def test_random_renaming(write, tmp_path):
    pairs = [("xor a b", "a 1 b 0"), ("| a 1", "a 1")] * 20
    prefix = write("in", pairs)
    options = ["--symbols", "[a-z]", "--names", "p,q,r,s"]
    sit("rename", prefix, tmp_path / "out", *options)
    made = read(tmp_path / "out")
    assert len(set(made)) > 6
    for source, target in made:
        first, *more = data_symbols(source.split())
        assert (source, target) in [(f"| {first} 1", f"{first} 1")] + [
            (f"xor {first} {second}", f"{first} 1 {second} 0") for second in more
        ]
        assert {first, *more} <= set("pqrs")
    with pytest.raises(UserError, match="line 1 has 2 symbols, but --names gives 1"):
        sit("rename", prefix, tmp_path / "few", *options[:2], "--names", "p")
    with pytest.raises(UserError, match="'&' is no symbol"):
        sit("rename", prefix, tmp_path / "few", *options[:2], "--names", "x,&")
    with pytest.raises(UserError, match="--names a,b,a: names must be distinct"):
        sit("rename", prefix, tmp_path / "few", *options[:2], "--names", "a,b,a")
    with pytest.raises(UserError, match="is not a regular expression"):
        sit("rename", prefix, tmp_path / "few", "--symbols", "[a", *options[2:])
    assert not list(tmp_path.glob("few*"))
