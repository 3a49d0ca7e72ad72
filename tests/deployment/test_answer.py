"""The program that answers without fairseq and torch."""

import ast
import subprocess
import sys

from command_line import ROOT

PROGRAM = ROOT / "examples" / "deployment" / "answer.py"
MODEL = ROOT / "examples" / "playground" / "models" / "prop"


def answer(lines, *options):
    """The answers, what was said beside them, and the exit status."""
    text = "".join(line + "\n" for line in lines)
    command = [sys.executable, PROGRAM, MODEL, "--max-length", "9", *options]
    result = subprocess.run(command, input=text, capture_output=True, text=True)
    return result.stdout.splitlines(), result.stderr, result.returncode


def test_each_line_has_an_answer():
    lines, said, status = answer(["xor a & b c", "! c", "xor x & p q"], "--scores")
    assert (said, status) == ("", 0)
    scores, answers = zip(*(line.split("\t") for line in lines))
    assert answers == ("a 1 b 0", "c 0", "x 1 p 0")
    assert scores[0] == scores[2] != scores[1]
    names = ["--symbols", r"(?!xor$)[a-z]\w*", "--beam", "1"]
    assert answer(["! speed_limit"], *names) == (["speed_limit 0"], "", 0)


def test_a_line_without_an_answer_has_its_place():
    lines, said, status = answer(["& a", "! c", "", "! D"])
    assert [bool(line) for line in lines] == [False, True, False, False]
    assert said.splitlines() == [
        "line 1: the formula ends too early: operands are missing",
        "line 3: the sentence is empty",
        "line 4: 'D' is no symbol and no token that the model knows",
    ]
    assert status == 1


def test_options_are_checked():
    _, said, status = answer([], "--beam", "0")
    assert "--beam and --max-length must be at least 1" in said and status == 2


def test_a_folder_without_a_model(tmp_path):
    command = [sys.executable, PROGRAM, tmp_path]
    result = subprocess.run(command, input="", capture_output=True, text=True)
    assert result.returncode == 1 and result.stderr.startswith(f"{tmp_path} is no folder of sit")


def test_it_needs_numpy_and_onnxruntime_only():
    imported = {
        name.name.split(".")[0]
        for node in ast.walk(ast.parse(PROGRAM.read_text(encoding="utf-8")))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in ([ast.alias(node.module)] if isinstance(node, ast.ImportFrom) else node.names)
    }
    assert imported - set(sys.stdlib_module_names) == {"numpy", "onnxruntime"}
