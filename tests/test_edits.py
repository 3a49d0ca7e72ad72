"""examples/paper/edits.py: the training data of the paper's tables."""

import sys
from random import Random

import pytest

from examples.paper import edits
from examples.paper.edits import data_symbols
from sit_fairseq.datasets.pair_files import read_pairs, write_pairs
from sit_fairseq.domains.by_name import make_judge
from sit_fairseq.domains.prop.propositional import random_formula, smallest_answer
from sit_fairseq.errors import UserError
from sit_fairseq.judging.verdict import Verdict


@pytest.fixture
def edit(monkeypatch):
    """Runs the script in this process."""

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["edits.py", *map(str, words)])
        edits.main()

    return run


@pytest.fixture
def write(tmp_path):
    """A function that writes pairs to files and returns the prefix of their names."""

    def write(name, pairs):
        write_pairs(str(tmp_path / name), pairs)
        return tmp_path / name

    return write


def pairs_of(prefix):
    return read_pairs(str(prefix))


def random_pairs():
    """300 formulas with assignments."""
    rng, pairs = Random(1), []
    while len(pairs) < 300:
        formula = random_formula(rng, rng.randint(1, 20), "fghijklm")
        answer = smallest_answer(formula)
        if answer:
            pairs.append((" ".join(formula), answer))
    return pairs


@pytest.mark.parametrize(
    "before, after",
    [
        (("xor x & r o", "x 1 o 0"), ("xor a & c b", "a 1 b 0")),
        # Symbols that the answer lacks must not become those that it has.
        (("& ! a b", "b 1"), ("& ! b a", "a 1")),
        (("U e & c X b", "c ; & b ! e ; { b ; 1 }"), ("U c & a X b", "a ; & b ! c ; { b ; 1 }")),
        (("U 1 c", "a ; & a ! b ; { c }"), ("U 1 c", "a ; & a ! b ; { c }")),
        (("q p17 q", "q p17 q"), ("a b a", "a b a")),
    ],
)
def test_renamed_by_hand(edit, write, tmp_path, before, after):
    edit("renamed", write("in", [before]), tmp_path / "out")
    assert pairs_of(tmp_path / "out") == [after]


def test_renamed_pairs_are_the_same_but_for_names(edit, write, tmp_path):
    pairs = random_pairs()
    edit("renamed", write("in", pairs), tmp_path / "out")
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


@pytest.mark.parametrize(
    "pair",
    [
        ("the cat of & Ann", "die Katze von Ann"),
        ("& a", "a 1"),
        ("cat", "k ae t"),
    ],
)
def test_data_that_are_no_formulas_are_not_renamed(edit, write, tmp_path, pair):
    prefix = write("in", [("& a b", "a 1 b 1"), pair])
    with pytest.raises(UserError, match="line 2 is no formula .* sit rename"):
        edit("renamed", prefix, tmp_path / "out")
    assert not list(tmp_path.glob("out*"))


def test_reduced(edit, write, tmp_path):
    pairs = [(f"! p{i}", f"p{i} 0") for i in range(500)]
    prefix = write("in", pairs)
    edit("reduced", prefix, tmp_path / "out", "--size", 200)
    edit("reduced", prefix, tmp_path / "again", "--size", 200)
    edit("reduced", prefix, tmp_path / "other", "--size", 200, "--seed", 1)
    made = pairs_of(tmp_path / "out")
    assert len(made) == 200 and made == sorted(set(made), key=pairs.index)
    assert pairs_of(tmp_path / "again") == made != pairs_of(tmp_path / "other")
    edit("reduced", prefix, tmp_path / "all", "--size", 500)
    assert pairs_of(tmp_path / "all") == pairs
    with pytest.raises(UserError, match="there are 500 pairs, not 80000; change size"):
        edit("reduced", prefix, tmp_path / "more")
    assert not list(tmp_path.glob("more*"))


def test_supplemented(edit, write, tmp_path, capsys):
    pairs = [("U a b", "{ b }"), ("X a", "1 ; { a }"), ("1", "{ 1 }")]
    extra = [
        ("! X 0", "{ 1 }"),
        ("X  a", "1 ; { a }"),  # there already
        ("U c d", "{ d }"),  # too many symbols
        ("X c", "1 ; { c }"),
        ("! X 0", "{ 1 }"),  # there by now
        ("xor 1 X 0", "{ 1 }"),  # an operator is no symbol
    ]
    edit("supplemented", write("in", pairs), write("extra", extra), tmp_path / "out")
    assert pairs_of(tmp_path / "out") == pairs + [extra[0], extra[3], extra[5]]
    said = capsys.readouterr().out.splitlines()[-1]
    assert said == "pairs by number of symbols: 0: 1 -> 3, 1: 1 -> 2, 2: 1 -> 1"


def test_exchanged_formulas_keep_their_answers_and_are_held_out(edit, write, tmp_path, capsys):
    pairs = random_pairs() + [("& p ! q", "p 1 q 0")] * 20
    known = write("known", [("& ! x y", "x 0 y 1")])
    edit("exchanged", write("in", pairs), tmp_path / "out", "--exclude", known)
    again = int(capsys.readouterr().out.split()[0])
    assert 0 < again <= 20
    made = pairs_of(tmp_path / "out")
    assert made[300:] == pairs[300:]  # the other order is known
    changed = [new for old, new in zip(pairs, made) if old != new]
    assert len(changed) > 100
    judge = make_judge("prop")
    assert all(judge.verify(*pair) is Verdict.satisfied for pair in changed)
