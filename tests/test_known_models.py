"""A checkpoint is data: what its options name is built only if it is known to keep them data."""

import argparse
from pathlib import Path

import fairseq_cli.generate
import fairseq_cli.interactive
import fairseq_cli.validate
import pytest
import torch
from command_line import PLUG_IN, UNVALIDATED, preprocess_lines, run, train

from sit_fairseq.errors import UserError
from sit_fairseq.models.symbol_invariant_transformer import SymbolInvariantTransformerModel

# As an attacker would write it: what runs it also leaves a trace.
CODE = "[(8, 3)] if open({!r}, 'w') else 0"


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Binarised data and a model of one update."""
    root = tmp_path_factory.mktemp("known")
    data = preprocess_lines(root, ["& a ! b", "! c"], ["a 1 b 0", "c 0"], split="valid")
    return data, train(data, root / "model", "--max-update", 1, *UNVALIDATED)


def changed(checkpoint: Path, target: Path, change) -> Path:
    """A copy of a checkpoint with other content."""
    state = torch.load(checkpoint, weights_only=True)
    change(state)
    torch.save(state, target)
    return target


def with_code(section: str, name: str, trace: Path):
    """Names what evaluates its options, in one section of the configuration."""

    def change(state):
        options = {"_name": name, "wer_args": CODE.format(str(trace)), "post_process": "letter"}
        for option in ("encoder_layers", "decoder_layers", "adaptive_softmax_cutoff"):
            options[option] = CODE.format(str(trace))
        state["cfg"][section] = options

    return change


def commands(data, checkpoint, tmp_path):
    """Everything that builds what a checkpoint names."""
    (tmp_path / "typed").write_text("a\n")
    path = ("--path", checkpoint, *PLUG_IN)
    yield lambda: run(fairseq_cli.generate, data, *path, "--gen-subset", "valid")
    yield lambda: run(fairseq_cli.interactive, data, *path, "--input", tmp_path / "typed")
    yield lambda: run(fairseq_cli.validate, data, *path, "--batch-size", 2)
    yield lambda: train(data, tmp_path / "restored", "--restore-file", checkpoint)
    yield lambda: train(data, tmp_path / "tuned", "--finetune-from-model", checkpoint)
    yield lambda: SymbolInvariantTransformerModel.from_pretrained(
        str(checkpoint.parent), checkpoint.name, str(data)
    )


@pytest.mark.parametrize(
    "section, name",
    [("model", "fconv"), ("model", "lightconv_lm"), ("criterion", "ctc"), ("task", "no_such_task")],
)
def test_nothing_unknown_is_built(trained, tmp_path, section, name):
    data, checkpoint = trained
    trace = tmp_path / "trace"
    evil = changed(checkpoint, tmp_path / "evil.pt", with_code(section, name, trace))
    for command in commands(data, evil, tmp_path):
        with pytest.raises(UserError, match=f"evil.pt names the {section} '{name}', which is not"):
            command()
    assert not trace.exists()


def test_old_options_are_looked_at_too(trained, tmp_path):
    data, checkpoint = trained
    trace = tmp_path / "trace"

    def change(state):
        state["args"] = argparse.Namespace(
            arch="fconv", task="translation", encoder_layers=CODE.format(str(trace))
        )

    evil = changed(checkpoint, tmp_path / "evil.pt", change)
    for command in commands(data, evil, tmp_path):
        with pytest.raises(UserError, match="names the model 'fconv'"):
            command()
    assert not trace.exists()


def code_in(trace: Path, *sections: str):
    """A transformer whose option holds code, at the top or within a section."""

    def change(state):
        code = CODE.format(str(trace))
        options = {"xformers_att_config" if sections else "adaptive_softmax_cutoff": code}
        for section in sections:
            options = {section: options}
        # fairseq 0.12.2 stops at the first of these that is missing.
        needed = ("max_source_positions", "max_target_positions", "min_params_to_wrap")
        state["cfg"]["model"] = {"_name": "transformer", **dict.fromkeys(needed, 9), **options}

    return change


@pytest.mark.parametrize(
    "sections, option",
    [((), "adaptive_softmax_cutoff"), (("encoder",), "xformers"), (("decoder",), "xformers")],
)
def test_evaluated_options_of_the_transformer(trained, tmp_path, sections, option):
    data, checkpoint = trained
    trace = tmp_path / "trace"
    evil = changed(checkpoint, tmp_path / "evil.pt", code_in(trace, *sections))
    for command in commands(data, evil, tmp_path):
        with pytest.raises(UserError, match=f"option {option}.* of its model"):
            command()
    assert not trace.exists()


@pytest.mark.parametrize(
    "hide",
    [lambda trace: with_code("model", "fconv", trace), lambda trace: code_in(trace, "encoder")],
)
def test_control_fairseq_alone_runs_it(trained, tmp_path, monkeypatch, hide):
    _, checkpoint = trained
    trace = tmp_path / "trace"
    evil = changed(checkpoint, tmp_path / "evil.pt", hide(trace))
    monkeypatch.setattr("sit_fairseq.safe_loading.refuse_unknown_kinds", lambda path, state: None)
    with pytest.raises((Exception, SystemExit)):
        next(commands(trained[0], evil, tmp_path))()
    assert trace.exists()


def without(*names):
    def change(state):
        for name in names:
            del state[name]

    return change


def set_model(**options):
    return lambda state: state["cfg"]["model"].update(options)


def set_vocabulary(name, numbers):
    name = f"encoder.embed_tokens.vocabulary.{name}"
    return lambda state: state["model"].update({name: torch.tensor(numbers)})


def set_weight(name, *shape):
    return lambda state: state["model"].update({name: torch.zeros(*shape)})


def without_weight(name):
    return lambda state: state["model"].pop(f"encoder.embed_tokens.vocabulary.{name}")


def claim_more(state):
    name = "encoder.layers.0.fc1.weight"
    state["model"][name] = torch.zeros(1).expand(1 << 20, 1 << 20)


@pytest.mark.parametrize(
    "change, message",
    [
        (without("model"), "it lacks 'model', the weights by name"),
        (lambda state: state.update(model={}), "it lacks 'model', the weights by name"),
        (lambda state: state.update(model={"a": 1}), "it lacks 'model', the weights by name"),
        (without("cfg"), "not a readable fairseq checkpoint"),
        (claim_more, "damaged: encoder.layers.0.fc1.weight has .* numbers, but the file holds 4"),
        (set_model(encoder_layers=10**9), "options say encoder_layers 1000000000, its weights 2"),
        (set_model(decoder_ffn_embed_dim=10**9), "say decoder_ffn_embed_dim 1000000000"),
        (set_model(encoder_embed_dim=10**9), "say encoder_embed_dim 1000000000"),
        (set_model(encoder_attention_heads=0), "channels do not divide into 0 heads"),
        (set_model(decoder_attention_heads=-4), "channels do not divide into -4 heads"),
        (set_model(encoder_attention_heads="many"), "damaged"),
        (set_model(dropout="much"), "damaged"),
        (set_model(stream_attention="XX"), "'XX'"),
        (set_model(encoder_positions="sideways"), "damaged"),
        (set_model(layer_norm_eps=float("nan")), "--layer-norm-eps nan must be positive"),
        (set_vocabulary("base_tokens", [255.0, 254.0]), "damaged"),
        (set_vocabulary("base_tokens", [float("nan")]), "damaged"),
        (set_vocabulary("base_tokens", [-1.0]), "damaged"),
        (set_vocabulary("base_tokens", [1e9]), "damaged"),
        (set_vocabulary("symbols", [255.0]), "damaged"),
        (set_vocabulary("symbols", [float("inf")]), "damaged"),
        (set_vocabulary("symbols", list(map(float, b"[a-"))), "not a regular expression"),
        (set_vocabulary("base_tokens", list(map(float, b"a\nb"))), "matches 'a' 'b'"),
        (without_weight("symbols"), "damaged"),
        (without_weight("base_tokens"), "damaged"),
        (lambda state: state.update(cfg={"model": None}), "damaged"),
        (lambda state: state.update(cfg=3), "damaged"),
        (lambda state: state.update(cfg="fconv"), "damaged"),
        (lambda state: state.update(cfg=[1]), "damaged"),
        (lambda state: state["cfg"].update(model=7), "damaged"),
        (set_weight("encoder.layers.0.fc1.weight", 3), "size mismatch for encoder.layers.0.fc1"),
        (set_weight("decoder.layers.1.fc2.weight", 0, 9), "size mismatch for decoder.layers.1.fc2"),
        (set_weight("encoder.layers.0.fc7.weight", 3), "not those of the model that is built"),
        (lambda state: state["model"].pop("encoder.layers.0.fc1.weight"), "Missing key"),
    ],
)
def test_malformed_checkpoints_are_one_sentence(trained, tmp_path, change, message):
    data, checkpoint = trained
    damaged = changed(checkpoint, tmp_path / "damaged.pt", change)
    with pytest.raises(UserError, match=message):
        next(commands(data, damaged, tmp_path))()


@pytest.mark.parametrize("old", [False, True], ids=["cfg", "args"])
def test_what_is_imported_is_not_for_a_checkpoint_to_say(trained, tmp_path, monkeypatch, old):
    data, checkpoint = trained
    (tmp_path / f"strange_{old}.py").write_text("open('imported', 'w')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    judge = f"strange_{old}:Judge"

    def change(state):
        for option in ("validate_semantics", "verify"):
            state["cfg"]["task"][option] = judge
        if old:
            options = {**state["cfg"]["model"], **state["cfg"]["task"]}
            options.update(arch="symbol_invariant_transformer", task="stream_translation")
            options.update(criterion="adacos")
            state["args"], state["cfg"] = argparse.Namespace(**options), None

    named = changed(checkpoint, tmp_path / "named.pt", change)
    path = ("--path", named, *PLUG_IN)
    run(fairseq_cli.generate, data, *path, "--gen-subset", "valid")
    run(fairseq_cli.validate, data, *path, "--batch-size", 2)
    model = SymbolInvariantTransformerModel.from_pretrained(str(tmp_path), "named.pt", str(data))
    assert model.translate(["& a b"]) and not (tmp_path / "imported").exists()
    with pytest.raises(UserError, match=f"--verify {judge} cannot be used"):
        model.translate(["& a b"], verify=judge)
    assert (tmp_path / "imported").exists()
