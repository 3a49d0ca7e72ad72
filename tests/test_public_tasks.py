"""examples/scan and cogs: published files become pairs whose symbols may be renamed."""

import lzma
from random import Random

import pytest
from command_line import ROOT
from omegaconf import OmegaConf

from examples.cogs.pairs import main, read_examples
from examples.cogs.recombine import Recombiner, exchanged, parse, phrase, written
from examples.paper.tables import make_runs, make_table, read_yaml, settings
from examples.scan.pairs import read_pairs as read_commands

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
    with pytest.raises(SystemExit, match="no file tasks.txt"):
        read_commands(tmp_path, "tasks.txt")


@pytest.mark.slow
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


# "A dog" and "a dog on a mat" are objects of one verb; subjects have no preposition.
PHRASES = """A dog slept .\tdog 1 AND sleep . agent 2 1\tx
Liam saw a dog .\tsee . agent 1 Liam AND see . theme 1 3 AND dog 3\tx
Liam saw the dog on a mat .\t* dog 3 ; see . agent 1 Liam AND see . theme 1 3 AND dog . nmod . on 3 6 AND mat 6\tx
Liam said that a dog slept .\tsay . agent 1 Liam AND say . ccomp 1 5 AND dog 4 AND sleep . agent 5 4\tx
"""


@pytest.mark.slow
def test_recombined_sentences_of_cogs_come_last(tmp_path):
    for name in ("train", "dev", "test", "gen"):
        compressed(tmp_path / f"{name}.token_removal.tsv.xz", PHRASES)
    main(tmp_path, tmp_path)
    alone, longer = (
        (tmp_path / folder / "train.src").read_text().splitlines()
        for folder in ("sentences", "recombined")
    )
    assert longer[: len(alone)] == alone and len(longer) == len(alone) + 6000


@pytest.fixture()
def parsed(tmp_path):
    compressed(tmp_path / "train.token_removal.tsv.xz", PHRASES)
    return [parse(row.sentence, row.form, {"Liam"}) for row in read_examples(tmp_path, "train")]


def test_an_exchanged_phrase_of_cogs_brings_its_clauses(parsed):
    sentence, form = written(exchanged(parsed[0], 0, 2, phrase(parsed[2], 2, 7)), {"Liam"})
    assert " ".join(sentence) == "The dog on a mat slept ."
    assert " ".join(form) == "* dog 1 ; dog . nmod . on 1 4 AND mat 4 AND sleep . agent 5 1"
    sentence, form = written(exchanged(parsed[3], 3, 5, phrase(parsed[1], 0, 1)), {"Liam"})
    assert " ".join(sentence) == "Liam said that Liam slept ."
    assert " ".join(form) == "say . agent 1 Liam AND say . ccomp 1 4 AND sleep . agent 4 Liam"


def test_phrases_of_one_kind_nest_in_recombined_sentences_of_cogs(parsed):
    recombiner, rng = Recombiner(parsed, {"dog", "mat"}, {"Liam"}), Random(1)
    drawn = {" ".join(written(recombiner.draw(rng), {"Liam"})[0]) for _ in range(500)}
    assert "The dog on the dog on a mat slept ." in drawn
    assert all(len(sentence.split()) <= 40 for sentence in drawn)
    assert not any("Liam on" in sentence or "saw Liam" in sentence for sentence in drawn)


BASELINES = ("Canonical renaming", "Alpha-renaming", "Plain transformer")


@pytest.mark.parametrize(
    "task, seeds, baselines", [("scan", 5, BASELINES), ("cogs", 1, BASELINES[2:])]
)
def test_every_model_of_a_table_has_equal_updates(task, seeds, baselines):
    file = ROOT / f"examples/{task}/results.yaml"
    found = make_table(read_yaml(str(file)), task, file.parent)
    base = OmegaConf.merge({}, *map(read_yaml, found.hydra))
    runs = [settings(run, base).optimization.max_update for run in make_runs(found, file.parent)]
    assert len(found.seeds) == seeds and len(set(runs)) == 1
    assert tuple(found.models)[1:] == baselines
    assert len((ROOT / f"examples/{task}/run.sh").read_text().splitlines()) <= 25
