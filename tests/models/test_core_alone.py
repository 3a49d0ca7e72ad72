"""Symbols and model need torch alone: without fairseq and what it brings, they train and answer."""

import os
import subprocess
import sys

import pytest
from conftest import PACKAGE

from sit_fairseq.model import Model

ROOT = PACKAGE.parent

# An import system without fairseq and what it brings.
START = """
import sys
for name in ("fairseq", "fairseq_cli", "omegaconf", "hydra", "regex"):
    sys.modules[name] = None
"""

IMPORTS = """
import importlib, traceback
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ImportError as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        print(f"{name}: {error} ({place.filename}:{place.lineno})")
"""


# What stands between the package and fairseq, hydra or transformers.
OTHERS = {
    *("models.fairseq_adapter", "models.fairseq_language_model", "tasks.generators"),
    *(f"export.for_transformers.{name}" for name in ("generation", "modeling", "tokenizer")),
}


def run(script, *arguments, **options):
    """What the script prints in an interpreter of its own."""
    command = [sys.executable, "-c", START + script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_no_module_asks_for_fairseq():
    rooms = (
        "symbols",
        "models",
        "search",
        "storage",
        "judging",
        "domains/*",
        "evaluation",
        "export",
        "export/*",
    )
    files = [file for room in rooms for file in PACKAGE.glob(f"{room}/[!_]*.py")]
    names = {".".join(file.relative_to(PACKAGE).with_suffix("").parts) for file in files} - OTHERS
    names = {"model", "testing", *names}
    assert len(names) > 40
    assert run(IMPORTS, *(f"sit_fairseq.{name}" for name in sorted(names))) == ""


@pytest.mark.slow
def test_the_example_of_training_trains_and_judges(tmp_path):
    (tmp_path / "train.src").write_text("& a b\n! c\n| a ! b\n")
    (tmp_path / "train.tgt").write_text("a 1 b 1\nc 0\na 1\n")
    script = (ROOT / "examples" / "pytorch" / "train.py").read_text()
    assert len(script.splitlines()) <= 80
    shorter = script.replace("3000, 128, 200, 5e-3", "101, 24, 20, 5e-3")
    shorter = shorter.replace("encoder_layers=2", "encoder_layers=1")
    printed = run(
        shorter, "train", "train", cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    losses = [float(line.split()[-1]) for line in printed.splitlines() if "loss" in line]
    assert losses[1] < 0.1 * losses[0] and printed.endswith("train: 3 of 3 are right\n")
    model = Model.load(str(tmp_path / "train.pt"))
    assert [answer.text for answer in model.answer(["& p q", "! x"])] == ["p 1 q 1", "x 0"]
    assert model.domain == "prop"
