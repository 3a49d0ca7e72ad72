"""``--by written``: formulas that people wrote, and models that cannot read some."""

import json
from dataclasses import replace

import pytest
from command_line import ROOT, sit
from conftest import needs_spot

from sit_fairseq.domains import find
from sit_fairseq.evaluation import measuring
from sit_fairseq.evaluation.written import measure_written, symbol_names, written_table
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.model import Model
from sit_fairseq.symbols.pattern import SymbolPattern

SHIPPED = ROOT / "checkpoints/prop/model.pt"
# The second of "wide" has an operator that the other model does not know, and more symbols.
SETS = {
    "networks": ["& p0 ! p1", "| p3 & p0 p1"],
    "wide": ["& & & p0 p1 p2 p3", "-> p0 & & & & & p1 p2 p3 p4 p5 p6"],
}


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(
        measuring, "find", lambda *name: replace(find(*name), held_out=lambda: SETS)
    )


def test_a_model_without_an_operator_is_wrong_where_it_stands(few, models, tmp_path, capsys):
    result = tmp_path / "real.json"
    options = ("--by", "written", "--path", models.stream)
    sit("evaluate", "prop", *options, "--result", result)
    found = json.loads(result.read_text())
    wide = found["result"]["wide"]["verified"]
    assert wide["total"] == 2 and wide["count"] < 2
    journals = [tmp_path / f"real.{part}.answers.jsonl" for part in ("beam", "verified")]
    kept = [json.loads(line) for path in journals for line in path.read_text().splitlines()[1:]]
    assert found["samples"] == 4 and len(kept) > 4, "some are searched for twice"
    assert found["seconds"] == pytest.approx(sum(entry["seconds"] for entry in kept))
    out = capsys.readouterr().out
    assert out.count(" verified ") == 1
    of = found["signature"]
    assert "|beams:3|" in of["correct"] and "|verify:" not in of["correct"]
    assert "|beams:3,10,25,100|verify:prop|" in of["verified"]
    assert out.endswith("".join(f"{column}: {of[column]}\n" for column in of))


def test_what_cannot_be_asked_counts_as_wrong():
    right, wrong = Verdict.satisfied, Verdict.violated
    found = measure_written(SETS, [right, None, wrong, right], [right, None, right, right])
    shares = [(found[s][m].count, found[s][m].total) for s in SETS for m in ("correct", "verified")]
    assert shares == [(1, 2), (1, 2), (1, 2), (2, 2)]
    assert written_table(found, 3)[1][:2] == ["networks", 2]


def test_names_are_symbols_to_model_and_domain(models):
    pattern = SymbolPattern(find("prop").symbols)
    assert symbol_names(Model.load(str(models.stream)), pattern, 3) == ["a", "b", "c"]
    wide = symbol_names(Model.load(str(models.stream), symbols=r"[a-z]|p\d+"), pattern, 40)
    assert wide[24:28] == ["y", "z", "p0", "p1"] and len(set(wide)) == 40
    assert symbol_names(Model.load(str(models.stream)), pattern, 27) is None


@needs_spot
def test_patterns_are_made_and_answered(tmp_path, monkeypatch):
    """Some of all that people wrote."""
    sets = {name: formulas[::24] for name, formulas in find("ltl").held_out().items()}
    monkeypatch.setattr(
        measuring, "find", lambda *name: replace(find(*name), held_out=lambda: sets)
    )
    model, result = ROOT / "checkpoints/ltl/model.pt", tmp_path / "real.json"
    options = ("--by", "written", "--path", model, "--result", result, "--verify-beams", "3")
    sit("evaluate", "ltl", *options)
    found = json.loads(result.read_text())["result"]
    assert {name: shares["correct"]["total"] for name, shares in found.items()} == {
        name: len(formulas) for name, formulas in sets.items()
    }
    assert all(shares["verified"]["share"] > 0.9 for shares in found.values())
