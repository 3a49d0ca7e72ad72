"""The table of a planning competition, of the shipped model in the place of trained ones."""

import json
import shutil

from command_line import ROOT

from examples.planning import track

SHIPPED = ROOT / "checkpoints" / "planning"
PROBLEM = """(define (problem p) (:domain blocksworld) (:objects a b c - block)
  (:init (ontable a) (ontable b) (on c a) (clear b) (clear c) (handempty))
  (:goal (and (on a b) (on b c))))"""


def test_each_way_is_measured_once_and_printed(tmp_path, monkeypatch, capsys):
    source, out = tmp_path / "ipc" / "blocksworld", tmp_path / "out"
    (source / "testing" / "easy").mkdir(parents=True)
    (source / "testing" / "easy" / "p1.pddl").write_text(PROBLEM)
    (source / "testing" / "easy" / "p2.pddl").write_text(PROBLEM.replace("(on c a)", "(in c a)"))
    shutil.copy(SHIPPED / "domains" / "blocksworld.pddl", source / "domain.pddl")
    shutil.copytree(SHIPPED, out / "blocksworld")
    trained = []
    monkeypatch.setattr(track.subprocess, "run", lambda words, check: trained.append(words))
    words = ["track", str(tmp_path / "ipc"), str(out), "--domains", "blocksworld"]
    monkeypatch.setattr("sys.argv", words)
    for _ in range(2):  # the second time all is read
        track.main()
    first, second = capsys.readouterr().out.split("| domain")[1:]
    assert first == second and len(trained) == 2
    assert trained[0][3:5] == ["train", "planning"]
    for way in ("greedy", "search", "random", "goal count"):
        found = json.loads((out / "blocksworld" / f"easy, {way}.json").read_text())
        assert found["solved"] == 1 and found["actions"] >= 6
    assert "1 of 2" in first and "| 72 " in first
