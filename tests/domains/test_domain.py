"""A domain of a user's own is one file: every verb finds it, and no other line names it."""

import json
import re
from argparse import ArgumentParser
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pytest
from command_line import ROOT, sit
from conftest import _Config, make_dictionary, make_task, small
from generated import read

from sit_fairseq.datasets.generation import _chunk, _made, _told, generate, samples
from sit_fairseq.datasets.labelling import Label
from sit_fairseq.datasets.options import add_options, option
from sit_fairseq.datasets.recipes import Recipe, TimedRecipe
from sit_fairseq.domains import Domain, find, names
from sit_fairseq.domains.by_name import domain_of, make_judge
from sit_fairseq.errors import UserError
from sit_fairseq.export.for_transformers.folder import export
from sit_fairseq.judging.judge import Judge
from sit_fairseq.model import Model
from sit_fairseq.models.fairseq_adapter import SymbolInvariantTransformerModel
from sit_fairseq.search.grammar import Grammar

NAME = "sudoku:DOMAIN"


MISTAKEN = """from dataclasses import replace
from sudoku import *

class Strict(SudokuJudge):
    def verify(self, problem, answer):
        return Verdict.violated

class Failing(SudokuJudge):
    def verify(self, problem, answer):
        return {}[answer]

class Longer(SixteenDigits):
    def shortest(self, state):
        return 17 - state

class Bool(SudokuJudge):
    def verify(self, problem, answer):
        return True

def read(text):
    return {}[text]

JUDGE, CODE, BOOL = (replace(DOMAIN, judges={"r": judge}) for judge in (Strict, Failing, Bool))
READ = replace(DOMAIN, read=read)
GRAMMAR = replace(DOMAIN, grammar=Longer)
"""


@pytest.fixture(autouse=True)
def beside_the_domain(monkeypatch):
    monkeypatch.chdir(ROOT / "examples")


def test_the_domain_is_short_and_found():
    assert len(Path("sudoku.py").read_text().splitlines()) <= 80
    domain = find(NAME)
    assert domain.versioned == "sudoku@1"
    assert domain.judge().signature().startswith("sudoku|judge:rules|code:")
    assert domain_of(make_judge(NAME)) is domain


def test_its_data_are_generated_and_judged(tmp_path, capsys):
    sit("generate", NAME, tmp_path / "x", "--size", 30, "--clues", 9)
    sources, targets = read(tmp_path / "x")
    assert len(sources) == 30 and {source.split().count(".") for source in sources} == {7}
    assert "several solutions" in capsys.readouterr().out
    sit("judge", NAME, tmp_path / "x.src", tmp_path / "x.tgt", "--workers", 0)
    assert "30/30 correct" in capsys.readouterr().out
    sit("judge", NAME, tmp_path / "x.src", tmp_path / "x.src", "--judge", "rules", "--workers", 0)
    assert "0/30 correct; satisfied 0, violated 30" in capsys.readouterr().out


def test_it_is_shown_and_checked(tmp_path, capsys, monkeypatch):
    sit("generate", NAME, "--show", 2, "--clues", 12, "--workers", 1)
    problem, answer, *more = capsys.readouterr().out.splitlines()
    assert problem.startswith("problem: ") and answer.startswith("answer: ") and len(more) == 2
    assert problem.split().count(".") == 4 and len(answer.split()) == 17
    sit("generate", NAME, "--check", "--workers", 1)
    assert capsys.readouterr().out.startswith("sudoku@1: 20 problems")
    (tmp_path / "mistaken.py").write_text(MISTAKEN)
    monkeypatch.syspath_prepend(tmp_path)
    for name, fault in (("BOOL", "Verdict"), ("CODE", "line 10")):
        with pytest.raises(UserError, match=fault):
            files = 2 * ["sudoku.py"]
            sit("judge", f"mistaken:{name}", *files, "--workers", 0)
    with pytest.raises(UserError, match="KeyError"):
        sit("answer", "mistaken:READ", ". 0", "--path", ROOT / "checkpoints/prop")
    for name, fault in (("JUDGE", "violated"), ("GRAMMAR", "its end"), ("CODE", "KeyError")):
        with pytest.raises(UserError, match=fault):
            sit("generate", f"mistaken:{name}", "--check", "--workers", 1)
    for words in ((), ("x", "--check")):
        with pytest.raises(UserError, match="OUT_PREFIX"):
            sit("generate", NAME, *words)


def test_it_has_a_grid(tmp_path):
    sit("grid", NAME, tmp_path / "grid", "--workers", 1)
    manifest = json.loads((tmp_path / "grid/manifest.json").read_text())
    (cell,) = manifest["cells"]
    assert (cell["symbols"], cell["length"], cell["count"]) == (4, 16, 5)
    assert manifest["options"]["domain"] == "sudoku@1"


@pytest.mark.parametrize("name", names())
def test_domains_of_the_package_are_whole(name):
    domain = find(name)
    assert isinstance(domain, Domain) and domain.name == name
    assert find(domain.alias or name) is domain
    assert make_judge(name).semantics == (domain.alias or name)
    drawn = [domain.recipe, domain.labels, domain.cells]
    assert any(drawn) == all(drawn) == (name not in ("planning", "placeholders"))


@pytest.mark.parametrize(
    "name, message",
    [
        ("nonsense", "no domain 'nonsense'"),
        ("sudoku:SudokuJudge", "sit_fairseq.domains.Domain"),
        ("sudoku:NOTHING", "cannot be used"),
        ("nowhere:DOMAIN", "cannot be used"),
    ],
)
def test_what_is_no_domain(name, message):
    with pytest.raises(UserError, match=message):
        find(name)


class Abstract(Judge):
    pass


class Needy(Judge):
    def __init__(self, needed):
        self.verify = needed

    verify = None


@pytest.mark.parametrize(
    "part, message",
    [
        ({"name": ""}, "needs a name"),
        ({"symbols": "[a"}, "wrong pattern of symbols"),
        ({"judges": {"rules": Abstract}}, "Abstract, which lacks verify"),
        ({"judges": {"rules": find("prop").judge()}}, "no class of Judge"),
        ({"labels": {}}, "needs labels"),
        ({"recipe": find("prop").recipe()}, "no class with draw"),
        ({"recipe": None}, "cells but no recipe"),
        ({"grammar": Grammar}, "Grammar, which lacks next"),
        ({"judges": {"rules": Needy}}, "Needy, which cannot be made"),
        ({"read": "x"}, "no function"),
        ({"solve": Abstract}, "no class of Solver"),
        ({"arity": {"!": "1"}}, "no number of operands"),
    ],
)
def test_a_domain_that_lacks_something_is_refused_at_once(part, message):
    with pytest.raises(UserError, match=message):
        replace(find(NAME), **part)


class Drawn(Recipe):
    def draw(self, rng):
        return self.drawn()


@pytest.mark.parametrize(
    "drawn, label, message",
    [
        (lambda: "a b", Label, "draws 'a b', which is no list of tokens"),
        (lambda: ["a"], str, "labels a problem 'a', which is no Label"),
        (lambda: ["a"], lambda text: None, "labels a problem 'None', which is no Label"),
        (lambda: ["a"], lambda text: Label("a\n"), r"labels a problem by 'a\\n', which is no line"),
        (lambda: ["a"], lambda text: Label(["a"]), "labels a problem by .*, which is no line"),
        (lambda: ["a", ""], Label, "draws .*, where a token is empty or has a space"),
        (lambda: 1 / 0, Label, r"fails in line \d+ of test_domain.py \(ZeroDivisionError"),
    ],
)
def test_what_a_domains_code_does_wrong_is_told(monkeypatch, drawn, label, message):
    monkeypatch.setattr(Drawn, "drawn", staticmethod(drawn), raising=False)
    found = _told(partial(_chunk, Drawn(), label), 0)
    with pytest.raises(UserError, match=f"the domain rocks {message}.*; mend it$"):
        list(_made([found], "rocks"))


def test_a_field_of_a_recipe_that_is_no_option_is_refused():
    @dataclass
    class Plain(Drawn):
        number: int = 3

    with pytest.raises(UserError, match="the field number of Plain is no option; write number:"):
        add_options(ArgumentParser(), Plain)


def test_a_field_of_a_recipe_is_not_called_as_an_argument_of_the_command():
    @dataclass
    class Checked(Drawn):
        check: int = option(1, "how often", type=int)

    parser = ArgumentParser()
    parser.add_argument("--check", action="store_true")
    with pytest.raises(UserError, match="the field check of Checked has the name of an argument"):
        add_options(parser, Checked)


def test_where_nothing_can_be_drawn_the_search_for_it_ends(monkeypatch):
    monkeypatch.setattr(Drawn, "drawn", staticmethod(list), raising=False)
    own = replace(find(NAME), recipe=Drawn)
    with pytest.raises(UserError, match="Found only 0 samples"):
        samples(own, Drawn(size=1, workers=0))


class Timed(TimedRecipe):
    drawn = ["a"]

    def draws(self, rng, wanted):
        return iter([self.drawn] * 9)


@pytest.mark.parametrize(
    "drawn, message",
    [("a b", "draws 'a b', which is no list"), ([5], r"draws '\[5\]', which is no list")],
)
def test_what_a_timed_recipe_does_wrong_is_told(monkeypatch, drawn, message):
    monkeypatch.setattr(Timed, "drawn", drawn)
    own = replace(find(NAME), recipe=Timed)
    with pytest.raises(UserError, match=f"the domain .* {message}.*; mend it$"):
        samples(own, Timed(size=1, workers=0))


def forgotten(text):
    """A label without ``return``."""


def test_labels_that_take_long_are_looked_at_too(tmp_path):
    own = replace(find(NAME), recipe=Timed, labels={"x": forgotten})
    with pytest.raises(UserError, match="the domain sudoku labels a problem 'None'"):
        generate(own, Timed(size=1, workers=1), str(tmp_path / "x"))


def test_labels_that_other_processes_cannot_find_are_told(tmp_path):
    own = replace(find(NAME), labels={"x": lambda text: Label("a")})
    with pytest.raises(UserError, match="labels of sudoku must be functions of a module"):
        generate(own, own.recipe(size=1), str(tmp_path / "x"))


TREES = replace(find("prop"), name="trees", arity={"pair": 2, "not": 1}, grammar=None)


def test_numbers_of_operands_come_with_the_weights(tmp_path):
    """So that no file's name is imported to read its sentences."""
    task = make_task(make_dictionary("ab", ["pair", "not"], "[a-z]"), domain=f"{__name__}:TREES")
    cfg = _Config(**small(encoder_positions="tree", encoder_layers=1))
    own = SymbolInvariantTransformerModel.build_model(cfg, task)
    model = Model([own], "elsewhere:DOMAIN")
    sources = ["pair not a b", "not pair a a", "pair a", "& a b"]
    first = model.answer(sources)
    assert [one.text is None for one in first] == [False, False, True, True]
    model.save(str(tmp_path / "m.pt"))
    assert Model.load(str(tmp_path / "m.pt")).answer(sources) == first
    export(model, tmp_path / "hf")
    config = json.loads((tmp_path / "hf/config.json").read_text())
    assert config["operands"] == "pair 2\nnot 1"


def test_held_out_sets_have_no_options(tmp_path):
    with pytest.raises(UserError, match="not drawn; change --size or --held-out"):
        sit("generate", "ltl", tmp_path / "x", "--held-out", "--size", 3)
    with pytest.raises(UserError, match="copying has no sets that people wrote"):
        sit("generate", "copying", tmp_path / "x", "--held-out")
