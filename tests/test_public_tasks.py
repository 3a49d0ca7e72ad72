"""examples/scan, cogs and lang2ltl: published files become pairs whose symbols may be renamed."""

import lzma
import re

import pytest
from command_line import ROOT

from examples.cogs.pairs import (
    Example,
    find_names,
    find_nouns,
    first_of_each,
    join,
    main,
    read_examples,
)
from examples.lang2ltl.pairs import EquivalenceJudge, formula_of, read_pairs, requirements
from examples.paper.tables import read_yaml
from examples.scan.pairs import read_pairs as read_commands
from sit_fairseq.judging.judge import Problem
from sit_fairseq.judging.verdict import Verdict

COGS = """A rose was helped by Liam .\trose 1 AND help . theme 3 1 AND help . agent 3 Liam\tin_distribution
Liam was helped by a rose .\thelp . theme 2 Liam AND help . agent 2 5 AND rose 5\tin_distribution
The TV in a box slept .\t* tv 1 ; tv . nmod . in 1 4 AND box 4 AND sleep . agent 5 1\tin_distribution
shark\tLAMBDA a . shark a\tprimitive
call\tLAMBDA a . LAMBDA b . LAMBDA e . call . agent e b AND call . theme e a\tprimitive
"""


def compressed(path, text):
    """Writes a file as xz does."""
    path.write_bytes(lzma.compress(text.encode()))


@pytest.mark.parametrize("suffix", ["", ".xz"])
def test_an_action_of_scan_has_one_name_in_command_and_answer(tmp_path, suffix):
    line = "IN: jump opposite left and run OUT: I_TURN_LEFT I_TURN_LEFT I_JUMP I_RUN\n"
    path = tmp_path / "simple_split" / f"tasks_train_simple.txt{suffix}"
    path.parent.mkdir()
    compressed(path, line) if suffix else path.write_text(line)
    assert read_commands(tmp_path, "tasks_train_simple.txt") == [
        ("jump opposite left and run", "left left jump run")
    ]


def test_logical_forms_of_cogs_tell_nouns_and_names(tmp_path):
    compressed(tmp_path / "train.token_removal.tsv.xz", COGS)
    examples = read_examples(tmp_path, "train")
    assert find_nouns(examples) == {"rose", "tv", "box", "shark"}
    assert find_names(examples) == {"Liam"}


def test_symbols_of_cogs_carry_their_sort_and_words_their_place(tmp_path):
    for name in ("train", "dev", "test", "gen"):
        compressed(tmp_path / f"{name}.token_removal.tsv.xz", COGS)
    main(tmp_path, tmp_path / "out")
    out = tmp_path / "out" / "sentences"
    sources = (out / "gen.src").read_text().splitlines()
    assert sources == [
        "A rose/N 1 was helped 3 by Liam/P .",
        "Liam/P was helped 2 by a rose/N 5 .",
        "The tv/N 1 in a box/N 4 slept 5 .",
        "shark/N 0",
        "call 0",
    ]
    # `slept` is of one sentence alone; `helped` and `rose` are of two.
    training = (out / "train.src").read_text().splitlines()
    assert training == sources + 9 * sources[2:]
    assert (out / "gen.categories").read_text().split()[-1] == "primitive"


def test_training_with_texts_of_cogs_has_all_sentences_first(tmp_path):
    for name in ("train", "dev", "test", "gen"):
        compressed(tmp_path / f"{name}.token_removal.tsv.xz", COGS)
    main(tmp_path, tmp_path)
    alone, longer = (
        (tmp_path / folder / "train.src").read_text().splitlines()
        for folder in ("sentences", "texts")
    )
    texts = longer[len(alone) :]
    assert longer[: len(alone)] == alone and len(texts) == 6000
    assert {text.count(".") for text in texts} == {2, 3}


def test_a_text_of_cogs_means_the_conjunction_of_its_sentences(tmp_path):
    compressed(tmp_path / "train.token_removal.tsv.xz", COGS)
    text = join(read_examples(tmp_path, "train")[1:3])
    assert " ".join(text.sentence) == "Liam was helped by a rose . The TV in a box slept ."
    assert " ".join(text.form) == (
        "* tv 8 ; help . theme 2 Liam AND help . agent 2 5 AND rose 5"
        " AND tv . nmod . in 8 11 AND box 11 AND sleep . agent 12 8"
    )


def test_the_first_of_each_category_of_cogs_are_measured():
    rows = [Example([word], [], kind) for word, kind in ("ax", "bx", "cy", "dx", "ey")]
    assert ["".join(row.sentence) for row in first_of_each(rows, 2)] == ["a", "b", "c", "e"]


@pytest.mark.parametrize(
    "formula, utterance, expected",
    [
        ("& G F a & G F b G F c", "visit c b a", "G F c , G F b , G F a"),
        ("& G ! a G ! b", "not b nor a", "G ! b , G ! a"),
        ("F & a F b", "visit b and a", "F & a F b"),
        ("& U ! b a F b", "b after a", "U ! b a , F b"),
        ("& & U ! b a F b | a b", "b after a", "U ! b a , F b , | a b"),
        ("& G F a F b", "b and a", "G F a , F b"),
        ("F a", "a", "F a"),
    ],
)
def test_only_conjuncts_that_are_alike_are_put_in_order(formula, utterance, expected):
    assert requirements(formula.split(), utterance) == expected
    judge = EquivalenceJudge()
    assert judge.verify(Problem(utterance, formula), expected) is Verdict.satisfied
    assert judge.verify(Problem(utterance, formula), expected + " , F h") is Verdict.violated


@pytest.mark.parametrize(
    "answer, verdict",
    [
        ("! F ! a", Verdict.satisfied),
        ("F a", Verdict.violated),
        ("G", Verdict.invalid),
        ("G a ,", Verdict.invalid),
        ("", Verdict.invalid),
    ],
)
def test_requests_are_judged_by_equivalence(answer, verdict):
    assert EquivalenceJudge().verify(Problem("always a", "G a"), answer) is verdict


def test_requests_that_lack_a_landmark_are_left_out(tmp_path):
    text = "pattern_type,props,utterance,ltl_formula\nx,['a'],Keep going!,G F a\n"
    text += "x,\"['a', 'b']\",\"B, right after a\",G i a X b\n"
    compressed(tmp_path / "symbolic_batch12_noperm.csv.xz", text)
    assert read_pairs(tmp_path) == [("b right after a", "G -> a X b")]


def test_formulas_are_the_same_whatever_landmarks_are_called():
    assert formula_of(("", "F & a F b")) == formula_of(("", "F & h F c"))
    assert formula_of(("", "F & a F b")) != formula_of(("", "F a , F b"))


def test_a_file_that_is_missing_is_named(tmp_path):
    with pytest.raises(SystemExit, match="has no file symbolic_batch12_noperm.csv, nor"):
        read_pairs(tmp_path)


BASELINES = ("Canonical renaming", "Alpha-renaming", "Plain transformer")


@pytest.mark.parametrize(
    "task, seeds, baselines",
    [("scan", 5, BASELINES), ("cogs", 1, BASELINES[2:]), ("lang2ltl", 3, BASELINES)],
)
def test_every_model_of_a_table_has_equal_updates(task, seeds, baselines):
    found = read_yaml(str(ROOT / f"examples/{task}/results.yaml"))
    assert len(found["seeds"]) == seeds and re.search(r"max_update=\d+", found["overrides"])
    assert not any("max_update" in overrides for overrides in found["models"].values())
    assert tuple(found["models"])[1:] == baselines
    assert len((ROOT / f"examples/{task}/run.sh").read_text().splitlines()) <= 25
