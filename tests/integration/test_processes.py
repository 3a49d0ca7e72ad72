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
        "from sit_fairseq.models.fairseq_adapter import *\n"
        f"folder = {str(ROOT / 'checkpoints' / 'ltl')!r}\n"
        "model = SymbolInvariantTransformerModel.from_pretrained(folder, 'model.pt', folder)\n"
        "(answer,) = model.answer(['U a X b'], verify='ltl')\n"
        "print(answer.verdict, answer.text)\n"
    )
    result = call(sys.executable, tmp_path / "plain.py", cwd=tmp_path, PYTHONPATH=str(ROOT))
    begins, answer = result.stdout.splitlines()
    assert begins == "begins" and "{" in answer and "satisfied " in answer
    assert "Traceback" not in result.stderr


TRAIN = ("--arch", "symbol_invariant_transformer_tiny", "--criterion", "adacos", "--cpu")
TRAIN = (*TRAIN, "--optimizer", "adam", "--batch-size", 8, "--symbols", "[a-z]")
HYDRA_TRAIN = ("hydra-train", "--config-dir", ".", "--config-name")
HYDRA = """
common: {{user_dir: {user_dir}, cpu: true}}
task: {{_name: stream_translation, data: {data}, symbols: "[", source_lang: src, target_lang: tgt}}
model: {{_name: symbol_invariant_transformer_tiny}}
criterion: {{_name: adacos}}
optimizer: {{_name: adam, lr: [0.001]}}
dataset: {{batch_size: 8}}
"""


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["train", "DATA", *PLUG_IN, *TRAIN[:-6]], "--batch-size"),  # an assertion of fairseq's
        ([*HYDRA_TRAIN, "own"], "regular expression"),
        ([*HYDRA_TRAIN, "own", "task.symbols='[a-z]'"], "symbol_invariant_transformer and write"),
        ([*HYDRA_TRAIN, "own", "+task.symbol=x"], "Key 'symbol' not in"),
        (["preprocess", "-s", "src", "-t", "tgt", "--trainpref", "x", *PLUG_IN], "x.src"),
        (["generate", "DATA", *PLUG_IN, "--path", "PATH", "--sampling", "--nbest", 2], "--nbest"),
        (["interactive", "DATA", *PLUG_IN, "--path", "PATH", "--replace-unk"], "--replace-unk is"),
    ],
)
def test_every_command_of_fairseq_ends_with_one_sentence(words, sentence, prop, tmp_path):
    (tmp_path / "x.src").write_bytes(b"\xff\n")
    (tmp_path / "x.tgt").write_text("a 1\n")
    (tmp_path / "own.yaml").write_text(HYDRA.format(user_dir=ROOT / "sit_fairseq", data=prop.data))
    known = {"DATA": prop.data, "PATH": prop.trained}
    command, *words = (known.get(word, word) for word in words)
    result = call(BIN / f"fairseq-{command}", *words, cwd=tmp_path, LOGLEVEL="ERROR")
    assert result.returncode == 1
    for sign in ("Traceback", "Error executing job", "Error: "):
        assert sign not in result.stderr, result.stderr
    assert sentence in result.stderr.splitlines()[-1]


def test_a_process_that_torch_starts_passes_its_sentence_on(tmp_path):
    (tmp_path / "work.py").write_text(
        "import fairseq_cli.train\n"
        "import sit_fairseq.tasks.stream_translation\n"
        "from sit_fairseq.errors import UserError\n"
        "from torch.multiprocessing import spawn\n"
        "def work(number):\n"
        "    raise UserError('nothing works', 'tries')\n"
        "if __name__ == '__main__':\n"
        "    spawn(work)\n"
    )
    result = call(sys.executable, "work.py", cwd=tmp_path, PYTHONPATH=str(ROOT))
    assert result.returncode == 1 and "Traceback" not in result.stderr
    assert result.stderr.splitlines()[-1] == "nothing works; change --tries"


def test_our_own_command_exits_with_one_sentence(tmp_path):
    options = ("--symbols", "[a-z]", "--names", "a")
    result = call(BIN / "sit", "rename", "missing", "out", *options, cwd=tmp_path)
    assert result.returncode == 1
    assert "Traceback" not in result.stderr
    assert result.stderr.splitlines()[-1].startswith("Cannot read missing.src")
    assert list(tmp_path.iterdir()) == []
