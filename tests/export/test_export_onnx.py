"""Exported files compute what the model does, for every kind of model, and a program answers by them."""

import ast
import contextlib
import io
import json
import re
import shutil
import subprocess
import sys

import onnxruntime
import pytest
import torch
from command_line import ROOT, sit
from conftest import SOURCES, make_dictionary
from export.conftest import save_checkpoint

from examples.deployment.answer import CannotAnswer, ExportedModel
from sit_fairseq.errors import UserError
from sit_fairseq.export.for_onnx import check, files
from sit_fairseq.export.for_onnx.files import FILES
from sit_fairseq.model import Model

PROGRAM = ROOT / "examples" / "deployment" / "answer.py"
SHIPPED = ROOT / "examples" / "playground" / "models" / "prop"

KINDS = {
    "default": {},
    "three sorts, both cross-attentions, nothing cached": dict(
        dictionary=make_dictionary(pattern="early=[a-c]\nlate=[d-v]\\d*\nlast=[w-z]"),
        stream_attention="EA-CA-CP",
        encoder_positions="none",
        decoder_positions="sinusoidal",
        encoder_normalize_before=True,
        decoder_normalize_before=True,
        output_head="linear",
        layernorm_embedding=True,
        share_embeddings="none",
    ),
    "one stream": dict(
        dictionary=make_dictionary(pattern="early=[a-c]\nlate=[d-z]"),
        stream_attention="EP-DP-CP",
        symbol_embedding="fixed",
        decoder_positions="learned",
        tree_depth=20,
        scale_cosine_embedding=True,
    ),
}


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Exports a model of one layer, once: its checkpoint, the folder, and what the command said."""
    made = {}

    def export(kind):
        if kind not in made:
            torch.manual_seed(1)
            folder = tmp_path_factory.mktemp("onnx")
            checkpoint = save_checkpoint(folder / "model.pt", **KINDS[kind])
            said = io.StringIO()
            with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(said):
                patch.setattr(check, "SENTENCES", 12)
                sit("export", checkpoint, folder / "onnx", "--onnx")
            made[kind] = checkpoint, folder / "onnx", said.getvalue().splitlines()
        return made[kind]

    return export


@pytest.mark.parametrize("kind", KINDS)
def test_log_probabilities_and_answers_are_those_of_the_model(kind, exported):
    """With more symbols, tokens and hypotheses than in the example that the exporter is given."""
    checkpoint, folder, (compared, *named) = exported(kind)
    symbols, tokens, difference = re.fullmatch(
        r"12 sentences of up to (\d+) symbols and (\d+) tokens: .* by at most (\S+)", compared
    ).groups()
    assert int(symbols) >= 5 and int(tokens) > 20 and 0 < float(difference) < 1e-4
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    assert all(re.match(f"{folder}/.*: 0.* sha256 ", line) for line in named) and len(named) == 3
    model, program = Model.load(checkpoint), ExportedModel(folder)
    for beam in (1, 3):
        lines = [*SOURCES, "! " * 14 + "& a | b a"]  # deeper than trees have channels for
        for line, best in zip(lines, model.answer(lines, beams=(beam,), max_length=12)):
            answer = program.answer(line, beam, max_length=12)
            assert answer.text == best.text
            assert float(answer.score) == pytest.approx(best.score, abs=1e-4)


def test_symbols_without_a_vector_are_refused(exported):
    with pytest.raises(CannotAnswer, match="no embedding for 'z'"):
        ExportedModel(exported("one stream")[1]).answer("& a z")


def test_names_of_a_sort_are_exchangeable_and_others_are_not(exported):
    folder = exported(list(KINDS)[1])[1]
    model = ExportedModel(folder)
    first, within, across = map(model.answer, ("& a | d b", "& c | v7 a", "& d | a b"))
    names = {"a": "c", "d": "v7", "b": "a"}
    assert within.text == " ".join(names.get(token, token) for token in first.text.split())
    assert first.score == within.score != across.score
    other = ExportedModel(folder, symbols="late=x[0-9]\nearly=[a-z0-9]*\nlast=[A-Z]")
    assert other.patterns[0].pattern == "[a-z0-9]*"
    with pytest.raises(CannotAnswer, match="'x1' is of several sorts"):
        other.answer("& a x1")
    with pytest.raises(SystemExit, match="--symbols has to name early=REGEX late=REGEX"):
        ExportedModel(folder, symbols="[a-z]")


def compare(model, folder):
    return check.compare(model.core, folder, json.loads((folder / "vocabulary.json").read_text()))


def test_the_shipped_files_are_those_of_the_shipped_model(monkeypatch):
    monkeypatch.setattr(check, "SENTENCES", 12)
    assert "12 sentences" in compare(Model.load(ROOT / "checkpoints" / "prop"), SHIPPED)


@pytest.mark.parametrize("network", ["encoder", "decoder"])
def test_another_model_is_told_from_its_files(network, exported):
    checkpoint, folder, _ = exported("default")
    model = Model.load(checkpoint)
    with torch.no_grad():
        getattr(model.core, network).layers[0].fc1.bias.add_(0.01)
    with pytest.raises(UserError, match="the exported files and the model differ by"):
        compare(model, folder)


def test_a_model_that_is_exported_stays_as_it_was(tmp_path, monkeypatch):
    def write(model, folder):
        shutil.copytree(SHIPPED, folder, dirs_exist_ok=True)
        return json.loads((SHIPPED / "vocabulary.json").read_text())

    monkeypatch.setattr(files, "write", write)
    monkeypatch.setattr(check, "SENTENCES", 2)
    model = Model.load(ROOT / "checkpoints" / "prop")
    before = model.symbols, model.answer(["xor a & b c"])
    assert "2 sentences" in files.export(model, tmp_path)
    assert (model.symbols, model.answer(["xor a & b c"])) == before


def test_the_vocabulary_says_what_a_program_needs(exported):
    description = json.loads((exported("default")[1] / "vocabulary.json").read_text())
    assert description["tokens"] == "<s> <pad> </s> <unk> ! & 0 1 <-> xor |".split()
    assert description["symbols"] == "[a-z]"
    arity = {"!": 1, "&": 2, "<->": 2, "xor": 2, "|": 2}
    assert description["tree"] == {"arity": arity, "depth": 12}
    assert description["longest"] == {"source": 60, "target": 50}
    assert description["caches"] == {"DP": [1, 2, 0, "S", 24], "DA": [1, 2, 0, 24]}


def test_files_do_not_say_where_they_were_made(exported):
    for name in FILES:
        data = (exported("default")[1] / name).read_bytes()
        assert b"networks.py" not in data and str(ROOT).encode() not in data


@pytest.mark.parametrize(
    "options, option",
    [
        (dict(stream_attention="EP-DP-CP", symbol_embedding="canonical"), "embedding canonical"),
        (dict(fresh_symbols=2), "fresh_symbols 2"),
        (dict(stream_places="own"), "stream_places own"),
    ],
)
def test_what_cannot_be_exported_is_refused_by_name(options, option, tmp_path):
    checkpoint = save_checkpoint(tmp_path / "model.pt", **options)
    with pytest.raises(UserError, match=f"{option} cannot be exported"):
        sit("export", checkpoint, tmp_path / "onnx", "--onnx")
    assert not (tmp_path / "onnx").exists()


# The program.


@pytest.mark.parametrize(
    "line, reason",
    [
        ("", "empty"),
        ("& a B", "'B'"),
        ("& a <pad>", "'<pad>'"),
        ("& a", "too early"),
        ("! a b", "token 2"),
        ("& a " * 30 + "b", "61 tokens"),
    ],
)
def test_what_cannot_be_read_is_said(exported, line, reason):
    with pytest.raises(CannotAnswer, match=reason):
        ExportedModel(exported("default")[1]).read(line)


def test_renamed_sentences_have_renamed_answers_and_equal_scores():
    model = ExportedModel(SHIPPED, symbols=r"\S+")
    plain = model.answer("xor & a b | ! c a", max_length=20)
    renamed = model.answer("xor & 🦊 x1 | ! longer 🦊", max_length=20)
    names = {"a": "🦊", "b": "x1", "c": "longer"}
    assert renamed.text == " ".join(names.get(token, token) for token in plain.text.split())
    assert set(names) & set(plain.text.split())
    assert renamed.score == plain.score


def answer(lines, *options):
    """The answers of the program, what was said beside them, and the exit status."""
    command = [sys.executable, PROGRAM, SHIPPED, "--max-length", "9", *options]
    result = subprocess.run(command, input=b"\n".join([*lines, b""]), capture_output=True)
    return result.stdout.decode().splitlines(), result.stderr.decode(), result.returncode


def test_the_program_answers_each_line():
    lines, said, status = answer([b"xor a & b c", b"! c", b"xor x & p q"], "--scores")
    assert (said, status) == ("", 0)
    scores, answers = zip(*(line.split("\t") for line in lines))
    assert answers == ("a 1 b 0", "c 0", "x 1 p 0") and scores[0] == scores[2] != scores[1]
    names = ["--symbols", r"(?!xor$)[a-z]\w*", "--beam", "1"]
    lines, said, status = answer([b"& a", b"! speed_limit", b"\xff"], *names)
    assert lines == ["", "speed_limit 0", ""] and status == 1
    assert [line[:7] for line in said.splitlines()] == ["line 1:", "line 3:"]
    _, said, status = answer([], "--beam", "0")
    assert "--beam and --max-length must be at least 1" in said and status == 2


def test_the_program_needs_numpy_and_onnxruntime_only():
    imported = {
        name.name.split(".")[0]
        for node in ast.walk(ast.parse(PROGRAM.read_text(encoding="utf-8")))
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in ([ast.alias(node.module)] if isinstance(node, ast.ImportFrom) else node.names)
    }
    assert imported - set(sys.stdlib_module_names) == {"numpy", onnxruntime.__name__}
