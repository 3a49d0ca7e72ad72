"""Files of other versions and precisions, damaged files, and how the result is written."""

import hashlib
import re
import shutil

import pytest
import torch
from vanilla_models import edited, failing, load

# Files of other versions.


def fast_path(state):
    """What fairseq 0.12.2 writes: stale copies, and a buffer beside the positions."""
    model = state["model"]
    for layer in (f"encoder.layers.{i}" for i in range(2)):
        for kind in ("weight", "bias"):
            for name, size in (("in_proj", 48), ("out_proj", 16), ("fc1", 24), ("fc2", 16)):
                model[f"{layer}.{name}_{kind}"] = torch.zeros(size, 24 if name == "fc2" else 16)
    model["encoder.embed_positions._float_tensor"] = torch.zeros(1)
    model["decoder.embed_positions._float_tensor"] = torch.zeros(1)


def one_namespace(state):
    """Before fairseq 0.11 all options were in ``args``."""
    state["args"] = state.pop("cfg")["model"]


def fused_projection(state):
    """Before fairseq 0.8 an attention had one projection, and layers numbered norms."""
    one_namespace(state)
    model = state["model"]
    for prefix in [n[: -len("q_proj.weight")] for n in model if n.endswith("q_proj.weight")]:
        for kind in ("weight", "bias"):
            parts = [model.pop(f"{prefix}{part}_proj.{kind}") for part in "qkv"]
            model[f"{prefix}in_proj_{kind}"] = torch.cat(parts)
    for name in list(model):
        for old, new in enumerate(("self_attn_layer_norm", "final_layer_norm")):
            if name.startswith("encoder.") and f".{new}." in name:
                model[name.replace(new, f"layer_norms.{old}")] = model.pop(name)


def half(state):
    state["model"] = {n: t.half() for n, t in state["model"].items()}


@pytest.mark.parametrize("change", [fast_path, one_namespace, fused_projection, half])
def test_other_versions_and_precisions(vanilla, convert, tmp_path, change):
    expected = load(convert(vanilla("shared"))[0])["model"]
    path = edited(vanilla("shared"), tmp_path / "edited.pt", change)
    out, printed = convert(path, "--verify", out="edited.out.pt")
    assert "compared on 20 sentences" in printed
    for name, value in load(out)["model"].items():
        if change is half:
            assert value.dtype == expected[name].dtype
            torch.testing.assert_close(value, expected[name], rtol=1e-3, atol=1e-6)
        else:
            assert torch.equal(value, expected[name]), name
    stale = any(name.endswith("fc1_weight") for name in load(path)["model"])
    assert stale or change is not fast_path
    assert ("2 encoder.layers.*.fc1_weight" in printed) == stale


def test_old_pre_norm_models_have_no_final_norm(vanilla, convert, tmp_path):
    def age(state):
        for side in ("encoder", "decoder"):
            for name in ("version", "layer_norm.weight", "layer_norm.bias"):
                del state["model"][f"{side}.{name}"]

    path = edited(vanilla("pre-norm"), tmp_path / "old.pt", age)
    out, printed = convert(path, "--verify")
    assert "compared on 20 sentences" in printed
    cfg = load(out)["cfg"]["model"]
    assert cfg["no_encoder_final_norm"] and cfg["no_decoder_final_norm"]


# Files that are none.


def test_damaged_files(vanilla, convert, tmp_path):
    content = vanilla("shared").read_bytes()
    for name, damaged in {"half": content[: len(content) // 2], "text": b"none\n" * 99}.items():
        path = tmp_path / name
        path.write_bytes(damaged)
        failing(lambda: convert(path), str(path), "not a readable fairseq checkpoint")
        assert path.read_bytes() == damaged
    failing(lambda: convert(tmp_path / "nowhere.pt"), "nowhere.pt does not exist")
    failing(lambda: convert(tmp_path), "holds no model")
    assert not (tmp_path / "stream.pt").exists()


# The file that is written.


def digest(path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_nothing_is_lost(vanilla, convert, tmp_path):
    source = vanilla("shared")
    before = digest(source)
    out, _ = convert(source)
    first = out.read_bytes()
    failing(lambda: convert(source), "stream.pt exists", "or overwrite it")
    assert out.read_bytes() == first
    convert(vanilla("plain"), "--overwrite")
    assert out.read_bytes() != first
    own = edited(source, tmp_path / "own.pt", lambda state: None)
    content = digest(own)
    failing(lambda: convert(own, "--overwrite", out="own.pt"), "IN is never changed")
    (tmp_path / "link.pt").symlink_to(own)
    failing(lambda: convert(own, "--overwrite", out="link.pt"), "IN is never changed")
    failing(lambda: convert(source, out=""), "is a directory")
    failing(lambda: convert(source, out="x.safetensors"), "sit export --hub writes safetensors")
    assert digest(source) == before and digest(own) == content


def test_same_file_every_time(vanilla, convert):
    """New weights are drawn from a seed of their own."""
    models = []
    for seed, out in ((1, "one.pt"), (2, "two.pt")):
        torch.manual_seed(seed)
        models.append(load(convert(vanilla("shared"), "--add", "EA", out=out)[0])["model"])
    assert models[0].keys() == models[1].keys()
    for name, value in models[0].items():
        assert torch.equal(value, models[1][name]), name


# Dictionaries.


def test_symbols_may_be_called_like_filler(vanilla, convert):
    """Filler has no count in the dictionary of the data."""
    assert convert(vanilla("shared"), "--symbols", "[a-e]|[a-z]+[0-9]+")[0].exists()


def test_directory_of_the_dictionaries(vanilla, convert, data, tmp_path):
    def moved(state):
        state["cfg"]["task"]["data"] = str(tmp_path / "gone")

    path = edited(vanilla("shared"), tmp_path / "moved.pt", moved)
    failing(lambda: convert(path), "gone", "is missing; change --data")
    out, _ = convert(path, "--data", data.joined)
    assert re.search("vanilla_data.*/joined$", load(out)["cfg"]["task"]["data"])
    for directory, fragment in ((tmp_path / "gone", "no such directory"), (tmp_path, "no binar")):
        failing(lambda: convert(path, "--data", directory, "--overwrite"), "--data", fragment)
    other = shutil.copytree(data.joined, tmp_path / "other")
    for lang in ("src", "tgt"):
        with (other / f"dict.{lang}.txt").open("a") as file:
            file.write("new 1\n")
    failing(lambda: convert(path, "--data", other, "--overwrite"), "16 rows", "17 tokens", "--data")
