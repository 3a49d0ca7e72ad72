"""A checkpoint is data: what is taken from its options says what the model is, and nothing else."""

import argparse
import json
import pickle
import resource
import socket
import struct
import tarfile
import time
import zipfile
from collections import Counter, OrderedDict
from pathlib import Path

import fairseq_cli.generate
import fairseq_cli.interactive
import fairseq_cli.validate
import numpy
import pytest
import torch
from command_line import PLUG_IN, run, sit, train
from omegaconf import OmegaConf
from tasks.conftest import load, options, set_tensor

from sit_fairseq.errors import UserError
from sit_fairseq.models.symbol_invariant_transformer import SymbolInvariantTransformerModel
from sit_fairseq.storage import checkpoints
from sit_fairseq.storage.hub_folder import write_weights
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
    for file in (evil, hub_folder(evil, tmp_path / "hub")):
        path = ("--path", file, *PLUG_IN)
        for command in (
            lambda: run(fairseq_cli.generate, data, *path, "--gen-subset", "valid"),
            lambda: run(fairseq_cli.interactive, data, *path, "--input", tmp_path / "typed"),
            lambda: run(fairseq_cli.validate, data, *path, "--batch-size", 2),
            lambda: train(data, tmp_path / "restored", "--restore-file", file),
            lambda: train(data, tmp_path / "tuned", "--finetune-from-model", file),
            lambda: load(file, data),
            lambda: sit("evaluate", *lines, "--path", file),
            lambda: sit("convert", file, tmp_path / "out.pt", *symbols),
            lambda: sit("export", file, tmp_path / "small"),
            lambda: sit("export", file, tmp_path / "small", "--hub"),
            lambda: sit("export", file, tmp_path / "small", "--onnx"),
        ):
            with pytest.raises(UserError, match=r"has '\$\{evil\}', which fairseq would replace"):
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
        (code_of("model", "fconv"), "names the model 'fconv', which is not"),
        (code_of("model", "lightconv_lm"), "names the model 'lightconv_lm', which is not"),
        (code_of("criterion", "ctc"), "names the criterion 'ctc', which is not"),
        (code_of("task", "no_such_task"), "names the task 'no_such_task', which is not"),
        (code_in(), "fairseq would run .* as the option adaptive_softmax_cutoff"),
        (code_in("encoder"), "fairseq would run .* as the option xformers_att_config"),
        (code_in("decoder"), "fairseq would run .* as the option xformers_att_config"),
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


@pytest.mark.parametrize("hide", [code_of("model", "fconv"), code_in("encoder")])
def test_control_fairseq_alone_runs_it(trained, changed, tmp_path, monkeypatch, hide):
    evil = changed(hide(tmp_path / "control"))
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
        (options("generation", replace_unk="${oc.env:HOME}"), "as the option replace_unk"),
        (options("common", wandb_project=[{"${oc.env:HOME}": 1}]), "as a name in the section"),
        (lambda state: state["cfg"].update(common="${"), r"has '\$\{', which fairseq would"),
        (lambda state: as_args(state, seed="${oc.env:HOME}"), "as the option seed"),
        (options("task", source_lang="../x"), "the name of a file, as the option source_lang"),
        (options("task", target_lang="$(touch x)"), "name of a file, as the option target_lang"),
        (
            options("task", data=torch.zeros(1)),
            "damaged: the option data of its task is of another",
        ),
        (options("task", data=b"x"), "damaged: the option data of its task is of another"),
        (options("model", tree_depth=10**9), "more than 1000000, as the option tree_depth"),
        (options("model", max_source_positions=float("nan")), "nan, more than 1000000"),
        (options("task", seed=10**30), "more than 4294967296, as the option seed"),
        (options("common", **{str(n): n for n in range(10**6)}), "more than 200000 values"),
        (options("bpe", _name=["bytes"]), r"names the bpe \['bytes'\], whose files are not"),
        (options("task", seed="x"), "damaged: the option seed of its task is of another kind"),
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

    def empty(state):
        options = ()
        for _ in range(30):
            options = (options,) * 10
        state["cfg"]["common"]["a"] = options

    for change in (in_itself, doubled, empty):
        with pytest.raises(UserError, match="evil.pt is not a readable .* holds more than"):
            read_state(str(changed(change)))


@pytest.mark.parametrize("old", [False, True], ids=["cfg", "args"])
def test_a_file_says_nothing_of_commands(trained, changed, tmp_path, monkeypatch, old):
    """Neither what is imported, opened or written, nor how long a search takes."""
    data, _ = trained
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
    path = ("--path", evil, *PLUG_IN)
    run(fairseq_cli.generate, data, *path, "--gen-subset", "valid", "--max-len-b", 3)
    run(fairseq_cli.validate, data, *path, "--batch-size", 2)
    model = load(evil, data)
    assert model.align_dict is None and model.translate(["& a b"], max_len_b=3)
    assert not (tmp_path / "imported").exists()
    with pytest.raises(UserError, match=f"{judge} cannot be used"):
        model.translate(["& a b"], verify=judge, max_len_b=3)
    assert (tmp_path / "imported").exists()


@pytest.mark.parametrize("old", [False, True], ids=["cfg", "args"])
@pytest.mark.parametrize("section, name", [("bpe", "gpt2"), ("tokenizer", "moses")])
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
    with pytest.raises(UserError, match=f"names the {section} '{name}', whose files are not for a"):
        load(evil, trained[0])
    assert load(evil, trained[0], **{section: None}).cfg[section] is None
    assert read_state(str(evil))["cfg"][section] is None  # to train, or to export
    assert asked == []


@pytest.mark.parametrize("section, name", [("bpe", "characters"), ("tokenizer", "space")])
def test_a_file_says_how_text_is_split_without_files(changed, section, name):
    assert read_state(str(changed(options(section, _name=name))), {})["cfg"][section] == name


class Reduced:
    """Is written down as the call of a function."""

    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call


def disguised(values: dict, kind: type, **attributes):
    """A dictionary with other methods, which it will have for whoever reads the file."""
    return Reduced(kind, (), attributes, None, iter(list(values.items())))


@pytest.mark.parametrize("kind", [OrderedDict, Counter])
def test_no_dictionary_hides_what_it_holds(changed, kind):
    """The names of a model would be resolved from the environment, and exported."""

    def change_section(state):
        evil = {**state["cfg"]["task"], "fresh_names": "${oc.env:HOME}"}
        state["cfg"]["task"] = disguised(evil, kind, items=list)

    def change_all(state):
        options("task", fresh_names="${oc.env:HOME}")(state)
        state["cfg"] = disguised(state["cfg"], kind, items=list)

    for change in (change_section, change_all):
        with pytest.raises(UserError, match="evil.pt (has '..oc.env:HOME|is not a readable)"):
            read_state(str(changed(change)))


def test_no_tensor_says_another_size(changed):
    def change(state):
        tensor = torch.zeros(1).expand(1 << 20, 1 << 20)
        tensor.numel = int
        set_tensor(tensor)(state)

    with pytest.raises(UserError, match="evil.pt is not a .* asks for '.*rebuild_from_type"):
        read_state(str(changed(change)))


def test_nothing_in_a_file_is_resolved_as_it_is_read(changed):
    evil = OmegaConf.create({"a": ["${oc.env:HOME}"]})
    for change in (options("common", a=evil), lambda state: state["extra_state"].update(best=evil)):
        with pytest.raises(UserError, match="evil.pt is not a .* asks for '.*DictConfig'"):
            read_state(str(changed(change)))


def test_bytes_are_no_objects_of_numpy(changed, tmp_path):
    """numpy would take them for addresses, which ends the process at best."""
    state = (3, "|", None, ("a",), {"a": (numpy.dtype("O"), 0)}, 8, 1, 0)
    for evil in (
        Reduced(numpy.dtype, ("V8", False, True), state),
        Reduced(numpy.dtype, ("O", False, True)),
        Reduced(numpy.dtypes.ObjectDType, ()),
        Reduced(numpy.dtypes.VoidDType, (8,)),
    ):
        file = changed(lambda state: state.update(extra=evil))
        with pytest.raises(UserError, match="evil.pt is not a readable fairseq checkpoint"):
            read_state(str(file))
    torch.save(Reduced(numpy.ndarray, ((1,), "O", bytes(8))), tmp_path / "evil.pt")
    with pytest.raises(pickle.UnpicklingError, match="asks for 'numpy.ndarray'"):
        checkpoints.read(str(tmp_path / "evil.pt"))


def uni(text: str) -> bytes:
    return b"X" + struct.pack("<I", len(text)) + text.encode()


def doubling(number: int) -> bytes:
    """Each step doubles a text."""
    text = b"c_codecs\nencode\n" + uni("x" * 64) + uni("latin1") + b"\x86R"
    for _ in range(number):
        text = b"c_codecs\nencode\n" + text + uni("hex") + b"\x86R"
    return text


FLOATS = b"ctorch\nFloatTensor\nJ\xff\xff\xff\x7f\x85R"
BYTES = b"cbuiltins\nbytearray\nJ\xff\xff\xff\x7f\x85R"
# One text of many bytes, made into bytes again and again.
AGAIN = (
    uni("x" * 10**5) + b"q\x00" + b"".join([b"c_codecs\nencode\nh\x00X\x06\0\0\0latin1\x86R"] * 99)
)
# A tuple of tuples as a name, whose hash takes for ever.
KEY = b"}(" + b")" + b"q\x01h\x01h\x01\x87" * 60 + b"K\x01u"


@pytest.mark.parametrize(
    "body, message",
    [
        (doubling(40), "asks for '_codecs.encode'"),
        (BYTES, "asks for 'builtins.bytearray'"),
        (b"cbuiltins\nlist\n" + BYTES + b"\x85R", "asks for 'builtins.list'"),
        (FLOATS, "asks for 'torch.FloatTensor'"),
        (b"(" + AGAIN + b"l", "torch.save does not write|more than 200000 values"),
        (b"]" + b"(" + AGAIN + b"e", "more than 200000 values"),
        (KEY, "a name is no text or number"),
        (b"]q\x05h\x05a", "nested more than"),
        (b"N" + b"\x85" * 10**5, "nested more than"),
        (b"r\xff\xff\xff\x7f", "fairseq checkpoint"),
        (b"X\xff\xff\xff\x7f", "fairseq checkpoint"),
        (b"\x8e" + b"\xff" * 7 + b"\x7f", "fairseq checkpoint"),
    ],
)
def test_a_small_file_takes_little(tmp_path, body, message):
    with zipfile.ZipFile(tmp_path / "evil.pt", "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02}" + uni("x") + body + b"s.")
    before, most = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UserError, match=f"evil.pt is not .*({message})"):
        read_state(str(tmp_path / "evil.pt"))
    assert time.process_time() - before < 2
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - most < 100_000  # KiB


def test_files_of_old_pytorch_are_read(trained, tmp_path):
    state = torch.load(trained[1], weights_only=True)
    torch.save(state, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    old, new = checkpoints.read(str(tmp_path / "old.pt")), checkpoints.read(str(trained[1]))
    assert old["cfg"] == new["cfg"] == state["cfg"]
    assert list(old["model"]) == list(new["model"]) == list(state["model"])
    for name, weight in state["model"].items():
        assert torch.equal(old["model"][name], weight) and torch.equal(new["model"][name], weight)


def test_tied_matrices_share_their_bytes_but_not_without_end(trained, changed):
    weights = checkpoints.read(str(trained[1]))["model"]
    first, second = (weights[f"{side}.embed_tokens.weight"] for side in ("encoder", "decoder"))
    assert first.data_ptr() == second.data_ptr()

    def change(state):
        large = torch.zeros(10**6)
        state["model"].update({f"x{number}": large[number:] for number in range(99)})

    with pytest.raises(UserError, match="tensors have 16 times the bytes of the file"):
        read_state(str(changed(change)))


def test_nothing_is_unpacked_to_more_than_there_is(trained, tmp_path):
    with zipfile.ZipFile(trained[1]) as plain:
        with zipfile.ZipFile(tmp_path / "evil.pt", "w") as packed:
            for entry in plain.infolist():
                packed.writestr(entry.filename, plain.read(entry), zipfile.ZIP_DEFLATED)
            packed.writestr("archive/data/9999", bytes(10**7), zipfile.ZIP_DEFLATED)
    with pytest.raises(UserError, match="is not a readable .* unpacks to more than it holds"):
        read_state(str(tmp_path / "evil.pt"))


def test_metrics_may_be_of_numpy(tmp_path):
    values = [numpy.float64(1.5), numpy.int64(3), numpy.bool_(True), numpy.arange(6).reshape(2, 3)]
    torch.save(values, tmp_path / "metrics.pt")
    *numbers, array = checkpoints.read(str(tmp_path / "metrics.pt"))
    assert numbers == [1.5, 3, True] and list(map(type, numbers)) == [float, int, bool]
    assert torch.equal(array, torch.arange(6).reshape(2, 3))


def test_no_archive_is_unpacked(tmp_path, trace):
    """fairseq would remove it, and write wherever its members are named."""
    (tmp_path / "member").write_text("x")
    archive = tmp_path / "model.tar"
    with tarfile.open(archive, "w") as file:
        file.add(tmp_path / "member", "../../../../../../../../" + str(trace))
    for name in (archive, tmp_path / "no_such", "./no_such", "http://127.0.0.1:9/model.tar"):
        with pytest.raises(UserError, match=f"{name} is no folder; name one that is there"):
            SymbolInvariantTransformerModel.from_pretrained(str(name))
    with pytest.raises(UserError, match="no_such is no folder; name one that is there"):
        data = str(tmp_path / "no_such")
        SymbolInvariantTransformerModel.from_pretrained(str(tmp_path), "model.tar", data)
    with pytest.raises(OSError, match="Model file not found: .*model.pt"):
        SymbolInvariantTransformerModel.from_pretrained(str(tmp_path))
    assert archive.exists()


def test_a_vanilla_model_keeps_numbers_and_forgets_files(tmp_path):
    harmless = dict(activation_fn="gelu", dropout=0.3, scale_attn=True)
    others = dict(encoder_embed_path="/etc/passwd", user_dir="x", data="y", lr=[0.1])
    others["decoder_embed_path"] = 1  # what is open already
    model = argparse.Namespace(arch="transformer_tiny", **harmless, **others)
    state = {"model": {"w": torch.zeros(1)}, "cfg": {"model": model, "task": "translation"}}
    torch.save(state, tmp_path / "vanilla.pt")
    kept = vars(read_state(str(tmp_path / "vanilla.pt"))["cfg"]["model"])
    assert kept == {**harmless, "arch": "transformer_tiny", "_name": "transformer_tiny"}
