"""Formulas as people write them, and those that people wrote."""

from random import Random

import pytest
from command_line import sit
from conftest import needs_spot
from generated import forms

from sit_fairseq.domains import find
from sit_fairseq.domains.formulas.shapes import Shapes
from sit_fairseq.domains.formulas.syntax import ARITY, check_formula, formula_symbols
from sit_fairseq.domains.ltl.spot_judge import spot_trace
from sit_fairseq.domains.prop import domain as prop_domain
from sit_fairseq.domains.prop.propositional import OPERATORS, is_contingent
from sit_fairseq.errors import UserError

NAMES = [f"p{number}" for number in range(16)]


def draw(temporal, number=3000, max_length=48):
    formulas = Shapes(Random(1), NAMES, max_length, temporal)
    return [formulas.draw() for _ in range(number)]


@pytest.mark.parametrize("temporal, operators", [(True, tuple(ARITY)), (False, OPERATORS)])
def test_formulas_are_well_formed_and_have_every_operator(temporal, operators):
    drawn = draw(temporal)
    assert max(map(len, draw(temporal, 300, max_length=10))) == 10
    for tokens in drawn:
        check_formula(tokens)
        assert len(tokens) <= 48
    assert {t for tokens in drawn for t in tokens} == {*operators, *NAMES}


@needs_spot
def test_patterns_of_spot(tmp_path):
    sets = find("ltl").held_out()
    assert set(sets) == {"patterns", "negated_patterns", "wide"}
    assert "G -> p0 G ! p1" in sets["patterns"] and len(sets["patterns"]) > 150
    sit("generate", "--held-out", "ltl", tmp_path / "real")
    written = {path.stem: path.read_text().splitlines() for path in (tmp_path / "real").iterdir()}
    assert written == sets
    for formulas in sets.values():
        assert len(forms(formulas)) == len(formulas)
        assert all(spot_trace(formula.split()) for formula in formulas)
    widths = {len(formula_symbols(formula.split())) for formula in sets["wide"]}
    assert widths == set(range(2, 17))


def test_functions_of_networks(tmp_path, monkeypatch):
    package = tmp_path / "pyboolnet"
    network = package / "repository" / "one"
    network.mkdir(parents=True)
    (package / "__init__.py").touch()
    (network / "one.bnet").write_text(
        "# said, of it\ntargets, factors\nA, 1\nB, A & !F | C\nC, X & !Y | Z\nD, A | !A\nE, !A\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    sets = find("prop").held_out()
    assert sets["networks"] == ["| & p0 ! p1 p2", "! p0"]
    assert sets["negated_networks"] == ["! | & p0 ! p1 p2", "p0"]
    assert all(is_contingent(formula.split()) for formula in sets["wide"])


def test_without_pyboolnet(monkeypatch):
    monkeypatch.setattr(prop_domain, "find_spec", lambda name: None)
    with pytest.raises(UserError, match="pip install pyboolnet"):
        find("prop").held_out()
