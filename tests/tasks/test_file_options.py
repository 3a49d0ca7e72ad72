"""A checkpoint is data: what is taken from its options says what the model is, and nothing else."""

import argparse
import json
import socket
import tarfile
from pathlib import Path

import fairseq_cli.generate
import fairseq_cli.interactive
import fairseq_cli.validate
import pytest
import torch
from command_line import PLUG_IN, UNVALIDATED, run, sit, train
from fairseq.criterions import register_criterion
from fairseq.criterions.cross_entropy import CrossEntropyCriterion, CrossEntropyCriterionConfig
from fairseq.models import register_model
from tasks.conftest import load, options

from sit_fairseq.errors import UserError
from sit_fairseq.model import Model
from sit_fairseq.models.fairseq_adapter import (
    SymbolInvariantTransformerConfig,
    SymbolInvariantTransformerModel,
)
from sit_fairseq.storage.checkpoints import write_weights
from sit_fairseq.tasks.file_options import read_state

# As an attacker would write it: what runs it also leaves a trace.
CODE = "[(8, 3)] if open({!r}, 'w') else 0"


@pytest.fixture
def trace(tmp_path):
    """A file that no test may leave behind."""
    yield tmp_path / "trace"
    assert not (tmp_path / "trace").exists()


def as_args(state, **more) -> None:
    """The options as files from before fairseq 0.11 have them."""
    names = dict(arch="symbol_invariant_transformer", task="stream_translation", criterion="adacos")
    options = {**state["cfg"]["model"], **state["cfg"]["task"], **names, **more}
    state["args"], state["cfg"] = argparse.Namespace(**options), None


def hub_folder(checkpoint: Path, folder: Path) -> Path:
    """The same model as a folder of ``sit export --hub`` would have it."""
    state = torch.load(checkpoint, weights_only=True)
    folder.mkdir()
    write_weights(state["model"], str(folder / "model.safetensors"))
    (folder / "config.json").write_text(json.dumps({"cfg": state["cfg"]}))
    return folder / "model.safetensors"


def interpolated_code(trace: Path):
    """Options that refer to what holds the code."""

    def change(state):
        needed = ("max_source_positions", "max_target_positions", "min_params_to_wrap")
        model = {"_name": "transformer", **dict.fromkeys(needed, 9), "decoder": "${evil}"}
        state["cfg"]["evil"] = {"xformers_att_config": CODE.format(str(trace))}
        state["cfg"]["model"] = model

    return change


def test_every_command_reads_checkpoints_alike(trained, changed, tmp_path, trace):
    data, _ = trained
    evil = changed(interpolated_code(trace))
    (tmp_path / "typed").write_text("a\n")
    for side in ("src", "tgt"):
        (tmp_path / f"x.{side}").write_text("a\n")
    lines = ("prop", tmp_path / "x", "--result", tmp_path / "x.json")
    symbols = ("--symbols", "[a-z]", "--actual", "a", "--placeholder", "b")
    path = ("--path", evil, *PLUG_IN)
    for command in (
        lambda: run(fairseq_cli.generate, data, *path, "--gen-subset", "valid"),
        lambda: run(fairseq_cli.interactive, data, *path, "--input", tmp_path / "typed"),
        lambda: run(fairseq_cli.validate, data, *path, "--batch-size", 2),
        lambda: train(data, tmp_path / "restored", "--restore-file", evil),
        lambda: train(data, tmp_path / "tuned", "--finetune-from-model", evil),
        lambda: load(evil, data),
        lambda: load(hub_folder(evil, tmp_path / "hub"), data),
        lambda: sit("evaluate", *lines, "--path", evil),
        lambda: sit("convert", evil, tmp_path / "out.pt", *symbols),
        lambda: sit("export", evil, tmp_path / "small"),
        lambda: sit("export", evil, tmp_path / "small", "--onnx"),
    ):
        with pytest.raises(UserError, match=r"has '\$\{evil\}'"):
            command()
    assert not (tmp_path / "small").exists() and not (tmp_path / "out.pt").exists()


def code_in(*sections: str):
    """A transformer whose option holds code, at the top or within a section."""

    def hide(trace: Path):
        def change(state):
            name = "xformers_att_config" if sections else "adaptive_softmax_cutoff"
            options = {name: CODE.format(str(trace))}
            for section in sections:
                options = {section: options}
            needed = ("max_source_positions", "max_target_positions", "min_params_to_wrap")
            state["cfg"]["model"] = {"_name": "transformer", **dict.fromkeys(needed, 9), **options}

        return change

    return hide


def code_of(section: str, name: str):
    """A kind that evaluates its options."""

    def hide(trace: Path):
        code = CODE.format(str(trace))
        names = ("encoder_layers", "decoder_layers", "adaptive_softmax_cutoff", "wer_args")
        values = {**dict.fromkeys(names, code), "_name": name, "post_process": "letter"}
        return lambda state: state["cfg"].update({section: values})

    return hide


@pytest.mark.parametrize(
    "hide, message",
    [
        (code_of("model", "fconv"), "the model 'fconv'"),
        (code_of("criterion", "ctc"), "the criterion 'ctc'"),
        (code_of("task", "no_such_task"), "the task 'no_such_task'"),
        (code_in(), "adaptive_softmax_cutoff"),
        (code_in("encoder"), "xformers_att_config"),
    ],
)
@pytest.mark.parametrize("old", [False, True], ids=["cfg", "args"])
def test_nothing_that_runs_its_options_is_built(changed, trace, hide, message, old):
    def change(state):
        hide(trace)(state)
        if old:
            named = {
                name: state["cfg"][section]["_name"]
                for name, section in (("arch", "model"), ("task",) * 2, ("criterion",) * 2)
            }
            as_args(state, **{**state["cfg"]["criterion"], **named})

    with pytest.raises(UserError, match=f"evil.pt .*{message}"):
        read_state(str(changed(change)))


def test_control_fairseq_alone_runs_it(trained, changed, tmp_path, monkeypatch):
    evil = changed(code_in("encoder")(tmp_path / "control"))
    monkeypatch.setattr(
        "sit_fairseq.tasks.fairseq_patches.read_state",
        lambda path, *_: torch.load(path, weights_only=True),
    )
    with pytest.raises((Exception, SystemExit)):
        load(evil, trained[0])
    assert (tmp_path / "control").exists()


@pytest.mark.parametrize(
    "change, message",
    [
        (options("generation", replace_unk="${oc.env:HOME}"), "replace_unk"),
        (options("common", wandb_project=[{"${oc.env:HOME}": 1}]), "as a name in the section"),
        (lambda state: state["cfg"].update(common="${"), r"has '\$\{', which fairseq would"),
        (lambda state: as_args(state, seed="${oc.env:HOME}"), "as the option seed"),
        (options("task", source_lang="../x"), "the name of a file, as the option source_lang"),
        (options("task", data=torch.zeros(1)), "damaged: the option data of its task"),
        (options("model", tree_depth=10**9), "more than 1000000, as the option tree_depth"),
        (options("task", seed=10**30), "more than 4294967296, as the option seed"),
        (options("common", **{str(n): n for n in range(300_000)}), "more than 200000 values"),
        (options("bpe", _name=["bytes"]), r"names the bpe \['bytes'\], whose files are not"),
        (options("task", max_source_positions="???"), "lacks the option max_source_positions"),
        (lambda state: as_args(state, seed=r"'\x24{oc.env:HOME}'"), "the option seed of its task"),
    ],
)
def test_options_that_no_file_may_have(changed, change, message):
    with pytest.raises(UserError, match=f"evil.pt .*{message}"):
        read_state(str(changed(change)), {})


def test_options_without_an_end(changed):
    """One holds itself; another holds 10 lists of 10 lists, and so on, which take no place."""

    def in_itself(state):
        state["cfg"]["common"]["a"] = state["cfg"]

    def doubled(state):
        options = [1] * 10
        for _ in range(30):
            options = [options] * 10
        state["cfg"]["common"]["a"] = options

    for change in (in_itself, doubled):
        with pytest.raises(UserError, match="evil.pt is not a readable .* holds more than"):
            read_state(str(changed(change)))


@pytest.mark.parametrize("old", [False, True], ids=["cfg", "args"])
def test_a_file_says_nothing_of_commands(trained, changed, tmp_path, monkeypatch, old):
    """Neither what is imported, opened or written, nor how long a search takes."""
    (tmp_path / f"strange_{old}.py").write_text("open('imported', 'w')\n")
    (tmp_path / "secret").write_text("a b\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    judge, secret = f"strange_{old}:Judge", str(tmp_path / "secret")
    files = dict(replace_unk=secret, user_dir=secret, encoder_embed_path=secret, lm_path=secret)
    judges = dict(validate_semantics=judge, verify=judge, risk_semantics=judge)
    sizes = dict(required_seq_len_multiple=10**6, num_batch_buckets=10**6, beam=10**6, eval_bleu=1)
    words = {"update_freq": "x", "validate_args": json.dumps({"verify": judge})}
    more = {**files, **judges, **sizes, **words}

    def change(state):
        for section in ("task", "generation", "common", "criterion", "dataset", "optimization"):
            options(section, **more)(state)
        if old:
            as_args(state, **more)

    evil = changed(change)
    cfg = read_state(str(evil))["cfg"]
    assert not any(text in str(cfg) for text in (judge, secret, str(10**6)))
    assert load(evil, trained[0]).align_dict is None
    words = (trained[0], "--path", evil, *PLUG_IN, "--gen-subset", "valid", "--max-len-b", 3)
    run(fairseq_cli.generate, *words)
    assert not (tmp_path / "imported").exists()
    with pytest.raises(UserError, match=f"{judge} cannot be used"):
        run(fairseq_cli.generate, *words, "--verify", judge)
    assert (tmp_path / "imported").exists()


@pytest.mark.parametrize(
    "section, name, old", [("bpe", "gpt2", False), ("tokenizer", "moses", True)]
)
def test_a_file_does_not_say_what_is_fetched(trained, changed, monkeypatch, section, name, old):
    asked = []
    monkeypatch.setattr(socket, "create_connection", lambda *args, **_: asked.append(args))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **_: asked.append(args))
    files = {"gpt2_encoder_json": "http://127.0.0.1:9/key", "gpt2_vocab_bpe": "http://127.0.0.1:9"}

    def change(state):
        options(section, _name=name, **files)(state)
        if old:
            as_args(state, **files, **{section: name})

    evil = changed(change)
    with pytest.raises(UserError, match=f"the {section} '{name}'"):
        load(evil, trained[0])
    assert load(evil, trained[0], **{section: None}).cfg[section] is None
    assert read_state(str(evil))["cfg"][section] is None  # to train, or to export
    assert asked == []


def test_a_file_says_how_text_is_split_without_files(changed):
    state = read_state(str(changed(options("bpe", _name="characters"))), {})
    assert state["cfg"]["bpe"] == "characters"


def test_no_archive_is_unpacked(tmp_path, trace):
    """fairseq would remove it, and write wherever its members are named."""
    (tmp_path / "member").write_text("x")
    archive = tmp_path / "model.tar"
    with tarfile.open(archive, "w") as file:
        file.add(tmp_path / "member", "../../../../../../../../" + str(trace))
    load = SymbolInvariantTransformerModel.from_pretrained
    for place in ((archive,), (tmp_path, "model.tar", tmp_path / "no_such")):
        with pytest.raises(UserError, match="model.tar is not a readable fairseq checkpoint"):
            load(*place)
    for name in (tmp_path / "no_such", "./no_such", "http://127.0.0.1:9/model.tar"):
        with pytest.raises(UserError, match=f"{name} does not exist"):
            load(name)
    with pytest.raises(UserError, match="holds no model"):
        load(tmp_path)
    assert archive.exists()


def test_a_vanilla_model_keeps_numbers_and_forgets_files(tmp_path):
    harmless = dict(activation_fn="gelu", dropout=0.3, scale_attn=True)
    others = dict(encoder_embed_path="/etc/passwd", user_dir="x", data="y", lr=[0.1])
    others["decoder_embed_path"] = 1  # what is open already
    others["max_update"] = 5_000_000  # of the command
    model = argparse.Namespace(arch="transformer_tiny", **harmless, **others)
    state = {"model": {"w": torch.zeros(1)}, "cfg": {"model": model, "task": "translation"}}
    torch.save(state, tmp_path / "vanilla.pt")
    kept = vars(read_state(str(tmp_path / "vanilla.pt"))["cfg"]["model"])
    assert kept == {**harmless, "arch": "transformer_tiny", "_name": "transformer_tiny"}


@register_model("own_model", dataclass=SymbolInvariantTransformerConfig)
class OwnModel(SymbolInvariantTransformerModel):
    """As a folder of the caller's, given as ``--user-dir``, would register it."""


@register_criterion("own_loss", dataclass=CrossEntropyCriterionConfig)
class OwnLoss(CrossEntropyCriterion):
    """Likewise."""


def test_kinds_that_the_caller_brings_are_known(trained, tmp_path):
    words = ["--arch", "own_model", "--criterion", "own_loss", *UNVALIDATED]
    words += ["--encoder-layers", 1, "--encoder-embed-dim", 48]
    path = train(trained[0], tmp_path, *words, "--max-update", 1)
    cfg = read_state(str(path))["cfg"]
    assert (cfg["model"]["_name"], cfg["criterion"]["_name"]) == ("own_model", "own_loss")
    (answer,) = Model.load(path).answer(["! a"], max_length=9)
    assert answer.score is not None


def test_what_no_command_reads_again_is_not_trained(trained, tmp_path):
    for words, what in (
        (("--arch", "lstm", "--criterion", "cross_entropy"), "the model lstm"),
        (("--criterion", "ctc"), "the criterion ctc"),
    ):
        with pytest.raises(UserError, match=f"checkpoint of {what} is read"):
            train(trained[0], tmp_path / "new", *words, "--max-update", 1)
    with pytest.raises(UserError, match="is a folder.*change finetune_from_model"):
        train(trained[0], tmp_path / "new", "--finetune-from-model", tmp_path)
