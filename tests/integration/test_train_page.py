"""The commands of the page on training and those of the front page, on less data."""

import contextlib
import os
import re
import shlex
import subprocess
import sys

import fairseq_cli.generate
import fairseq_cli.train
from command_line import ROOT, run, run_preprocess

COMMANDS = {
    "fairseq-preprocess": run_preprocess,
    "fairseq-train": lambda *words: run(fairseq_cli.train, *words),
    "fairseq-generate": lambda *words: run(fairseq_cli.generate, *words),
}


def test_commands_run_as_printed(tmp_path, capsys):
    blocks = re.findall(r"```bash\n(.*?)```", (ROOT / "examples" / "TRAIN.md").read_text(), re.S)
    commands = next(block for block in blocks if "fairseq-train" in block)
    for printed, shorter in (
        ("bash scripts/setup.sh && ", ""),
        ("sentences my\n", "sentences my\nfor file in my/*; do sed -i '65,$d' $file; done\n"),
        ("--max-update 600", "--max-update 4 --cpu --num-workers 0"),
        ("--beam 3", "--beam 3 --cpu --max-len-b 15"),
    ):
        assert printed in commands
        commands = commands.replace(printed, shorter)
    for name in ("sit_fairseq", "scripts", "examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / ".venv").symlink_to(sys.prefix)

    def bash(commands):
        options = {"cwd": tmp_path, "env": {**os.environ, "PYTHONWARNINGS": "ignore"}}
        words = ["bash", "-euo", "pipefail", "-c", commands]
        result = subprocess.run(words, **options, capture_output=True, text=True)
        assert result.returncode == 0, result.stderr[-3000:]
        return result

    result = bash(commands)
    assert re.search(r"Generate test with beam=3: correct [\d.]+ %", result.stdout)
    answer = re.search(r"H-0\t\S+\t(.*)", result.stdout.split("S-0\t<ent17> met Ada in <ent99>")[1])
    known = {
        t for side in ("src", "tgt") for t in (tmp_path / f"my/train.{side}").read_text().split()
    }
    names = {token for token in known if token.startswith("<ent")}
    assert set(answer.group(1).split()) <= known - names | {"<ent17>", "Ada", "<ent99>"}

    (front,) = re.findall(
        r"```bash\npython -m examples.entities.sentences my .*?\n(fairseq-preprocess.*?)```",
        (ROOT / "README.md").read_text(),
        re.S,
    )
    front = front.replace("--testpref my/test", "--testpref my/valid").replace("my/bin", "my/front")
    front, shorter = re.subn(r"--max-update \d+", "--max-update 4 --cpu --num-workers 0", front)
    assert shorter == 1
    front = front.replace("checkpoint_best.pt", "checkpoint_best.pt --cpu --max-len-b 15")
    with contextlib.chdir(tmp_path):
        for line in front.replace("\\\n", " ").replace("my/model", "my/front_model").splitlines():
            name, *words = shlex.split(line)
            # fairseq imports a folder once, whatever link leads there.
            COMMANDS[name](*(ROOT / word if word == "sit_fairseq" else word for word in words))
    assert "Generate test with beam=5" in capsys.readouterr().out
