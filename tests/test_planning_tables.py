"""The tables of examples/planning: sets and ways."""

import json
import sys
from functools import partial
from random import Random
from time import sleep
from types import SimpleNamespace

import pytest
from command_line import ROOT
from domains.planning.problems import PROBLEMS, writer
from domains.planning.test_teaching import LAMPS, problem
from test_planning_data import BLOCKS, TOWER

from examples.planning import growth, rename, tables, times, ways
from examples.planning.five import known
from examples.planning.problems import drawn
from sit_fairseq.domains.planning.sentences import renamed
from sit_fairseq.domains.planning.strips import Problem, execute

SHIPPED = ROOT / "checkpoints" / "planning"
HARD = "instances/blocksworld_hard"


@pytest.fixture
def planbench(tmp_path):
    """A folder as PlanBench has it, with one problem."""
    (tmp_path / "p" / HARD / "generated").mkdir(parents=True)
    (tmp_path / "p" / HARD / "generated_domain.pddl").write_text(BLOCKS)
    (tmp_path / "p" / HARD / "generated/instance-1.pddl").write_text(TOWER)
    return tmp_path / "p"


def run(monkeypatch, planbench, out, *more):
    words = [SHIPPED, "--planbench", planbench, "--out", out, *more]
    monkeypatch.setattr(sys, "argv", ["tables", *map(str, words)])
    tables.main()


def test_sets_are_measured_once_in_each_way(monkeypatch, planbench, tmp_path, capsys):
    out = tmp_path / "out"
    for _ in range(2):
        run(monkeypatch, planbench, out, "--ways", *ways.NAMES)
        printed = capsys.readouterr().out
        rows = [line.split("|") for line in printed.splitlines() if line.startswith("| Blocks")]
        assert [row[2].strip() for row in rows] == list(ways.NAMES)
        for row in rows:
            assert row[1].strip() == "Blocksworld Hard, 110" and row[3].strip() == "1 of 1"
            assert row[8].strip().startswith("DeepSeek R1")
        assert {row[5].strip() for row in rows[:4]} == {"4.0 (4.0)"}
        names = {f"hard_110, {way}.json" for way in ways.NAMES}
        assert {path.name for path in out.iterdir()} == names
        (planbench / HARD / "generated/instance-1.pddl").unlink(missing_ok=True)
    with pytest.raises(SystemExit, match="hard_110, search.json was measured with other options"):
        run(monkeypatch, planbench, out, "--seconds", 7)
    (out / "ferry_easy, search.json").write_text("{}")  # of a folder that is not named now
    run(monkeypatch, planbench, out)
    with pytest.raises(SystemExit, match="no problem of these sets was found"):
        run(monkeypatch, planbench, out, "--sets", "ferry_easy")
    with pytest.raises(SystemExit, match="there is no folder nowhere; change ipc"):
        run(monkeypatch, planbench, out, "--ipc", "nowhere")


def test_problems_of_other_domains_count_as_unsolved(monkeypatch, planbench, tmp_path, capsys):
    """A set of which the model knows no problem has no row."""
    source = tmp_path / "ipc" / "blocksworld"
    (source / "testing" / "easy").mkdir(parents=True)
    (source / "testing" / "easy" / "p1.pddl").write_text(TOWER)
    wrong = TOWER.replace("(on p q)", "(in p q)", 1)
    (source / "testing" / "easy" / "p3.pddl").write_text(wrong)
    other = source / "testing" / "easy" / "other"
    other.mkdir()
    (other / "p2.pddl").write_text(problem("xa", "a"))
    (other / "domain.pddl").write_text(LAMPS)
    (source / "domain.pddl").write_text(BLOCKS)
    words = ["--ipc", tmp_path / "ipc", "--sets", "blocksworld_easy", "ferry_easy"]
    run(monkeypatch, planbench, tmp_path / "out", *words)
    printed = capsys.readouterr().out
    assert (
        "1 of 3" in printed
        and "there is no predicate in" in printed
        and "| 72 " in printed
        and "IPC ferry" not in printed
    )
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["blocksworld_easy, search.json"]


def test_a_way_ends_with_its_time_and_its_states():
    task = writer("blocksworld", PROBLEMS["blocksworld"])
    for name in ("random", "goal count"):
        found = ways.measure([task, task], ways.way_of(name, None), 60)
        for plan in found["plans"].values():
            assert execute(task.domain, task.problem, plan) is None
        assert len(found["plans"]) == 2 and found["calls"] >= len(plan)
    found = ways.measure([task], partial(ways.goal_count, states=1), 60)
    assert (found["plans"], found["calls"]) == ({}, 1)

    def slow(writers):
        sleep(5)
        yield 0, ways.Outcome([], 0)

    assert ways.measure([task], slow, 0.2)["plans"] == {}


def test_rules_plan_whatever_objects_are_called():
    problem, _, _ = drawn("depots", Random(7))
    names = {one: f"x{place}" for place, one in enumerate(problem.sorts)}
    other = Problem(
        {names[one]: sort for one, sort in problem.sorts.items()},
        renamed(problem.initial, names),
        renamed(problem.goal, names),
    )
    domain = known()["depots"].domain
    lengths = {
        tables.rule_length(SimpleNamespace(domain=domain, problem=p)) for p in (problem, other)
    }
    assert len(lengths) == 1 and min(lengths) > 0


def test_plans_of_obfuscated_problems_are_compared_up_to_names():
    one = {"sentences": ["s", "t", "u"], "plans": {"0": [["a", "x", "y"]], "1": [["a", "x", "x"]]}}
    two = {"sentences": ["t", "v", "s"], "plans": {"0": [["a", "p", "q"]], "2": [["a", "q", "p"]]}}
    assert tables.equal_plans(one, two) == (2, 1)
    assert tables.equal_plans(one, one) == (3, 3)


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
        path = tmp_path / "out" / folder.name / "hard_110, search.json"
        row = json.loads(path.read_text())
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
