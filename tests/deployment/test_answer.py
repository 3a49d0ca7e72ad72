"""The program that answers without fairseq and torch."""

import ast
import subprocess
import sys

import pytest
import torch
from command_line import ROOT, sit
from deployment.conftest import save_checkpoint

PROGRAM = ROOT / "examples" / "deployment" / "answer.py"


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Files that the command wrote."""
    torch.manual_seed(1)
    folder = tmp_path_factory.mktemp("exported")
    checkpoint = save_checkpoint(folder / "model.pt", stream_attention="EP-DP-CP")
    sit("export-onnx", checkpoint, folder / "onnx", "--check-symbols", 3, "--check-tokens", 4)
    return folder / "onnx"


def answer(folder, lines, *options):
    """The answers, what was said beside them, and the exit status."""
    text = "".join(line + "\n" for line in lines)
    command = [sys.executable, PROGRAM, folder, "--max-length", "9", *options]
    result = subprocess.run(command, input=text, capture_output=True, text=True)
    return result.stdout.splitlines(), result.stderr, result.returncode


def test_each_line_has_an_answer(exported):
    lines, said, status = answer(exported, ["& a b", "! c", "& p q"], "--scores", "--beam", "2")
    assert (len(lines), said, status) == (3, "", 0)
    scores, answers = zip(*(line.split("\t") for line in lines))
    assert scores[0] == scores[2] != scores[1]
    assert answers[2] == answers[0].replace("a", "p").replace("b", "q")
    names = ["--symbols", r"(?!xor$)[a-z]\w*"]
    assert answer(exported, ["& p17 speed_limit"], *names)[2] == 0


def test_a_line_without_an_answer_has_its_place(exported):
    lines, said, status = answer(exported, ["& a", "! c", "", "! D"])
    assert [bool(line) for line in lines] == [False, True, False, False]
    assert said.splitlines() == [
        "line 1: the formula ends too early: operands are missing",
        "line 3: the sentence is empty",
        "line 4: 'D' is no symbol and no token that the model knows",
    ]
    assert status == 1


def test_options_are_checked(exported):
    _, said, status = answer(exported, [], "--beam", "0")
    assert "--beam and --max-length must be at least 1" in said and status == 2


def test_it_needs_numpy_and_onnxruntime_only():
    imported = {
        name.name.split(".")[0]
        for node in ast.walk(ast.parse(PROGRAM.read_text(encoding="utf-8")))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in ([ast.alias(node.module)] if isinstance(node, ast.ImportFrom) else node.names)
    }
    assert imported - set(sys.stdlib_module_names) == {"numpy", "onnxruntime"}
