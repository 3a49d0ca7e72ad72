"""Symbols of several sorts, through all commands."""

import json
import random
import re
from types import SimpleNamespace

import pytest
import torch
import yaml
from command_line import (
    UNVALIDATED,
    generate,
    hydra_train,
    interactive,
    preprocess,
    printed,
    sit,
    train,
)

from sit_fairseq.datasets.pair_files import write_pairs
from sit_fairseq.symbols.renaming import Renaming

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


def test_hydra_takes_a_line_for_each_sort(tables, tmp_path):
    options = {
        "task": {
            "_name": "stream_translation",
            "data": str(tables.data),
            "source_lang": "src",
            "target_lang": "tgt",
            "symbols": "\n".join(SYMBOLS) + "\n",
        },
        "model": {"_name": "symbol_invariant_transformer", "encoder_layers": 1},
        "criterion": {"_name": "adacos"},
        "optimizer": {"_name": "adam"},
        "lr_scheduler": {"_name": "fixed"},
        "optimization": {"max_update": 1, "lr": [0.001]},
        "dataset": {"batch_size": 8, "num_workers": 0, "disable_validation": True},
        "common": {"cpu": True},
        "checkpoint": {"save_dir": str(tmp_path / "model")},
    }
    options["model"]["encoder_positions"] = "rope"
    (tmp_path / "sorts.yaml").write_text(yaml.safe_dump(options))
    hydra_train("--config-dir", tmp_path, "--config-name", "sorts")
    saved = torch.load(tmp_path / "model" / "checkpoint_last.pt", weights_only=True)
    assert saved["cfg"]["task"]["symbols"].strip() == "\n".join(SYMBOLS)
    width = saved["cfg"]["model"]["encoder_embed_dim"]
    assert saved["model"]["encoder.embed_tokens.weight"].shape == (4 + 1 + 2 * 2, width)


def test_renamed_sentences_have_renamed_answers_with_equal_scores(tables, tmp_path, capsys):
    """Fuzzed, by the verb and the commands; also names that were never seen."""
    sources = [source for source, _ in map(pair, map(random.Random, range(40)))]
    write_pairs(str(tmp_path / "in"), zip(sources, sources))
    names = ",".join([f"T{n}" for n in range(4, 90)] + [f"c{n}" for n in range(3, 90)])
    sit("rename", tmp_path / "in", tmp_path / "out", "--symbols", *SYMBOLS, "--names", names)
    found = []
    for name in ("in", "out"):
        lines = (tmp_path / f"{name}.src").read_text().splitlines()
        interactive(tables.data, tables.model, lines, tmp_path, "--beam", 3, "--max-len-b", 6)
        found.append(printed(capsys.readouterr().out))
    assert len(found[0]) == len(found[1]) == 40
    for one, other in zip(*found):
        renaming = Renaming(dict(zip(one.source.split(), other.source.split())))
        assert other.answers[0] == renaming(one.answers[0]) and one.scores == other.scores


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
