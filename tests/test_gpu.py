"""``scripts/gpu.sh`` on a CPU, at sizes at which figures mean nothing."""

import os
import subprocess

import pytest
from command_line import ROOT, load_script

PARTS = load_script("scripts/gpu/parts.py")


def test_each_part_is_limited_and_leaves_its_log(tmp_path):
    """With a program in the place of Python that fails in one part and takes too long in another."""
    program = tmp_path / "python"
    program.write_text(
        "#!/bin/sh\n"
        'case "$*" in *"parts renamings"*) exit 3;; *"parts conversion"*) exec sleep 60;; *) echo "$@";; esac\n'
    )
    program.chmod(0o755)
    script = (ROOT / "scripts" / "gpu.sh").read_text().replace("conversion:70", "conversion:1")
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "gpu.sh").write_text(script)
    words = ["bash", tmp_path / "scripts" / "gpu.sh", tmp_path / "out", "cpu"]
    run = subprocess.run(words, env={**os.environ, "PYTHON": str(program)}, capture_output=True)
    assert run.returncode == 1
    ends = [
        line.split(" after")[0] for line in (tmp_path / "out/parts.txt").read_text().splitlines()
    ]
    statuses = {"tests": 0, "renamings": 3, "conversion": 124, "speed": 0, "recipes": 0}
    assert ends == [f"{part}: status {status}" for part, status in statuses.items()]
    assert "scripts.gpu.parts speed" in (tmp_path / "out/speed.log").read_text()


@pytest.mark.slow
def test_a_part_writes_what_it_finds_line_by_line(tmp_path, monkeypatch):
    monkeypatch.setattr(PARTS, "QUESTIONS", {"copy": PARTS.QUESTIONS["copy"]})
    found = list(PARTS.PARTS["renamings"]("cpu", True, tmp_path))
    assert found == [{"model": "copy", "renamings": 6, "equal": 6}]


def test_the_pace_of_a_log():
    log = "{'max_update': 500}\n" + "".join(
        f'[time] {{"epoch": 1, "num_updates": "{n}", "ups": "{rate}"}}\n'
        for n, rate in enumerate((0, 1, 2, 4))
    )
    assert PARTS._pace(log) == {"updates a second": 3, "updates": 500, "hours": 0.05}
