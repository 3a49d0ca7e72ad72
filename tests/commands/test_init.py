"""A folder for a task of one's own: what it runs, at a tiny size."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ROOT, sit

from sit_fairseq.errors import UserError


def test_the_folder_runs_as_it_is(tmp_path, capsys):
    folder = tmp_path / "my task"
    sit("init", folder)
    assert capsys.readouterr().out.startswith(f"bash {folder}/run.sh trains a toy")
    assert len((folder / "run.sh").read_text().splitlines()) <= 25
    for name, changes in {
        "training.yaml": {"max_update: 800": "max_update: 3", "_dim: 64": "_dim: 32"},
        "run.sh": {" 20000 ": " 200 ", " 500 ": " 9 ", " 2000 ": " 20 ", " 200 2": " 9 2"},
    }.items():
        text = (folder / name).read_text()
        for old, new in changes.items():
            assert old in text
            text = text.replace(old, new)
        (folder / name).write_text(text)
    before, measurements = (folder / "table.yaml").read_text().split("  test:\n")
    fewer = "  verified:\n" + measurements.split("  verified:\n")[1]
    (folder / "table.yaml").write_text(before + fewer)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    command = ["bash", folder / "run.sh", "made"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    *_, head, line, ours, baseline = result.stdout.splitlines()
    columns = [column.strip() for column in head.split("|")]
    assert columns[2:] == ["Model", "Verified", "Grid", "CPU minutes", ""]
    for row, model in ((ours, "Ours"), (baseline, "Baseline")):
        assert f" {model} " in row and "—" not in row
    assert (folder / "made/runs/1_to_3_facts/Ours/seed1/grid.png").exists()
    assert "data/test.src | 9 | made/data/train.src |" in result.stdout


def test_a_folder_that_exists_is_left_alone(tmp_path):
    with pytest.raises(UserError, match="exists; name a new folder"):
        sit("init", tmp_path)
    assert not list(tmp_path.iterdir())
