"""A folder for a domain of one's own: from nothing to a table, at a tiny size."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import ROOT, sit

from sit_fairseq.errors import UserError


def test_from_nothing_to_a_table(tmp_path, capsys, monkeypatch):
    folder = tmp_path / "my domain"
    sit("init", folder)
    assert capsys.readouterr().out.startswith(f"bash {folder}/run.sh trains a toy")
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", "domain.py", "run.sh"]
    text = (folder / "run.sh").read_text()
    assert len(text.splitlines()) <= 25
    for old, new in (("20000", "300"), ("500", "9"), ("200 ", "9 "), ("update 800", "update 3")):
        assert old in text
        text = text.replace(old, new)
    (folder / "run.sh").write_text(text)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}
    command = ["bash", folder / "run.sh", "made"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    *table, _, signature = result.stdout.splitlines()
    assert [row for row in table if row.startswith("| all ") and " | 9 " in row]
    assert signature.startswith("owners@1|judge:owners|code:")
    monkeypatch.chdir(folder)
    files = ("made/train.src", "made/train.tgt")
    symbols = ("--symbols", "person=P[0-9]+", "thing=t[0-9]+")
    sit("judge", "domain:DOMAIN", *files, "--constrained", "domain:DOMAIN", *symbols)
    printed = capsys.readouterr().out
    assert "300/300 correct" in printed and "refuses 0 of 300" in printed


def test_a_folder_that_exists_is_left_alone(tmp_path):
    with pytest.raises(UserError, match="exists; name a new folder"):
        sit("init", tmp_path)
    assert not list(tmp_path.iterdir())
