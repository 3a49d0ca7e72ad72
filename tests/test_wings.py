"""Wings come off: without planning, conversion and export all other modules stand, and judges judge."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from command_line import ROOT

# A wing is a folder, with the verbs that enter it.
WINGS = {"domains/planning": (), "conversion": ("convert",), "export": ("export",)}
IMPORTS = """
import importlib, pkgutil, sit_fairseq
for found in pkgutil.walk_packages(sit_fairseq.__path__, "sit_fairseq."):
    if not found.name.endswith("__main__"):
        importlib.import_module(found.name)
"""


@pytest.mark.slow
def test_the_rest_stands_without_the_wings(tmp_path):
    for name in ("sit_fairseq", "tests", "examples"):
        skipped = shutil.ignore_patterns("__pycache__", "node_modules")
        shutil.copytree(ROOT / name, tmp_path / name, ignore=skipped)
    for path in (ROOT / "checkpoints", ROOT / "pyproject.toml"):
        (tmp_path / path.name).symlink_to(path)
    package = tmp_path / "sit_fairseq"
    verbs = package / "commands" / "__init__.py"
    for wing, entrances in WINGS.items():
        shutil.rmtree(package / wing)
        for verb in entrances:
            (package / "commands" / f"{verb}.py").unlink()
            verbs.write_text(re.sub(rf'    "{verb}": .*\n', "", verbs.read_text()))
    tests = ["-m", "pytest", "-m", "fast", "-p", "no:cacheprovider", tmp_path / "tests" / "judging"]
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONWARNINGS": "ignore"}
    for words in (["-c", IMPORTS], tests):
        command = [sys.executable, *map(str, words)]
        options = {"cwd": tmp_path, "env": environment, "capture_output": True, "text": True}
        done = subprocess.run(command, **options)
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 30
