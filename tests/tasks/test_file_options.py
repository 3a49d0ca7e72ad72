"""A checkpoint is data: what its options name is built only if it is known to keep them data."""

import argparse
import json
import shutil
import socket
import tarfile
import zipfile
from pathlib import Path

import fairseq_cli.generate
import fairseq_cli.interactive
import fairseq_cli.validate
import numpy
import pytest
import torch
from command_line import PLUG_IN, UNVALIDATED, preprocess_lines, run, sit, train
from omegaconf import OmegaConf

from sit_fairseq.errors import UserError
from sit_fairseq.models.symbol_invariant_transformer import SymbolInvariantTransformerModel
from sit_fairseq.storage import checkpoints as safe_loading
from sit_fairseq.storage.hub_folder import write_weights

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
    yield lambda: load(checkpoint, data)


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
    for check in ("refuse_unknown_kinds", "refuse_programs", "refuse_other_shapes"):
        monkeypatch.setattr(f"sit_fairseq.tasks.fairseq_patches.{check}", lambda *_: None)
    with pytest.raises((Exception, SystemExit)):
        next(commands(trained[0], evil, tmp_path))()
    assert trace.exists()


def as_args(state, **more) -> None:
    """The options as files from before fairseq 0.11 have them."""
    options = {**state["cfg"]["model"], **state["cfg"]["task"], **more}
    options.update(arch="symbol_invariant_transformer", task="stream_translation")
    options.update(criterion="adacos")
    state["args"], state["cfg"] = argparse.Namespace(**options), None


def hub_folder(checkpoint: Path, folder: Path) -> Path:
    """The same model as a folder of ``sit export --hub`` would have it."""
    state = torch.load(checkpoint, weights_only=True)
    folder.mkdir()
    write_weights(state["model"], str(folder / "model.safetensors"))
    (folder / "config.json").write_text(json.dumps({"cfg": state["cfg"]}))
    return folder / "model.safetensors"


def other_commands(checkpoint, tmp_path):
    """What reads a checkpoint beside fairseq's commands."""
    lines = (tmp_path / "x", "--semantics", "prop", "--result", tmp_path / "x.json")
    for side in ("src", "tgt"):
        (tmp_path / f"x.{side}").write_text("a\n")
    yield lambda: sit("evaluate", "correct", "--path", checkpoint, *lines)
    yield lambda: sit("export", checkpoint, tmp_path / "small")
    yield lambda: sit("export", checkpoint, tmp_path / "small", "--hub")
    yield lambda: sit("export-onnx", checkpoint, tmp_path / "onnx")


def interpolated_code(trace: Path):
    """Options that refer to what holds the code; a control shows that fairseq runs it."""

    def change(state):
        needed = ("max_source_positions", "max_target_positions", "min_params_to_wrap")
        options = {"_name": "transformer", **dict.fromkeys(needed, 9), "decoder": "${evil}"}
        state["cfg"]["evil"] = {"xformers_att_config": CODE.format(str(trace))}
        state["cfg"]["model"] = options

    return change


def test_nothing_is_put_in_place_of_options(trained, tmp_path):
    data, checkpoint = trained
    trace = tmp_path / "trace"
    evil = changed(checkpoint, tmp_path / "evil.pt", interpolated_code(trace))
    folder = hub_folder(evil, tmp_path / "hub")
    for file in (evil, folder):
        for command in (*commands(data, file, tmp_path), *other_commands(file, tmp_path)):
            with pytest.raises(
                UserError, match=r"has '\$\{evil\}', which fairseq would replace by"
            ):
                command()
    assert not trace.exists() and not (tmp_path / "small").exists()


def test_a_name_of_an_option_is_looked_at_too(trained, tmp_path):
    data, checkpoint = trained

    def change(state):
        state["cfg"]["common"] = {"wandb_project": [{"${oc.env:HOME}": 1}]}

    evil = changed(checkpoint, tmp_path / "evil.pt", change)
    for command in other_commands(evil, tmp_path):
        with pytest.raises(UserError, match=r"has '\$\{oc.env:HOME\}', which fairseq would"):
            command()


def load(checkpoint, data):
    """fairseq's interface in Python."""
    return SymbolInvariantTransformerModel.from_pretrained(
        str(checkpoint.parent), checkpoint.name, str(data)
    )


def test_other_names_of_what_is_built(trained, tmp_path):
    """fairseq looks for the task at ``task.task`` before ``task._name``; likewise for others."""
    data, checkpoint = trained
    trace = tmp_path / "trace"
    code = CODE.format(str(trace))

    def task(state):
        state["cfg"]["task"].update(task="multilingual_translation", left_pad_source=code)

    def criterion(state):
        options = {"criterion": "ctc", "wer_args": code, "post_process": "letter"}
        state["cfg"]["criterion"] = argparse.Namespace(_name="adacos", **options)

    evil = changed(checkpoint, tmp_path / "evil.pt", task)
    with pytest.raises(UserError, match="names the task 'multilingual_translation', which is not"):
        load(evil, data)
    changed(checkpoint, evil, criterion)
    with pytest.raises(UserError, match="names the criterion 'ctc', which is not built"):
        run(fairseq_cli.validate, data, "--path", evil, *PLUG_IN, "--batch-size", 2)
    assert not trace.exists()


@pytest.fixture
def no_network(monkeypatch):
    """Notes each address that somebody asks for."""
    asked = []

    def connect(address, *args, **kwargs):
        asked.append(address)
        raise OSError("no network")

    monkeypatch.setattr(socket, "create_connection", connect)
    monkeypatch.setattr(socket, "getaddrinfo", connect)
    monkeypatch.setenv("HOME", "/tmp")
    yield
    assert asked == []


@pytest.mark.parametrize("old", [False, True], ids=["cfg", "args"])
@pytest.mark.parametrize("section, name", [("bpe", "gpt2"), ("tokenizer", "moses")])
def test_a_file_does_not_say_what_is_fetched(trained, tmp_path, no_network, section, name, old):
    data, checkpoint = trained
    options = {
        "gpt2_encoder_json": "http://127.0.0.1:9/key",
        "gpt2_vocab_bpe": "http://127.0.0.1:9",
    }

    def change(state):
        state["cfg"][section] = {"_name": name, **options}
        if old:
            as_args(state, **options, **{section: name})

    evil = changed(checkpoint, tmp_path / "evil.pt", change)
    with pytest.raises(UserError, match=f"names the {section} '{name}', whose files are not for a"):
        load(evil, data)
    model = SymbolInvariantTransformerModel.from_pretrained(
        str(tmp_path), evil.name, str(data), **{section: None}
    )
    assert model.cfg[section] is None
    train(data, tmp_path / "tuned", "--finetune-from-model", evil, "--max-update", 1, *UNVALIDATED)


@pytest.mark.parametrize(
    "section, options, message",
    [
        ("optimizer", {"_name": "os.system"}, "names the optimizer 'os.system', which is not"),
        ("lr_scheduler", {"_name": 3}, "names the lr_scheduler 3, which is not"),
        ("scoring", {"_name": "no_such"}, "names the scoring 'no_such', which is not"),
        ("bpe", {"_name": ["bytes"]}, r"names the bpe \['bytes'\], whose files are not"),
        ("generation", {"replace_unk": "${oc.env:HOME}"}, "as the option replace_unk"),
        ("task", {"source_lang": "../x"}, "make the name of a file, as the option source_lang"),
        ("task", {"target_lang": "$(touch x)"}, "the name of a file, as the option target_lang"),
        ("task", {"eval_bleu_detok": "os"}, "as the option eval_bleu_detok"),
        ("task", {"eval_bleu_args": '{"verify": "os:x"}'}, "as the option eval_bleu_args"),
        ("task", {"eval_bleu_args": r'{"a":"\u0022"}'}, "as the option eval_bleu_args"),
        ("task", {"data": torch.zeros(1)}, "what is no text and no number, but Tensor"),
        ("common", {"a": OmegaConf.create({"b": 1})}, "no number, but DictConfig, as the option a"),
        ("model", {"tree_depth": 10**9}, "more than 1000000, as the option tree_depth"),
        ("model", {"max_source_positions": float("nan")}, "nan, more than 1000000"),
        ("generation", {"sampling_topk": 10**9}, "as the option sampling_topk"),
        ("common", {str(n): n for n in range(10**5)}, "holds more than 100000 options"),
    ],
)
def test_options_that_no_file_may_have(trained, tmp_path, section, options, message):
    data, checkpoint = trained

    def change(state):
        state["cfg"][section] = {**(state["cfg"][section] or {}), **options}

    evil = changed(checkpoint, tmp_path / "evil.pt", change)
    with pytest.raises(UserError, match=f"evil.pt .*{message}"):
        load(evil, data)


def test_options_without_an_end(trained, tmp_path):
    """One holds itself; another holds 10 lists of 10 lists, and so on, which take no place."""
    data, checkpoint = trained

    def in_itself(state):
        state["cfg"]["common"]["a"] = state["cfg"]

    def doubled(state):
        options = [1] * 10
        for _ in range(30):
            options = [options] * 10
        state["cfg"]["common"]["a"] = options

    for change in (in_itself, doubled):
        evil = changed(checkpoint, tmp_path / "evil.pt", change)
        with pytest.raises(UserError, match="evil.pt (is not a readable|holds more than)"):
            load(evil, data)


@pytest.mark.parametrize(
    "seed", ["'$' '{oc.env:HOME}'", r"'\x24{oc.env:HOME}'", "${oc.env:HOME}", "x"]
)
def test_old_options_are_no_words_of_a_command_line(trained, tmp_path, monkeypatch, seed):
    """fairseq reads texts among them as Python's, and writes them down for hydra to read."""
    data, checkpoint = trained
    monkeypatch.setenv("HOME", "17")
    evil = changed(checkpoint, tmp_path / "evil.pt", lambda state: as_args(state, seed=seed))
    with pytest.raises(
        UserError, match="evil.pt (has .* as the option seed|is damaged: the option seed)"
    ):
        load(evil, data)


def test_options_of_validation_are_data(trained, tmp_path):
    """JSON has its own way to write ``${``."""
    data, checkpoint = trained

    def change(state):
        arguments = r'{"beam": 1, "replace_unk": "\u0024{oc.env:HOME}"}'
        state["cfg"]["task"].update(validate_semantics="prop", validate_args=arguments)

    evil = changed(checkpoint, tmp_path / "evil.pt", change)
    with pytest.raises(UserError, match="--validate-args must be a JSON object"):
        run(fairseq_cli.validate, data, "--path", evil, *PLUG_IN, "--batch-size", 2)


def test_a_file_does_not_say_what_is_opened(trained, tmp_path):
    data, checkpoint = trained
    (tmp_path / "secret").write_text("a b\n")

    def change(state):
        state["cfg"]["generation"]["replace_unk"] = str(tmp_path / "secret")

    evil = changed(checkpoint, tmp_path / "evil.pt", change)
    model = load(evil, data)
    assert model.align_dict is None and model.cfg.generation.replace_unk is None


class Reduced:
    """Is written down as the call of a function."""

    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call


def test_bytes_are_no_objects_of_numpy(trained, tmp_path):
    """numpy would take them for addresses, which ends the process at best."""
    data, checkpoint = trained
    state = (3, "|", None, ("a",), {"a": (numpy.dtype("O"), 0)}, 8, 1, 0)
    for evil in (
        Reduced(numpy.dtype, ("V8", False, True), state),
        Reduced(numpy.dtype, ("O", False, True)),
        Reduced(numpy.dtypes.ObjectDType, ()),
        Reduced(numpy.dtypes.VoidDType, (8,)),
    ):
        file = changed(checkpoint, tmp_path / "evil.pt", lambda state: state.update(extra=evil))
        with pytest.raises(UserError, match="evil.pt is not a readable fairseq checkpoint"):
            load(file, data)
    # Of this one, which would be made of the bytes, nothing is left.
    empty = Reduced(numpy.ndarray, ((1,), "O", bytes(8)))
    torch.save(empty, tmp_path / "evil.pt")
    assert safe_loading.read(str(tmp_path / "evil.pt")).size == 0


def test_nothing_is_unpacked_to_more_than_there_is(trained, tmp_path):
    data, checkpoint = trained
    with zipfile.ZipFile(checkpoint) as plain, zipfile.ZipFile(tmp_path / "evil.pt", "w") as packed:
        for entry in plain.infolist():
            packed.writestr(entry.filename, plain.read(entry), zipfile.ZIP_DEFLATED)
        packed.writestr("archive/data/9999", bytes(10**7), zipfile.ZIP_DEFLATED)
    with pytest.raises(
        UserError, match="evil.pt is not a readable .* unpacks to more than it holds"
    ):
        load(tmp_path / "evil.pt", data)


def test_metrics_may_be_of_numpy(tmp_path):
    values = [numpy.float64(1.5), numpy.int64(3), numpy.bool_(True), numpy.arange(6).reshape(2, 3)]
    torch.save(values, tmp_path / "metrics.pt")
    for found, value in zip(safe_loading.read(str(tmp_path / "metrics.pt")), values):
        assert type(found) is type(value) and found.dtype == value.dtype
        assert numpy.array_equal(found, value)


def test_no_archive_is_unpacked(trained, tmp_path):
    """fairseq would remove it, and write wherever its members are named."""
    (tmp_path / "member").write_text("x")
    archive = tmp_path / "model.tar"
    with tarfile.open(archive, "w") as file:
        file.add(tmp_path / "member", "../../../../../../../../" + str(tmp_path / "trace"))
    for name in (archive, tmp_path / "no_such", "http://127.0.0.1:9/model.tar"):
        with pytest.raises(UserError, match=f"{name} is no folder; name the one that holds the"):
            SymbolInvariantTransformerModel.from_pretrained(str(name))
    with pytest.raises(UserError, match="no_such is no folder; name one of fairseq-preprocess"):
        data = str(tmp_path / "no_such")
        SymbolInvariantTransformerModel.from_pretrained(str(tmp_path), "model.tar", data)
    with pytest.raises(UserError, match="has no model.pt; name the checkpoint in it"):
        SymbolInvariantTransformerModel.from_pretrained(str(tmp_path))
    assert archive.exists() and not (tmp_path / "trace").exists()


def test_names_of_files_are_no_commands(trained, tmp_path, monkeypatch):
    """fairseq takes languages from them, and gives those of proteins to a shell."""
    data, checkpoint = trained
    monkeypatch.chdir(tmp_path)
    folder, lang = tmp_path / "data", "a$(touch trace)"
    folder.mkdir()
    for side, name in (("src", lang), ("tgt", "b")):
        shutil.copy(data / "dict.src.txt", folder / f"dict.{name}.txt")
        for end in ("idx", "bin"):
            shutil.copy(
                data / f"valid.src-tgt.{side}.{end}", folder / f"valid.{lang}-b.{name}.{end}"
            )
        (folder / f"valid.{lang}-b.{name}.fasta").write_text(">x\na\n")

    def change(state):
        state["cfg"]["task"].update(dataset_impl="fasta", source_lang=None, target_lang=None)

    evil = changed(checkpoint, tmp_path / "evil.pt", change)
    with pytest.raises(UserError, match="'fasta', which fairseq would run"):
        run(fairseq_cli.validate, folder, "--path", evil, *PLUG_IN, "--batch-size", 2)
    assert not (tmp_path / "trace").exists()


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


def set_tensor(tensor):
    return lambda state: state["model"].update({"encoder.layers.0.fc1.weight": tensor})


def set_task(**options):
    return lambda state: state["cfg"]["task"].update(options)


def without_weight(name):
    return lambda state: state["model"].pop(f"encoder.embed_tokens.vocabulary.{name}")


def claim_more(state):
    name = "encoder.layers.0.fc1.weight"
    state["model"][name] = torch.zeros(1).expand(1 << 20, 1 << 20)


def claim_layers(state):
    state["cfg"]["model"]["encoder_layers"] = 10**5
    state["model"]["encoder.layers.99999.fc1.weight"] = torch.zeros(1)


@pytest.mark.parametrize(
    "change, message",
    [
        (without("model"), "it lacks 'model', the weights by name"),
        (lambda state: state.update(model={}), "it lacks 'model', the weights by name"),
        (lambda state: state.update(model={"a": 1}), "it lacks 'model', the weights by name"),
        (without("cfg"), "not a readable fairseq checkpoint"),
        (claim_more, "damaged: encoder.layers.0.fc1.weight has .* numbers, but the file holds 4"),
        (set_model(encoder_layers=10**5), "options say encoder_layers 100000, its weights 2"),
        (set_model(decoder_ffn_embed_dim=10**5), "say decoder_ffn_embed_dim 100000"),
        (set_model(encoder_embed_dim=10**9), "1000000000, more than 1000000, as the option enc"),
        (claim_layers, "options say encoder_layers 100000, its weights 3"),
        (set_model(encoder_attention_heads=0), "channels do not divide into 0 heads"),
        (set_model(decoder_attention_heads=-4), "channels do not divide into -4 heads"),
        (set_model(encoder_attention_heads="many"), "damaged"),
        (set_model(dropout="much"), "damaged"),
        (set_model(stream_attention="XX"), "'XX'"),
        (set_model(encoder_positions="sideways"), "--encoder-positions 'sideways' is unknown"),
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
        (lambda state: state.update(args={"task": "translation"}), "it lacks 'cfg' or 'args', the"),
        (lambda state: state.update(cfg="fconv"), "damaged"),
        (lambda state: state.update(cfg=[1]), "damaged"),
        (lambda state: state["cfg"].update(model=7), "damaged"),
        (set_tensor(torch.eye(3).to_sparse()), "fc1.weight is no plain tensor"),
        (set_tensor(torch.eye(3).to_sparse_csr()), "fc1.weight is no plain tensor"),
        (set_tensor(torch.nested.nested_tensor([torch.ones(2)])), "fc1.weight is no plain tensor"),
        (set_tensor(torch.quantize_per_tensor(torch.eye(3), 1, 0, torch.qint8)), "no plain tensor"),
        (set_tensor(torch.zeros(3, device="meta")), "fc1.weight is no plain tensor"),
        (set_tensor(torch.full((256, 64), float("nan"))), "fc1.weight holds NaN or numbers beyond"),
        (set_tensor(torch.full((256, 64), 1e30)), "fc1.weight holds NaN or numbers beyond 1000000"),
        (
            lambda state: state["cfg"].update(common="${"),
            r"has '\$\{', which fairseq would replace",
        ),
        (lambda state: state["cfg"].update(task=None), "it names no model or no task"),
        (set_task(seed="x"), "damaged: the option seed of its task is of another kind"),
        (set_task(update_freq="x"), "damaged: the option update_freq of its task is of another"),
        (set_task(max_source_positions="???"), "its task lacks the option max_source_positions"),
        (set_vocabulary("symbols", list(map(float, b"(" * 5000 + b"a" + b")" * 5000))), "longer"),
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
        state["cfg"]["generation"]["verify"] = judge
        if old:
            as_args(state)

    named = changed(checkpoint, tmp_path / "named.pt", change)
    path = ("--path", named, *PLUG_IN)
    run(fairseq_cli.generate, data, *path, "--gen-subset", "valid")
    run(fairseq_cli.validate, data, *path, "--batch-size", 2)
    model = load(named, data)
    assert model.translate(["& a b"]) and not (tmp_path / "imported").exists()
    with pytest.raises(UserError, match=f"{judge} cannot be used"):
        model.translate(["& a b"], verify=judge)
    assert (tmp_path / "imported").exists()
