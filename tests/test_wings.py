"""Each wing comes off: without it, and without the tests that speak of it, all else is green."""

import re
import shutil
import subprocess
import sys

import pytest
from command_line import ROOT

# A wing is a folder, with the verbs that enter it.
WINGS = {"domains/planning": (), "conversion": ("convert",), "export": ("export",)}
# The rooms that may know of a wing: those below import nothing from above (tests/test_floors.py).
ROOMS = ("commands", "datasets", "domains", "evaluation", "judging", "tasks")


@pytest.mark.slow
def test_the_rest_stands_without_the_wings(tmp_path):
    for name in ("sit_fairseq", "tests", "examples", "scripts"):
        skipped = shutil.ignore_patterns("__pycache__", "node_modules")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=skipped)
    for path in [*ROOT.glob("*.*"), ROOT / "checkpoints"]:
        (tmp_path / path.name).symlink_to(path)
    package, tests = tmp_path / "sit_fairseq", tmp_path / "tests"
    verbs = package / "commands" / "__init__.py"
    for wing, entrances in WINGS.items():
        shutil.rmtree(package / wing)
        words = {wing.rpartition("/")[2], *entrances}
        for verb in entrances:
            (package / "commands" / f"{verb}.py").unlink(missing_ok=True)
            verbs.write_text(re.sub(rf'    "{verb}": .*\n', "", verbs.read_text()))
        for path in tests.rglob("test_*.py"):
            told = words & set(path.relative_to(tests).parts)
            if told or re.search(rf"\b({'|'.join(words)})\b", path.read_text()):
                path.unlink()
    left = [tests / room for room in ROOMS] + [p for p in tests.glob("test_*.py") if p.is_file()]
    command = [sys.executable, "-m", "pytest", "-m", "fast", "-p", "no:cacheprovider", *left]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 300
