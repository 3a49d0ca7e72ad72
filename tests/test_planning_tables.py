"""The command of the tables of examples/planning, without a model."""

import json
import sys

import pytest
from domains.planning.problems import DOMAINS, PROBLEMS
from test_planning_data import BLOCKS, TOWER

from examples.planning import growth, rename, tables, times

HARD = "instances/blocksworld_hard"


@pytest.fixture
def planbench(tmp_path):
    """A folder as PlanBench has it, with one problem."""
    (tmp_path / "p" / HARD / "generated").mkdir(parents=True)
    (tmp_path / "p" / HARD / "generated_domain.pddl").write_text(BLOCKS)
    (tmp_path / "p" / HARD / "generated/instance-1.pddl").write_text(TOWER)
    return tmp_path / "p"


def run(monkeypatch, planbench, out, *more):
    words = ["random", "--planbench", planbench, "--out", out, *more]
    monkeypatch.setattr(sys, "argv", ["tables", *map(str, words)])
    tables.main()


def test_sets_that_are_there_are_measured_once(monkeypatch, planbench, tmp_path, capsys):
    for _ in range(2):
        run(monkeypatch, planbench, tmp_path / "out")
        printed = capsys.readouterr().out
        assert "| Blocksworld Hard, 110 | **100.0** (1 of 1) | DeepSeek R1" in printed
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["hard_110.json"]
        (planbench / HARD / "generated/instance-1.pddl").unlink(missing_ok=True)
    with pytest.raises(SystemExit, match="hard_110.json was measured with other options"):
        run(monkeypatch, planbench, tmp_path / "out", "--budget", 7)


def test_plans_of_obfuscated_problems_are_compared_up_to_names():
    one = {"sentences": ["s", "t", "u"], "plans": {"0": [["a", "x", "y"]], "1": [["a", "x", "x"]]}}
    two = {"sentences": ["t", "v", "s"], "plans": {"0": [["a", "p", "q"]], "2": [["a", "q", "p"]]}}
    assert tables.equal_plans(one, two) == (2, 1)
    assert tables.equal_plans(one, one) == (3, 3)


def test_first_actions_are_compared_with_all_that_the_rule_allows():
    task = DOMAINS["gripper"], PROBLEMS["gripper"]
    picks = [("pick", "b1", "r1", "left"), ("pick", "b1", "r1", "right")]
    assert all(tables.first_is_good(*task, action) for action in picks)
    assert not tables.first_is_good(*task, ("pick", "b2", "r1", "left"))
    assert not tables.first_is_good(*task, None)
    assert tables.rule_length(*task)[0] == 3


def test_growth_counts_plans_of_the_same_problems_by_the_number_of_blocks(monkeypatch, tmp_path):
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for path in paths:
        words = ["--path", "random", "--result", path, "--problems", 4, "--blocks", 2, 9]
        monkeypatch.setattr(sys, "argv", ["growth", *map(str, words)])
        growth.main()
    assert paths[0].read_text() == paths[1].read_text()
    found = json.loads(paths[0].read_text())["result"]["blocks"]
    assert found["2"]["share"] == 1 and found["9"]["share"] < 1
    assert found["9"]["problems"] == 4 and 1 <= found["9"]["calls"] <= 45


def test_copies_in_random_names_are_the_same_sentences(monkeypatch, planbench, tmp_path):
    """And no word of a copy is one of the file but those of PDDL."""
    monkeypatch.setattr(sys, "argv", ["rename", str(planbench), str(tmp_path / "copy")])
    rename.main()
    rows = []
    for folder in (planbench, tmp_path / "copy"):
        run(monkeypatch, folder, tmp_path / "out" / folder.name)
        row = json.loads((tmp_path / "out" / folder.name / "hard_110.json").read_text())
        rows.append([row["sentences"], [[one[0] for one in row["plans"]["0"]]]])
    assert rows[0] == rows[1]
    words = [
        {word.strip("()") for file in folder.rglob("*.pddl") for word in file.read_text().split()}
        for folder in (planbench, tmp_path / "copy")
    ]
    assert {word for word in words[0] & words[1] if word[:1].isalpha()} == {
        *("define", "domain", "problem", "and", "not")
    }


def test_times_are_of_questions_as_the_search_asks_them(monkeypatch):
    asked = []
    monkeypatch.setattr(times, "BLOCKS", (3,))
    found = times.measure({"none": asked.append}, 2)
    assert list(found["none"]) == ["3"] and len(asked) == 2
    ((sentence, actions),) = asked[0]
    assert sentence[0] == "blocksworld" and all(number == 1 for _, number in actions)
