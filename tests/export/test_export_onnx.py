"""Exported files answer as fairseq does, for every kind of model."""

import json
import math
import re

import numpy
import pytest
import torch
from command_line import ROOT, sit
from conftest import OPERATORS, SOURCES, make_dictionary, make_model, redraw
from constrained_export import ConstrainedModel
from export.conftest import save_checkpoint

from sit_fairseq.domains.ltl.traces import parse_trace
from sit_fairseq.domains.prop.propositional import parse_assignment
from sit_fairseq.errors import UserError
from sit_fairseq.export import self_check
from sit_fairseq.export.answer import CannotAnswer, ExportedModel
from sit_fairseq.export.grammars import GRAMMARS
from sit_fairseq.export.onnx_files import FILES, write
from sit_fairseq.export.self_check import compare
from sit_fairseq.model import Model

SHIPPED = ROOT / "examples" / "playground" / "models" / "prop"

KINDS = {
    "both cross-attentions": dict(
        stream_attention="EP-DP-DA-CA-CP",
        encoder_positions="sinusoidal",
        decoder_positions="learned",
        encoder_normalize_before=True,
        decoder_normalize_before=True,
    ),
    "nothing aggregated": dict(
        stream_attention="EP-DP-CP",
        encoder_positions="rope",
        output_head="linear",
        layernorm_embedding=True,
        share_embeddings="none",
    ),
    "projected trees": dict(
        stream_attention="EP-DA-CP",
        tree_depth=20,
        aggregated_normalize_before=True,
        scale_cosine_embedding=True,
        decoder_positions="sinusoidal",
    ),
    "one stream": dict(
        dictionary=make_dictionary(pattern="early=[a-c]\nlate=[d-z]"),
        stream_attention="EP-DP-CP",
        symbol_embedding="fixed",
    ),
    "three sorts, separate matrices": dict(
        dictionary=make_dictionary(pattern="early=[a-c]\nlate=[d-v]\\d*\nlast=[w-z]"),
        stream_attention="EP-DP-CP",
        encoder_positions="rope",
        output_head="linear",
        share_embeddings="none",
    ),
    "nothing cached": dict(
        stream_attention="EA-CA", encoder_positions="none", decoder_positions="none"
    ),
}


@pytest.fixture(autouse=True)
def few_sentences(monkeypatch):
    """However long they take."""
    monkeypatch.setattr(self_check, "SENTENCES", 12)
    monkeypatch.setattr(self_check, "SECONDS", math.inf)


@pytest.fixture(scope="module")
def default(tmp_path_factory):
    """The checkpoint of a model with streams, and its files."""
    torch.manual_seed(1)
    folder = tmp_path_factory.mktemp("default")
    checkpoint = save_checkpoint(folder / "model.pt")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(self_check, "SENTENCES", 1)
        sit("export", checkpoint, folder / "onnx", "--onnx")
    return checkpoint, folder / "onnx"


@pytest.mark.parametrize("kind", KINDS)
def test_answers_and_scores_are_those_of_fairseq(kind, tmp_path, capsys):
    """With more symbols, tokens and hypotheses than in the example that the exporter is given."""
    checkpoint = save_checkpoint(tmp_path / "model.pt", **KINDS[kind])
    sit("export", checkpoint, tmp_path / "onnx", "--onnx")
    said = capsys.readouterr().out
    compared = re.match(
        r"12 sentences of up to (\d+) symbols and (\d+) tokens: greedy and beam 3 answers are those "
        r"of the model(?:, but for \d+ of equal scores)?; scores differ by at most (\S+)\n",
        said,
    )
    symbols, tokens, difference = map(float, compared.groups())
    assert symbols >= 5 and tokens > 20 and 0 <= difference < 1e-5
    assert sorted(path.name for path in (tmp_path / "onnx").iterdir()) == sorted(FILES)
    assert f"{tmp_path}/onnx/decoder.onnx: 0." in said
    if kind == "one stream":
        with pytest.raises(CannotAnswer, match="no embedding for 'z'"):
            ExportedModel(tmp_path / "onnx").answer("& a z")
    if kind == "three sorts, separate matrices":
        check_names_of_sorts(tmp_path / "onnx")


@pytest.mark.parametrize("semantics, parse", [("prop", parse_assignment), ("ltl", parse_trace)])
def test_constrained_answers_are_those_of_the_package(semantics, parse, default, tmp_path):
    checkpoint, folder = default
    decoder = Model.load(str(checkpoint))
    model, dictionary = decoder.core, decoder.core.vocabulary.dictionary
    if semantics == "ltl":
        dictionary = make_dictionary(base=(*OPERATORS, "0", "1", ";", "{", "}"))
        model = redraw(make_model(dictionary, encoder_layers=1, decoder_positions="rope").eval())
        write(model, folder := tmp_path)
    grammar = GRAMMARS[semantics]()
    exported, unbound, free = ConstrainedModel(folder, grammar), ExportedModel(folder), 0
    asked = Model([model])
    for source in SOURCES:
        for beam, longest in [(1, 5), (3, 3), (3, 12)]:
            options = dict(beams=(beam,), constrained=grammar, max_length=longest)
            (best,) = asked.answer([source], **options)
            answer = exported.answer(source, beam, max_length=longest)
            assert answer.text == best.text
            assert answer.score == pytest.approx(best.score, abs=1e-4)
            parse(answer.text.split())
            free += answer.text != unbound.answer(source, beam, max_length=longest).text
    assert free > 0


def test_the_shipped_files_are_those_of_the_shipped_model():
    decoder = Model.load(str(ROOT / "checkpoints/prop/model.pt"))
    agreement = compare(decoder, str(SHIPPED))
    assert agreement.sentences == 12 and agreement.ties == 0


def test_no_sentence_is_begun_once_time_is_up(monkeypatch):
    """But for the first ones, as a busy machine might compare none."""
    monkeypatch.setattr(self_check, "SECONDS", 0)
    decoder = Model.load(str(ROOT / "checkpoints/prop/model.pt"))
    assert compare(decoder, str(SHIPPED)).sentences == 10


def test_another_model_is_told_from_its_files(default):
    checkpoint, folder = default
    decoder = Model.load(str(checkpoint))
    with torch.no_grad():
        decoder.core.decoder.layers[0].fc1.bias.add_(0.01)
    with pytest.raises(UserError, match="the exported files answer .* the model with"):
        compare(decoder, str(folder))


def test_renamed_sentences_have_renamed_answers_and_equal_scores():
    model = ExportedModel(SHIPPED, symbols=r"\S+")
    plain = model.answer("xor & a b | ! c a", max_length=20)
    renamed = model.answer("xor & 🦊 x1 | ! longer 🦊", max_length=20)
    names = {"a": "🦊", "b": "x1", "c": "longer"}
    assert renamed.text == " ".join(names.get(token, token) for token in plain.text.split())
    assert set(names) & set(plain.text.split())
    assert renamed.score == plain.score


def check_names_of_sorts(folder):
    """Renamed within them, answers have the same scores; else they are others, or there is none."""
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


def test_the_vocabulary_says_what_a_program_needs(default):
    description = json.loads((default[1] / "vocabulary.json").read_text())
    assert description["tokens"] == [
        *("<s>", "<pad>", "</s>", "<unk>"),
        *("!", "&", "0", "1", "<->", "xor", "|"),
    ]
    assert description["symbols"] == "[a-z]"
    assert description["tree"] == {
        "arity": {"!": 1, "&": 2, "<->": 2, "xor": 2, "|": 2},
        "depth": 12,
    }
    assert description["longest"] == {"source": 60, "target": 50}
    assert description["caches"] == {"DP": [1, 2, 0, "S", 24], "DA": [1, 2, 0, 24]}


@pytest.mark.parametrize(
    "line, reason",
    [
        ("", "the sentence is empty"),
        ("& a B", "'B' is no symbol and no token"),
        ("& a <pad>", "'<pad>' is no symbol and no token"),
        ("& a", "ends too early"),
        ("! a b", "complete after token 2, but more follow"),
        ("& a " * 30 + "b", "61 tokens are more than 59"),
    ],
)
def test_what_cannot_be_read_is_said(default, line, reason):
    with pytest.raises(CannotAnswer, match=reason):
        ExportedModel(default[1]).read(line)


def test_files_do_not_say_where_they_were_made(default):
    for name in FILES:
        data = (default[1] / name).read_bytes()
        assert b"one_sentence.py" not in data and str(ROOT).encode() not in data


def test_paths_are_those_of_the_package(default):
    sentence = ExportedModel(default[1]).read("& ! a xor b & c 0")[1]
    paths = numpy.full((8 + 1, 12), -1)
    steps = [[], [0], [0, 0], [1], [0, 1], [1, 1], [0, 1, 1], [1, 1, 1]]
    for row, path in zip(paths, steps):
        row[: len(path)] = path
    assert (sentence["tree"] == paths).all()


@pytest.mark.parametrize(
    "options, option",
    [
        (dict(stream_attention="EP-DP-CP", symbol_embedding="canonical"), "embedding canonical"),
        (dict(stream_attention="EP-DP-CP", symbol_embedding="random"), "embedding random"),
        (dict(fresh_symbols=2), "fresh_symbols"),
        (dict(stream_places="own"), "stream_places own"),
    ],
)
def test_what_cannot_be_exported_is_refused_by_name(options, option, tmp_path):
    checkpoint = save_checkpoint(tmp_path / "model.pt", **options)
    with pytest.raises(UserError, match=f"{option} cannot be exported"):
        sit("export", checkpoint, tmp_path / "onnx", "--onnx")
    assert not (tmp_path / "onnx").exists()


def test_deeper_formulas_are_read_as_by_fairseq(default):
    checkpoint, folder = default
    deep = "! " * 14 + "& a b"
    (answer,) = Model.load(str(checkpoint)).answer([deep])
    assert ExportedModel(folder).answer(deep).text == answer.text
