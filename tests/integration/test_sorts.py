"""Symbols of several sorts, through all commands."""

import json
import random
import re
from types import SimpleNamespace

import pytest
import torch
from command_line import (
    UNVALIDATED,
    generate,
    interactive,
    preprocess,
    printed,
    sit,
    train,
)

from sit_fairseq.datasets.pair_files import write_pairs

SYMBOLS = [r"table=T\d+", r"column=c\d+"]
SHORT = ("--beam", 2, "--max-len-b", 6)


def pair(rng):
    """A table and one or two columns in any order; the answer begins with the table."""
    table, *columns = f"T{rng.randrange(6)}", *(
        f"c{n}" for n in rng.sample(range(6), rng.choice([1, 2]))
    )
    words = [table, *columns]
    rng.shuffle(words)
    return " ".join(words), " ".join([table, ".", *(w for w in words if w != table)])


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> SimpleNamespace:
    """Data of two sorts, and a model that has learnt what to do with them."""
    root, rng = tmp_path_factory.mktemp("tables"), random.Random(1)
    for split, size in (("train", 600), ("test", 40)):
        write_pairs(str(root / split), [pair(rng) for _ in range(size)])
    data = preprocess(root / "bin", "--trainpref", root / "train", "--testpref", root / "test")
    options = ("--encoder-positions", "rope", "--dropout", 0, "--max-update", 90, *UNVALIDATED)
    model = train(data, root / "model", *options, "--symbols", *SYMBOLS, symbols=None)
    return SimpleNamespace(root=root, data=data, model=model)


def test_the_sorts_are_saved_and_loaded(tables, capsys):
    assert torch.load(tables.model, weights_only=True)["cfg"]["task"]["symbols"] == "\n".join(
        SYMBOLS
    )
    generate(tables.data, tables.model, *SHORT)
    found = printed(capsys.readouterr().out)
    assert len(found) == 40
    assert sum(s.answers[0] == s.target for s in found) > 30


def test_a_renaming_across_sorts_changes_an_answer(tables, tmp_path, capsys):
    """The control; names that were never seen, within sorts, change none."""

    def ask(lines):
        interactive(tables.data, tables.model, lines, tmp_path, *SHORT, "--symbols", *SYMBOLS)
        return [(s.answers[0], s.scores[0]) for s in printed(capsys.readouterr().out)]

    first, within, across = ask(["c1 T0", "c77 T99", "T0 c1"])
    assert first[0] == "T0 . c1"
    assert within == ("T99 . c77", first[1])
    assert across[0] == "T0 . c1" != "c1 . T0"  # what the exchange of T0 and c1 would give


def test_covariance_and_grids_count_symbols_of_all_sorts(tables, tmp_path, capsys):
    options = ("--path", tables.model, "--counts", "2,3", "--renamings", 10, "--max-len-b", 6)
    sit("evaluate", "exact", tables.root / "test", *options, "--result", tmp_path / "c")
    assert re.findall(r"\| (\d) +\| \d+ +\| 10 +\| 100.00 %", capsys.readouterr().out) == ["2", "3"]
    grid = ("--from", tables.root / "test", "--symbols", *SYMBOLS, "--per-cell", 10)
    sit("grid", tmp_path / "grid", *grid)
    cells = json.loads((tmp_path / "grid" / "manifest.json").read_text())["cells"]
    assert [(cell["symbols"], cell["length"]) for cell in cells] == [(2, 2), (3, 3)]
    options = ("--by", "symbols", "length", "--path", tables.model, "--max-len-b", 6)
    sit("evaluate", "exact", tmp_path / "grid", *options, "--result", tmp_path / "heat.json")


def test_fresh_symbols_of_a_sort(tables, tmp_path, capsys):
    options = ("--encoder-positions", "rope", "--max-update", 1, *UNVALIDATED)
    sorts = ("--symbols", *SYMBOLS, "--fresh-symbols", "column=2")
    model = train(tables.data, tmp_path, *options, *sorts, symbols=None)
    sampling = ("--sampling", "--beam", 9, "--nbest", 9, *SHORT[2:])
    interactive(tables.data, model, ["T0 c1"] * 3, tmp_path, *sampling)
    answers = [answer for s in printed(capsys.readouterr().out) for answer in s.answers]
    fresh = {*" ".join(answers).split()} - {".", "T0", "c1"}
    assert {name[0] for name in fresh} == {"c"} and len(fresh) == 2
