"""How long fairseq-generate takes to its first answer."""

import os
import subprocess
import sys
import tempfile
from typing import List

from sit_fairseq.benchmark.bench import PACKAGE, Bench
from sit_fairseq.benchmark.measuring import medians


def compare_start(bench: Bench) -> None:
    """The part ``start``."""
    name = "prop, 5 symbols"
    cases = {}
    for kind, options in {
        "package": ("--user-dir", str(PACKAGE), "--task", "stream_translation"),
        "stock": ("--task", "translation", "--source-lang", "src", "--target-lang", "tgt"),
    }.items():
        path = str(bench.folder / f"{kind}.pt")
        bench.subject(kind, name).save(path)
        command = [sys.executable, "-u", "-m", "fairseq_cli.generate", bench.data(name), *options]
        command += ["--path", path, "--beam", "3", "--batch-size", "8", "--max-len-a", "0"]
        command += ["--max-len-b", "20", "--num-workers", "0"]
        command += ["--cpu"] if bench.args.device == "cpu" else []
        cases[kind] = lambda command=command: _first_answer(command)
    seconds = bench.found["start"] = bench.time(cases)
    middle = medians(seconds)
    bench.table(
        "fairseq-generate up to its first answer",
        [
            ["package, s", "stock, s", "package / stock"],
            [*(f"{middle[k]:.2f}" for k in cases), f"{middle['package'] / middle['stock']:.2f}"],
        ],
    )


def _first_answer(command: List[str]) -> None:
    # By itself fairseq cannot read its own checkpoints with a recent torch.
    env = {**os.environ, "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD": "1"}
    with tempfile.TemporaryFile() as log:
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env=env
        ) as run:
            for line in run.stdout:
                if line.startswith("H-"):
                    run.kill()
                    return
        log.seek(0)
        sys.exit(log.read().decode())
