"""Small checkpoints to be shipped."""

import errno
import os
import resource
import shutil

import pytest
import torch
from command_line import ROOT, sit
from vanilla_models import load

from sit_fairseq.errors import UserError
from sit_fairseq.models.fairseq_adapter import SymbolInvariantTransformerModel

SHIPPED = ROOT / "checkpoints" / "prop"
from_pretrained = SymbolInvariantTransformerModel.from_pretrained


def test_weights_are_halved_and_paths_left_out(tmp_path, capsys):
    state = load(SHIPPED / "model.pt")
    state["cfg"]["task"]["data"] = "/home/me"
    state["cfg"]["checkpoint"] = {"save_dir": "/home/me"}
    state["last_optimizer_state"] = {"lr": 1.0}
    weights = state["model"]
    state["model"] = {
        name: value.float() if value.is_floating_point() else value
        for name, value in weights.items()
    }
    torch.save(state, tmp_path / "trained.pt")
    sit("export", tmp_path / "trained.pt", tmp_path / "small")
    exported = load(tmp_path / "small" / "model.pt")
    assert "/home/me" not in str(exported["cfg"]) and "last_optimizer_state" not in exported
    assert exported["model"].keys() == weights.keys()
    for name, value in exported["model"].items():
        assert value.dtype == weights[name].dtype and torch.equal(value, weights[name]), name
    for name in ("dict.src.txt", "dict.tgt.txt"):
        assert (tmp_path / "small" / name).read_text() == (SHIPPED / name).read_text()
    assert "MiB, sha256 " in capsys.readouterr().out


@pytest.mark.parametrize("form", [(), ("--hub",)])
def test_the_domains_of_a_planner_come_along(form, tmp_path):
    planner = ROOT / "checkpoints" / "planning"
    sit("export", planner, tmp_path, *form)
    for file in (planner / "domains").iterdir():
        assert (tmp_path / "domains" / file.name).read_bytes() == file.read_bytes()


@pytest.mark.parametrize("options", [(), ("--onnx",)])
def test_what_cannot_be_exported_is_refused(tmp_path, options):
    other = {"model": "transformer", "task": "translation"}
    ours = load(SHIPPED / "model.pt")["model"]
    for weights, why in (({"weight": torch.zeros(1)}, "sit convert"), (ours, "options say")):
        torch.save({"model": weights, "cfg": other}, tmp_path / "other.pt")
        with pytest.raises(UserError, match=f"other.pt .*{why}"):
            sit("export", tmp_path / "other.pt", tmp_path / "small", *options)
    (tmp_path / "empty.pt").write_bytes(b"")
    for name in ("empty.pt", "gone.pt"):
        with pytest.raises(UserError, match=name):
            sit("export", tmp_path / name, tmp_path / "small", *options)
    assert not (tmp_path / "small").exists()


@pytest.mark.parametrize("options", [(), ("--hub",), ("--onnx",)])
def test_a_folder_that_cannot_be_made_is_named(options, tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "under"):
        with pytest.raises(UserError, match=str(folder)):
            sit("export", SHIPPED / "model.pt", folder, *options)


@pytest.fixture
def little_room():
    """No file can be longer than 100 kB, as if a disk were full then."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("name, options", [("model.pt", ()), ("model.safetensors", ("--hub",))])
def test_no_room_for_the_files(tmp_path, little_room, name, options):
    (tmp_path / "small").mkdir()
    (tmp_path / "small" / name).write_text("before")
    with pytest.raises(UserError, match="Cannot write .*small.*: File too large; write somewhere"):
        sit("export", SHIPPED / "model.pt", tmp_path / "small", *options)
    assert [path.name for path in (tmp_path / "small").iterdir()] == [name]
    assert (tmp_path / "small" / name).read_text() == "before"


@pytest.mark.parametrize("options", [(), ("--hub",)])
def test_no_export_is_written_over_its_model(tmp_path, options):
    sit("export", SHIPPED / "model.pt", tmp_path, *options)
    (file,) = (path for path in tmp_path.iterdir() if path.name.startswith("model"))
    before = file.read_bytes()
    with pytest.raises(UserError, match=f"{file.name} would be written over"):
        sit("export", file, tmp_path, *options)
    assert file.read_bytes() == before


def test_no_model_is_read_in_place_of_the_exported_one(tmp_path):
    sit("export", SHIPPED.parent / "copy/model.pt", tmp_path)
    with pytest.raises(UserError, match="model.pt would be read in place of model.safetensors"):
        sit("export", SHIPPED / "model.pt", tmp_path, "--hub")


def test_dictionaries_of_data_are_kept(tmp_path):
    (tmp_path / "train.src-tgt.src.idx").write_bytes(b"")
    with pytest.raises(UserError, match="holds binary data"):
        sit("export", SHIPPED / "model.pt", tmp_path)
    assert len(list(tmp_path.iterdir())) == 1


def test_only_files_of_domains_come_along(tmp_path):
    (tmp_path / "in/domains/old").mkdir(parents=True)
    (tmp_path / "in/domains/words.json").write_text("{}")
    (tmp_path / "in/model.pt").write_bytes((SHIPPED / "model.pt").read_bytes())
    (tmp_path / "in/spm.model").write_bytes(b"pieces")
    sit("export", tmp_path / "in/model.pt", tmp_path / "out")
    assert [path.name for path in (tmp_path / "out/domains").iterdir()] == ["words.json"]
    assert (tmp_path / "out/spm.model").read_bytes() == b"pieces"


def test_no_room_for_networks(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("sit_fairseq.export.for_onnx.files.write", full)
    with pytest.raises(UserError, match="Cannot write .*onnx: No space left on device; make room"):
        sit("export", SHIPPED / "model.pt", tmp_path / "onnx", "--onnx")
    assert list((tmp_path / "onnx").iterdir()) == []


def test_options_that_are_missing_have_their_defaults(tmp_path):
    state = load(SHIPPED / "model.pt")
    parts = {section: state["cfg"][section] for section in ("model", "task")}
    torch.save({"model": state["model"], "cfg": parts}, tmp_path / "bare.pt")
    sit("export", tmp_path / "bare.pt", tmp_path / "small")
    bare, whole = (
        load(path)["cfg"] for path in (tmp_path / "small" / "model.pt", SHIPPED / "model.pt")
    )
    assert bare["model"].items() >= whole["model"].items() and bare.keys() <= whole.keys()


@pytest.fixture(scope="module")
def hub(tmp_path_factory):
    """The shipped model as a folder to upload."""
    folder = tmp_path_factory.mktemp("export") / "hub"
    sit("export", SHIPPED / "model.pt", folder, "--hub")
    return folder


def test_a_folder_to_upload_answers_like_its_checkpoint(hub):
    names = ["README.md", "config.json", "dict.src.txt", "dict.tgt.txt", "model.safetensors"]
    assert sorted(path.name for path in hub.iterdir()) == names
    card = (hub / "README.md").read_text()
    assert card.startswith("---\nlicense: mit\n") and "\n---\n\n# prop" in card
    ours, theirs = (from_pretrained(str(folder)) for folder in (hub, SHIPPED))
    weights = theirs.core.state_dict()
    assert ours.core.state_dict().keys() == weights.keys()
    for name, value in ours.core.state_dict().items():
        assert torch.equal(value, weights[name]), name
    lines = ["xor a & b c", "<-> p ! q"]
    assert ours.answer(lines) == theirs.answer(lines)


def test_a_folder_to_upload_is_a_checkpoint_to_export(hub, tmp_path):
    sit("export", hub / "model.safetensors", tmp_path / "back")
    weights, back = (load(folder / "model.pt")["model"] for folder in (SHIPPED, tmp_path / "back"))
    assert back.keys() == weights.keys()
    assert all(torch.equal(value, weights[name]) for name, value in back.items())


@pytest.mark.parametrize("option", ["--hub", "--transformers"])
def test_a_card_that_was_edited_is_kept(tmp_path, option):
    sit("export", SHIPPED / "model.pt", tmp_path / "out", option)
    card = tmp_path / "out" / "README.md"
    edited = card.read_text() + "\n## Use\n\nas you like\n"
    card.write_text(edited)
    sit("export", SHIPPED / "model.pt", tmp_path / "out", option)
    assert card.read_text() == edited
    sit("export", tmp_path / "out" / "model.safetensors", tmp_path / "copy", option)
    assert (tmp_path / "copy" / "README.md").read_text() == edited


@pytest.mark.parametrize(
    "name, reason", [("README.md", ".*is not UTF-8"), ("spm.model", "is no BPE model")]
)
def test_a_file_beside_the_checkpoint_that_is_another(name, reason, tmp_path):
    shutil.copy(SHIPPED / "model.pt", tmp_path)
    (tmp_path / name).write_bytes(b"\xff\n")
    with pytest.raises(UserError, match=f"^[^\n]*{name}.*{reason}[^\n]*$"):
        sit("export", tmp_path / "model.pt", tmp_path / "out", "--transformers")
    assert not (tmp_path / "out").exists()


def test_a_card_lists_the_options_there_are(tmp_path):
    state = load(SHIPPED / "model.pt")
    del state["cfg"]["model"]["symbol_embedding"], state["cfg"]["task"]["symbols"]
    torch.save(state, tmp_path / "model.pt")
    sit("export", tmp_path / "model.pt", tmp_path / "out", "--hub")
    made = (tmp_path / "out" / "README.md").read_text()
    assert "| symbols | `(?!xor$)[A-Za-z_]\\w*` |" in made and "symbol embedding" not in made


def test_a_pipe_is_not_waited_for(hub, tmp_path):
    folder = shutil.copytree(hub, tmp_path / "damaged")
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")
    with pytest.raises(UserError, match="config.json does not hold the options"):
        from_pretrained(str(folder))


@pytest.mark.parametrize(
    "name, change",
    [
        ("model.safetensors", lambda content: b""),
        ("model.safetensors", lambda content: content[:5000]),
        ("model.safetensors", lambda content: b"\xff" * 8 + content[8:]),
        ("config.json", lambda content: b"[]"),
    ],
)
def test_a_damaged_folder_is_one_sentence(hub, tmp_path, name, change):
    folder = shutil.copytree(hub, tmp_path / "damaged")
    (folder / name).write_bytes(change((hub / name).read_bytes()))
    with pytest.raises(UserError, match=f"^[^\n]*{name}[^\n]*$"):
        from_pretrained(str(folder))
