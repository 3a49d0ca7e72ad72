"""What the scripts of the examples share, in a folder of its own and without an environment."""

import re
import shutil
import subprocess

import pytest
from command_line import ROOT
from hydra.core.override_parser.overrides_parser import OverridesParser

CHOOSE = 'start prop "$@"; choose_labels depth-first smallest aiger; echo "$labels"; exact_means'


@pytest.fixture
def bash(tmp_path):
    """Runs commands after sourcing common.sh; returns the status, output and errors."""
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "setup.sh").write_text("")
    shutil.copy(ROOT / "scripts" / "common.sh", tmp_path / "scripts")
    (tmp_path / "examples" / "prop" / "hydra").mkdir(parents=True)
    for scale in ("mini", "paper"):
        (tmp_path / "examples" / "prop" / "hydra" / f"{scale}.yaml").write_text("")

    def run(commands, *arguments):
        words = ["bash", "-c", f"source scripts/common.sh; {commands}", "script", *arguments]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    return run


def test_scale_and_folder(bash, tmp_path):
    show = 'start prop "$@"; echo "$scale $out"'
    assert bash(show)[1] == f"mini {tmp_path}/outputs/prop-mini\n"
    assert (
        bash(f"purpose=-tables; {show}", "paper")[1]
        == f"paper {tmp_path}/outputs/prop-tables-paper\n"
    )
    assert bash(show, "paper", "some")[1] == f"paper {tmp_path}/some\n"
    status, _, said = bash(show, "mini", "some")
    assert status == 1 and "has results of another scale, paper" in said
    status, _, said = bash(show, "huge")
    assert status == 1 and "there is no huge.yaml" in said
    for options in (["--label", "x"], ["mini", "--labels"]):
        status, _, said = bash(show, *options)
        assert status == 1 and "or it lacks its value; there is --labels KIND" in said


def test_folders_of_any_name_are_values_to_hydra(bash, tmp_path):
    given = 'fairseq-hydra-train() { printf "%s\\0" "$@"; mkdir -p "$out/model"; }; '
    given += 'start prop "$@"; train model bin'
    status, words, said = bash(given, "mini", "März, (a=1) ~ [2]")
    assert status == 0, said
    overrides = [word for word in words.split("\0") if "=" in word]
    parsed = OverridesParser.create().parse_overrides(overrides)
    values = {override.key_or_group: override.value() for override in parsed}
    assert len(values) == len(overrides) == 6
    assert values["task.data"] == f"{tmp_path}/März, (a=1) ~ [2]/bin"
    assert all(value.startswith(f"{tmp_path}/") for value in values.values())


def test_labels_are_chosen_once(bash, tmp_path):
    said = "exact: equal to the label; labels are those of --labels"
    assert bash(CHOOSE, "mini", "default")[1] == f"depth-first\n{said} depth-first\n"
    for options in (
        ["--labels", "aiger", "mini", "one"],
        ["mini", "one", "--labels", "aiger"],
        ["mini", "one"],
    ):
        assert bash(CHOOSE, *options)[1] == f"aiger\n{said} aiger\n"
    status, _, error = bash(CHOOSE, "mini", "one", "--labels", "smallest")
    assert status == 1 and "has data with other labels, aiger; name another folder" in error
    status, _, error = bash(CHOOSE, "mini", "two", "--labels", "spot")
    assert status == 1 and "there are no labels spot; give one of depth-first smallest" in error
    assert bash(CHOOSE, "mini", "two", "--labels", "smallest")[0] == 0


def test_data_of_an_earlier_version_have_the_default_labels(bash, tmp_path):
    (tmp_path / "old" / "data").mkdir(parents=True)
    (tmp_path / "old" / "data" / "train.tgt").write_text("a 1\n")
    assert bash(CHOOSE, "mini", "old", "--labels", "aiger")[0] == 1
    assert bash(CHOOSE, "mini", "old")[1].startswith("depth-first\n")


def test_refining_takes_the_longer_formulas_of_the_training_data(bash, tmp_path):
    shutil.copy(ROOT / "examples" / "prop" / "refine.sh", tmp_path / "examples" / "prop")
    out = tmp_path / "outputs" / "prop-mini"
    for folder in ("data", "bin", "model", "refined"):
        (out / folder).mkdir(parents=True)
    formulas = ["& a & b c", "! a", "& & a b & c a", "| | | a b c d"]
    answers = ["a 1 b 1 c 1", "a 0", "a 1 b 1 c 1", "a 1"]
    for side, lines in (("src", formulas), ("tgt", answers)):
        (out / "data" / f"train.{side}").write_text("".join(f"{line}\n" for line in lines))
    commands = tmp_path / ".venv" / "bin"
    commands.mkdir(parents=True)
    for command, does in (("preprocess", 'mkdir "$7"'), ("hydra-train", 'printf "%s\\0" "$@"')):
        (commands / f"fairseq-{command}").write_text(f"#!/bin/sh\n{does}\n")
        (commands / f"fairseq-{command}").chmod(0o755)
    status, _, said = bash("bash examples/prop/refine.sh")
    assert status == 1 and "model/finished is missing; run examples/prop/train.sh first" in said
    (out / "model" / "finished").write_text("")
    status, words, said = bash("bash examples/prop/refine.sh")
    assert status == 0, said
    for side, lines in (("src", formulas), ("tgt", answers)):
        assert (out / "data" / f"long.{side}").read_text().splitlines() == lines[2:]
    overrides = [word for word in words.split("\0") if "=" in word and not word.startswith("\n")]
    parsed = OverridesParser.create().parse_overrides(overrides)
    values = {override.key_or_group: override.value() for override in parsed}
    assert values["criterion._name"] == "minimum_risk"
    assert values["optimization.stop_time_hours"] == 0  # it counts the training before as well
    assert values["task.data"] == f"{out}/bin.refine"
    assert values["checkpoint.finetune_from_model"] == f"{out}/model/checkpoint_last.pt"
    assert (out / "refined" / "finished").is_file()
    status, _, said = bash("bash examples/prop/refine.sh paper")
    assert status == 1 and "there are mini and medium" in said


def test_every_script_of_the_table_exists():
    """Each command of REPRODUCE.md that is a script of ours, and no row lacks a command."""
    text = (ROOT / "examples" / "REPRODUCE.md").read_text()
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")][2:]
    assert len(rows) >= 15
    for row in rows:
        assert len(row) == 3 and re.search(r"`[^`]+`", row[1]) and row[2].strip(" |"), row[0]
    scripts = set(re.findall(r"bash (examples/\w+/\w+\.sh)", text))
    assert len(scripts) >= 8
    for script in scripts:
        assert (ROOT / script).is_file(), script
