"""Commands in processes of their own, as a shell starts them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import PLUG_IN, ROOT
from conftest import needs_spot

BIN = Path(sys.executable).parent


def call(*command, cwd=ROOT, **variables) -> subprocess.CompletedProcess:
    """Runs a command to its end."""
    environment = {**os.environ, **variables}
    return subprocess.run(
        [*map(str, command)], cwd=cwd, env=environment, capture_output=True, text=True
    )


@needs_spot
def test_a_plain_script_gets_answers_that_spot_has_verified(tmp_path):
    (tmp_path / "plain.py").write_text(
        "print('begins')\n"
        "from sit_fairseq.models.symbol_invariant_transformer import *\n"
        f"folder = {str(ROOT / 'checkpoints' / 'ltl')!r}\n"
        "model = SymbolInvariantTransformerModel.from_pretrained(folder, 'model.pt', folder)\n"
        "(answer,) = model.translate(['U a X b'], verify='ltl')\n"
        "print(repr(answer))\n"
    )
    result = call(sys.executable, tmp_path / "plain.py", cwd=tmp_path, PYTHONPATH=str(ROOT))
    begins, answer = result.stdout.splitlines()
    assert begins == "begins" and "{" in answer and "Unverified" not in answer
    assert "Traceback" not in result.stderr


def test_user_mistake_exits_with_one_sentence(prop, tmp_path):
    (tmp_path / "broken.pt").write_bytes(prop.trained.read_bytes()[:5000])
    result = call(
        BIN / "fairseq-generate", prop.data, "--path", tmp_path / "broken.pt", *PLUG_IN, "--cpu"
    )
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert "broken.pt is not a readable fairseq checkpoint" in result.stderr


@pytest.mark.parametrize("command", [[BIN / "sit"], [sys.executable, "-m", "sit_fairseq"]])
def test_our_own_command_exits_with_one_sentence(command, tmp_path):
    options = ("--symbols", "[a-z]", "--names", "a")
    result = call(*command, "rename", "missing", "out", *options, cwd=tmp_path)
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert result.stderr.splitlines()[-1].startswith("Cannot read missing.src")
    assert list(tmp_path.iterdir()) == []
