"""``sit train``: from problems to a model that ``sit answer`` takes."""

import json

import pytest
from command_line import sit
from domains.planning.test_teaching import LAMPS, problem

from sit_fairseq.commands import train
from sit_fairseq.domains.planning.teaching import PlanTeacher
from sit_fairseq.errors import UserError
from sit_fairseq.storage.files import try_lock


def test_a_model_is_trained_and_answers(tmp_path, capfd, monkeypatch):
    monkeypatch.setattr(train, "_UPDATES", 0.01)
    monkeypatch.setattr(train, "_TRIED", (4, 8))
    monkeypatch.setenv("LOGLEVEL", "WARNING")  # of fairseq, too, which tells of no update then
    smaller = {"64": "32", "256": "32", "48": "8"}
    options = [smaller.get(word, word) for word in PlanTeacher(layers=1, seed=3).training]
    monkeypatch.setattr(PlanTeacher, "training", options)
    (tmp_path / "in").mkdir()
    (tmp_path / "d.pddl").write_text(LAMPS)
    for number, (fits, goal) in enumerate((("xa xb yc", "abc"), ("xa yb", "ab"), ("xb yc", "bc"))):
        (tmp_path / f"in/p{number}.pddl").write_text(problem(fits, goal))
    words = [
        "train",
        "planning",
        tmp_path / "d.pddl",
        tmp_path / "in",
        "--out",
        tmp_path / "in/out",
    ]
    sit(*words, "--minutes", 0.5)
    updates = json.loads((tmp_path / "in/out/training.json").read_text())["updates"]
    assert updates >= 50 and (tmp_path / "in/out/model.pt").is_file()
    assert "'seed': 3," in (tmp_path / "in/out/train.log").read_text()  # as fairseq-train has it
    sit(*words, "--minutes", 0.5)  # nothing is left to do
    with pytest.raises(UserError, match="other options"):
        sit(*words, "--minutes", 7)
    plain = (tmp_path / "d.pddl").read_text()
    (tmp_path / "d.pddl").write_text(f"{plain} ; changed")
    with pytest.raises(UserError, match="or files"):
        sit(*words, "--minutes", 0.5)
    with open(tmp_path / "in/out/train.log") as log:
        assert try_lock(log, log.name)
        with pytest.raises(UserError, match="another process trains in .*; change --out"):
            sit(*words, "--minutes", 0.5)
    (tmp_path / "d.pddl").write_text(plain)
    capfd.readouterr()
    asked = tmp_path / "d.pddl", tmp_path / "in/p1.pddl"
    sit("answer", "planning", *asked, "--path", tmp_path / "in/out")
    assert "p1.pddl: verified: action costs are ignored\n(2take " in capfd.readouterr().out


def test_a_domain_that_draws_its_data_is_not_trained_here(tmp_path):
    with pytest.raises(UserError, match="trained by fairseq-train"):
        sit("train", "prop", "x", "--out", tmp_path / "out")


def test_the_domain_has_the_options_so_it_stands_first(tmp_path):
    with pytest.raises(UserError, match="name the domain first"):
        sit("train", "--out", tmp_path / "out", "planning", "d.pddl", "in")


def test_what_cannot_be_read_blocks_no_folder(tmp_path):
    for file in ("no.pddl", "none.pddl"):
        with pytest.raises(UserError, match=file):
            sit("train", "planning", tmp_path / file, "in", "--out", tmp_path / "out")


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "d.pddl").touch()
    with pytest.raises(UserError, match="folder bin or a model of something else.*--out"):
        sit("train", "planning", tmp_path / "d.pddl", "in", "--out", tmp_path)


def test_a_folder_with_another_training_is_refused(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "training.json").write_text("{}")
    (tmp_path / "d.pddl").touch()
    with pytest.raises(UserError, match="other options.*--out"):
        sit("train", "planning", tmp_path / "d.pddl", "in", "--out", tmp_path)


def test_a_folder_that_fairseq_would_split_is_refused_at_once(tmp_path):
    with pytest.raises(UserError, match="several folders; name another; change --out"):
        sit("train", "planning", "d.pddl", tmp_path, "--out", tmp_path / "at 12:30")
    assert not (tmp_path / "at 12:30").exists()
