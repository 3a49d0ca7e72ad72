"""The commands of the README, on less data."""

import os
import re
import subprocess
import sys

from command_line import ROOT


def test_readme_commands_run_as_printed(tmp_path):
    blocks = re.findall(r"```bash\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert len(blocks) == 3, "the first is this test suite, the third needs a checkpoint"
    commands = blocks[1]
    for printed, shorter in (
        ("--size 50000", "--size 300 --workers 1"),
        ("--max-update 5000", "--max-update 4 --cpu --num-workers 1"),
        ("--beam 3", "--beam 3 --cpu --max-len-b 15"),
    ):
        assert printed in commands
        commands = commands.replace(printed, shorter)
    for name in ("sit_fairseq", "scripts"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / ".venv").symlink_to(sys.prefix)
    result = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", commands],
        cwd=tmp_path,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    assert re.search(r"Generate test with beam=3: correct [\d.]+ %", result.stdout)
    answer = re.search(r"H-0\t\S+\t(.*)", result.stdout.split("S-0\t& p17 ! speed_limit")[1])
    assert set(answer.group(1).split()) <= {
        "p17",
        "speed_limit",
        "0",
        "1",
        "!",
        "&",
        "|",
        "<->",
        "xor",
    }
