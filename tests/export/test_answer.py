"""The program that answers without fairseq and torch."""

import ast
import json
import os
import shutil
import subprocess
import sys

import pytest
from command_line import ROOT

from sit_fairseq.export.answer import CannotAnswer, ExportedModel

PROGRAM = ROOT / "examples" / "deployment" / "answer.py"
MODEL = ROOT / "examples" / "playground" / "models" / "prop"


def answer(lines, *options, folder=MODEL):
    """The answers, what was said beside them, and the exit status."""
    text = "".join(line + "\n" for line in lines)
    command = [sys.executable, PROGRAM, folder, "--max-length", "9", *options]
    result = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
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
    lines, said, status = answer(["& a", "! c", "", "! %"])
    assert [bool(line) for line in lines] == [False, True, False, False]
    assert said.splitlines() == [
        "line 1: the formula ends too early: operands are missing",
        "line 3: the sentence is empty",
        "line 4: '%' is no symbol and no token that the model knows",
    ]
    assert status == 1


def test_bytes_that_are_no_text():
    command = [sys.executable, PROGRAM, MODEL]
    result = subprocess.run(command, input=b"\xff\n! c\n", capture_output=True)
    assert result.stdout == b"\nc 0\n" and result.returncode == 1
    assert result.stderr.startswith(b"line 1: '\\\\xff' is no symbol")


def test_a_closed_pipe_ends_it_in_silence():
    reader, writer = os.pipe()
    os.close(reader)
    given = dict(input="! c\n! %\n", text=True, stdout=writer, stderr=subprocess.PIPE)
    result = subprocess.run([sys.executable, PROGRAM, MODEL], **given)
    os.close(writer)
    assert (result.stderr, result.returncode) == ("", 141)


def test_options_are_checked():
    _, said, status = answer([], "--beam", "0")
    assert "--beam and --max-length must be at least 1" in said and status == 2


def test_a_folder_without_a_model(tmp_path):
    command = [sys.executable, PROGRAM, tmp_path]
    result = subprocess.run(command, input="", capture_output=True, text=True)
    assert result.returncode == 1 and result.stderr.startswith(
        f"{tmp_path} cannot be used (FileNotFoundError"
    )


@pytest.fixture
def stranger(tmp_path):
    """Loads a model whose vocabulary was changed, and returns why that cannot be."""

    def call(change, symbols=None):
        folder = shutil.copytree(MODEL, tmp_path / "model", dirs_exist_ok=True)
        vocabulary = json.loads((folder / "vocabulary.json").read_text())
        changed = change(vocabulary)
        text = json.dumps(vocabulary) if changed is None else changed
        (folder / "vocabulary.json").write_bytes(text if isinstance(text, bytes) else text.encode())
        with pytest.raises(SystemExit) as error:
            ExportedModel(str(folder), symbols)
        assert len(str(error.value).splitlines()) == 1
        return str(error.value)

    return call


def without(*path):
    def change(vocabulary):
        for name in path[:-1]:
            vocabulary = vocabulary[name]
        del vocabulary[path[-1]]

    return change


def with_value(value, *path):
    def change(vocabulary):
        for name in path[:-1]:
            vocabulary = vocabulary[name]
        vocabulary[path[-1]] = value

    return change


@pytest.mark.parametrize(
    "change, reason",
    [
        *[
            (without(name), f"KeyError: '{name}'")
            for name in (
                "format",
                "tokens",
                "symbols",
                "specials",
                "longest",
                "cross",
                "caches",
                "tree",
            )
        ],
        (without("tree", "depth"), "KeyError: 'depth'"),
        (with_value(10**9, "tree", "depth"), "ValueError: trees as deep as 1000000000"),
        (with_value("deep", "tree", "depth"), "TypeError"),
        (with_value([1, 10**9], "caches", "DP"), "ValueError: caches with something in them"),
        (with_value(None, "tokens"), "TypeError"),
        (lambda vocabulary: b"\xff\xfe", "UnicodeDecodeError"),
        (lambda vocabulary: "[1]", "TypeError"),
        (lambda vocabulary: "[" * 10**5, "RecursionError"),
    ],
)
def test_a_vocabulary_that_is_none(stranger, change, reason):
    said = stranger(change)
    assert f"model cannot be used ({reason}" in said


@pytest.mark.parametrize("size", [0, 100, 5000])
@pytest.mark.parametrize("network", ["encoder.onnx", "decoder.onnx"])
def test_a_network_that_is_none(tmp_path, network, size):
    folder = shutil.copytree(MODEL, tmp_path / "model")
    content = (folder / network).read_bytes()
    (folder / network).write_bytes(content[:size])
    with pytest.raises(SystemExit, match=r"model cannot be used \(.*$"):
        ExportedModel(str(folder))


def test_networks_of_another_vocabulary(tmp_path):
    folder = shutil.copytree(MODEL, tmp_path / "model")
    vocabulary = json.loads((folder / "vocabulary.json").read_text())
    vocabulary["caches"]["DP"] = [2, 2, 0, "S", 7]
    (folder / "vocabulary.json").write_text(json.dumps(vocabulary))
    lines, said, status = answer(["xor a & b c"], folder=folder)
    assert (lines, status) == ([], 1)
    assert "model cannot be used (" in said and len(said.splitlines()) == 1


PATTERNS = ["(a|a)*b", "(?:a+)+b", "a*a*a*a*b", "(a|a)(a|a)b", "[a-z]" * 300, "(?!x*)*(a)"]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_pattern_that_may_take_for_ever(stranger, pattern):
    said = stranger(with_value(pattern, "symbols"))
    assert "may take for ever to match; pass --symbols" in said


def test_a_pattern_that_is_none(stranger):
    assert "cannot be used (error: unterminated character set" in stranger(
        with_value("[a-", "symbols")
    )
    said = stranger(with_value("[a-z]", "symbols"), "(")
    assert "cannot be used (error: missing )" in said


def test_patterns_of_the_examples_can_be_exported(tmp_path):
    folder = shutil.copytree(MODEL, tmp_path / "model")
    vocabulary = json.loads((folder / "vocabulary.json").read_text())
    for pattern in (r"(?!xor$)[a-z]\w*", "<ent[0-9]+>|Ada|[a-z]", r"[a-z]|p\d+", "[a-ei-z][0-9]*"):
        (folder / "vocabulary.json").write_text(json.dumps({**vocabulary, "symbols": pattern}))
        assert ExportedModel(str(folder)).answer("xor a & a a", max_length=9).text
    with pytest.raises(CannotAnswer, match="^'cccc"):
        ExportedModel(str(folder)).answer("xor a & b " + "c" * 101)


def test_it_needs_numpy_and_onnxruntime_only():
    imported = {
        name.name.split(".")[0]
        for node in ast.walk(ast.parse(PROGRAM.read_text(encoding="utf-8")))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in ([ast.alias(node.module)] if isinstance(node, ast.ImportFrom) else node.names)
    }
    assert imported - set(sys.stdlib_module_names) == {"numpy", "onnxruntime"}
