"""The bytes of a checkpoint: nothing in them runs, hides or grows, and old files are read."""

import pickle
import resource
import struct
import time
import zipfile
from collections import Counter, OrderedDict

import numpy
import pytest
import torch
from omegaconf import OmegaConf
from tasks.conftest import options, set_tensor

from sit_fairseq.errors import UserError
from sit_fairseq.storage import checkpoints
from sit_fairseq.tasks.file_options import read_state


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


BYTES = b"cbuiltins\nbytearray\nJ\xff\xff\xff\x7f\x85R"
# One text of many bytes, made into bytes again and again.
AGAIN = (
    uni("x" * 10**5) + b"q\x00" + b"".join([b"c_codecs\nencode\nh\x00X\x06\0\0\0latin1\x86R"] * 99)
)
# A tuple of tuples as a name, whose hash takes for ever.
NESTED = b")" + b"q\x01h\x01h\x01\x87" * 60
KEY = b"}(" + NESTED + b"K\x01u"
PLACE = b"(" + uni("storage") + b"ctorch\nFloatStorage\n" + NESTED + uni("cpu") + b"K\x01tQ"
# A number for the bytes of a number.
SCALAR = (
    b"cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\n" + uni("f8") + b"\x85RJ\xff\xff\xff\x7f\x86R"
)


@pytest.mark.parametrize(
    "body, message",
    [
        (doubling(40), "asks for '_codecs.encode'"),
        (BYTES, "asks for 'builtins.bytearray'"),
        (b"(" + AGAIN + b"l", "torch.save does not write|more than 200000 values"),
        (KEY, "a name is no text or number"),
        (PLACE, "a name is no text or number"),
        (SCALAR, "subscriptable"),
        (b"]q\x05h\x05a", "nested more than"),
        (b"N" + b"\x85" * 10**5, "nested more than"),
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
