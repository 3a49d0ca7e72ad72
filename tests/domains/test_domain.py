"""A domain of a user's own is one file: every verb finds it, and no other line names it."""

import json
from pathlib import Path

import pytest
import torch
from command_line import sit
from conftest import encode, make_dictionary, make_model, make_task
from fairseq.dataclass.configs import GenerationConfig
from generated import read

from sit_fairseq.domains import Domain, find, names
from sit_fairseq.domains.by_name import domain_of, make_judge
from sit_fairseq.errors import UserError
from sit_fairseq.judging.verdict import Verdict

NAME = "sudoku:DOMAIN"


@pytest.fixture(autouse=True)
def beside_the_domain(monkeypatch):
    monkeypatch.chdir(Path(__file__).parent)


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


def test_it_has_a_grid(tmp_path):
    sit("grid", NAME, tmp_path / "grid", "--workers", 1)
    manifest = json.loads((tmp_path / "grid/manifest.json").read_text())
    (cell,) = manifest["cells"]
    assert (cell["symbols"], cell["length"], cell["count"]) == (4, 16, 5)
    assert manifest["options"]["domain"] == "sudoku@1"


def test_its_answers_are_verified(tmp_path):
    """A model of random weights under the grammar, for a puzzle with one place left."""
    sit("generate", NAME, tmp_path / "x", "--size", 4, "--clues", 15, "--workers", 1)
    sources, targets = read(tmp_path / "x")
    dictionary = make_dictionary("abcd", [".", "0", "1"], "[a-d]")
    torch.manual_seed(1)
    model = make_model(dictionary, encoder_positions="rope", decoder_positions="rope").eval()
    task = make_task(dictionary, verify=NAME)
    generator = task.build_generator([model], GenerationConfig(beam=2, max_len_b=20))
    tokens = encode(dictionary, sources)
    lengths = tokens.ne(dictionary.pad()).sum(1)
    sample = {"id": torch.arange(4), "net_input": {"src_tokens": tokens, "src_lengths": lengths}}
    judge, seen = make_judge(NAME), set()
    for source, (best, *_) in zip(sources, task.inference_step(generator, [model], sample)):
        answer = dictionary.text(best["tokens"])
        assert len(answer.split()) == 16  # as the grammar of the domain has it
        assert best["verdict"] is judge.verify(source, answer)
        seen.add(best["verdict"])
    assert seen <= {Verdict.satisfied, Verdict.violated}


@pytest.mark.parametrize("name", names())
def test_domains_of_the_package_are_whole(name):
    domain = find(name)
    assert isinstance(domain, Domain) and domain.name == name
    assert find(domain.alias or name) is domain
    assert make_judge(name).semantics == (domain.alias or name)
    assert domain.recipe is not None and domain.labels
    assert (domain.cells is None) == (name == "planning")  # whose problems have no length


@pytest.mark.parametrize(
    "name, message",
    [
        ("nonsense", "there is no domain 'nonsense'; known are copying, ltl, planning, prop"),
        ("sudoku:SudokuJudge", "is no object and no subclass of sit_fairseq.domains.Domain"),
        ("sudoku:NOTHING", "sudoku:NOTHING cannot be used"),
        ("nowhere:DOMAIN", "nowhere:DOMAIN cannot be used"),
    ],
)
def test_what_is_no_domain(name, message):
    with pytest.raises(UserError, match=message):
        find(name)


def test_held_out_sets_have_no_options(tmp_path):
    with pytest.raises(UserError, match="not drawn; change --size or --held-out"):
        sit("generate", "ltl", tmp_path / "x", "--held-out", "--size", 3)
    with pytest.raises(UserError, match="copying has no sets that people wrote"):
        sit("generate", "copying", tmp_path / "x", "--held-out")
