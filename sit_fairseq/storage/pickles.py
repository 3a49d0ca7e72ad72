"""Reads what ``torch.save`` has written as plain data: dict, list, tuple, str, bytes, int, float,
bool, None, Tensor.

A pickle is a program. Under ``torch.load(weights_only=True)`` it still calls what takes any memory
or time, such as ``bytearray(n)``. Here it calls a few functions of this file, which check first,
and what it makes is copied up to a limit.
"""

import io
import math
import os
import pickle
import struct
import zipfile
from pickle import UnpicklingError
from typing import IO, Any, Callable, List, Optional, Tuple

import torch
from torch import Tensor

# Plain values, how deep they are nested, and how often the bytes of a file count in all its tensors
# (tied matrices share theirs).
_MOST, _DEEPEST, _MOST_SHARED = 200_000, 50, 16

_MAGIC, _LEGACY_STORAGE = 0x1950A86A20F9469CFC6C, struct.Struct("<q")

# All opcodes that torch.save writes.
_OPCODES = [
    *("PROTO STOP MARK NONE NEWTRUE NEWFALSE BININT BININT1 BININT2 LONG1 LONG4 BINFLOAT").split(),
    *("BINUNICODE SHORT_BINUNICODE SHORT_BINSTRING BINSTRING SHORT_BINBYTES BINBYTES").split(),
    *("EMPTY_LIST EMPTY_DICT EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 APPEND APPENDS").split(),
    *("BINPUT LONG_BINPUT BINGET LONG_BINGET GLOBAL BINPERSID").split(),
]

# Types of storages, and of metrics that were logged as numpy's.
_NAMES = "Double Float Half BFloat16 Long Int Short Char Byte Bool".split()
_KINDS = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool".split()
_TYPES = {f"torch.{name}Storage": getattr(torch, kind) for name, kind in zip(_NAMES, _KINDS)}
_NUMPY = dict(
    zip("f8 f4 f2 i8 i4 i2 i1 u1 b1".split(), map(vars(torch).get, _KINDS[:3] + _KINDS[4:]))
)


class _Named:
    """A name in a file, or an object made by it, which a ``state`` completes later."""

    def __init__(self, kind: str, *parts: Any) -> None:
        self.kind, self.parts, self.state = kind, parts, None


class _Reader(pickle._Unpickler):
    """Makes plain data of the pickles of a file, which has ``size`` bytes in all. ``storage`` makes
    the tensor of a storage, given its key, type and number of elements."""

    def __init__(self, file: IO[bytes], size: int, storage: Optional[Callable] = None) -> None:
        super().__init__(file, encoding="latin1")
        self._values, self._bytes = _MOST, _MOST_SHARED * size
        self._storage, self._storages = storage, {}
        self._known = {
            **_TYPES,
            "collections.OrderedDict": lambda *_: {},
            "collections.defaultdict": lambda *_: {},
            "argparse.Namespace": lambda *_: _Named("options"),
            "_codecs.encode": self._encode,
            "torch._utils._rebuild_tensor": self._tensor,
            "torch._utils._rebuild_tensor_v2": self._tensor,
            "torch._utils._rebuild_parameter": lambda tensor, *_: tensor,
            "numpy.dtype": lambda *parts: _Named("dtype", *parts),
        }
        for module in ("numpy.core.multiarray", "numpy._core.multiarray"):
            self._known[f"{module}.scalar"] = lambda kind, data: _numbers(data[:8], kind)[0].item()
            self._known[f"{module}._reconstruct"] = lambda *_: _Named("array")

    def find_class(self, module: str, name: str) -> Any:
        """The function of this file for a name; any other name may stand there, but is not called."""
        return self._known.get(f"{module}.{name}") or _Named(f"{module}.{name}")

    def persistent_load(self, place: Tuple) -> Tensor:
        """The numbers of a storage; tensors that share one share it here."""
        marker, dtype, key, _, number = place[:5]
        if marker != "storage" or not isinstance(dtype, torch.dtype):
            raise UnpicklingError(f"it has numbers of the type {getattr(dtype, 'kind', '')[:80]!r}")
        _refuse_names([key])
        if (key, dtype) not in self._storages:
            self._storages[key, dtype] = self._storage(key, dtype, number)
        return self._storages[key, dtype]

    def plain(self, value: Any, depth: int = 0) -> Any:
        """A copy of what was read that holds plain data alone."""
        self._count(1 if depth <= _DEEPEST else _MOST)
        if isinstance(value, (list, tuple)):
            made = [self.plain(part, depth + 1) for part in value]
            return made if isinstance(value, list) else tuple(made)
        if isinstance(value, dict):
            return {name: self.plain(part, depth + 1) for name, part in value.items()}
        if not isinstance(value, _Named):
            if isinstance(value, (str, bytes, int, float, type(None), Tensor)):
                return value
            raise UnpicklingError("it holds a function or a type")
        if value.kind == "options":
            return self.plain(value.state or {}, depth + 1)
        if value.kind == "array":
            _, shape, dtype, _, data = value.state
            self._count(len(data))
            return _numbers(data, dtype).reshape(self.plain(shape))
        raise UnpicklingError(f"it asks for {value.kind[:80]!r}")

    def _count(self, values: int) -> None:
        self._values -= values
        if self._values < 0:
            raise UnpicklingError(
                f"it holds more than {_MOST} values, or lists nested more than {_DEEPEST} deep"
            )

    def _encode(self, text: str, encoding: str) -> bytes:
        if encoding != "latin1":
            raise UnpicklingError("it asks for '_codecs.encode'")
        self._count(len(text))
        return text.encode(encoding)

    def _tensor(self, numbers: Tensor, offset: int, shape: Tuple, stride: Tuple, *_: Any) -> Tensor:
        if not all(type(n) is int and n >= 0 for n in (offset, *shape[:9], *stride)):
            raise UnpicklingError("the place of a tensor is no natural number")
        count = math.prod(shape[:9])
        if len(shape) > 8 or count > numbers.numel():
            held = numbers.numel() * numbers.element_size()
            raise UnpicklingError(
                f"a tensor has {shape[:9]} numbers, but the file holds {held} bytes of them"
            )
        self._bytes -= count * numbers.element_size()
        if self._bytes < 0:
            raise UnpicklingError(f"tensors have {_MOST_SHARED} times the bytes of the file")
        return numbers.as_strided(shape, stride, offset)

    def _refuse(self) -> None:
        raise UnpicklingError("it holds what torch.save does not write")

    def _call(self) -> None:
        arguments, called = self.stack.pop(), self.stack.pop()
        if not callable(called):
            raise UnpicklingError(f"it asks for {getattr(called, 'kind', '')[:80]!r}")
        self.append(called(*arguments))

    def _complete(self) -> None:
        state, value = self.stack.pop(), self.stack[-1]
        if isinstance(value, _Named):
            value.state = state

    def _set(self, items: List[Any]) -> None:
        if type(self.stack[-1]) is not dict or len(items) % 2:
            raise UnpicklingError("it takes something else for a dictionary")
        _refuse_names(items[::2])
        self.stack[-1].update(zip(items[::2], items[1::2]))

    dispatch = {
        **dict.fromkeys(range(256), _refuse),
        **{code: pickle._Unpickler.dispatch[code] for (code,) in map(vars(pickle).get, _OPCODES)},
        pickle.REDUCE[0]: _call,
        pickle.NEWOBJ[0]: _call,
        pickle.BUILD[0]: _complete,
        pickle.SETITEM[0]: lambda self: self._set([self.stack.pop(), self.stack.pop()][::-1]),
        pickle.SETITEMS[0]: lambda self: self._set(self.pop_mark()),
    }


def _refuse_names(names: List[Any]) -> None:
    # Of nested tuples the hash takes for ever.
    if not all(isinstance(name, (str, bytes, int, float, type(None))) for name in names):
        raise UnpicklingError("a name is no text or number")


def _numbers(data: bytes, kind: Any) -> Tensor:
    """The numbers of bytes, given their type or a description of numpy's."""
    if isinstance(kind, _Named):
        big = kind.state is not None and kind.state[1] == ">"
        if kind.kind != "dtype" or big or kind.parts[0] not in _NUMPY:
            raise UnpicklingError(f"it has numbers of the type {str(kind.parts)[:80]}")
        kind = _NUMPY[kind.parts[0]]
    if not isinstance(data, bytes):  # of an int a bytearray would be so long
        raise UnpicklingError("its numbers are no bytes")
    if not data:
        return torch.empty(0, dtype=kind, device="cpu")
    return torch.frombuffer(bytearray(data), dtype=kind)  # which may be written to


def read(path: str) -> Any:
    """The content of a file of ``torch.save``, in today's format or the one before PyTorch 1.6.

    Tensors that share a storage share it here. UnpicklingError or zipfile.BadZipFile if it holds more
    than plain data; damaged bytes end in any error.
    """
    size = os.path.getsize(path)
    if not zipfile.is_zipfile(path):
        with open(path, "rb") as file:
            return _read_legacy(file, size)
    with zipfile.ZipFile(path) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > size:
            raise zipfile.BadZipFile("it unpacks to more than it holds")
        (main,) = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        folder = main.removesuffix("data.pkl")
        if f"{folder}byteorder" in archive.namelist():
            if archive.read(f"{folder}byteorder") != b"little":
                raise UnpicklingError("it was written by a big-endian machine")

        def storage(key: str, dtype: torch.dtype, number: int) -> Tensor:
            return _numbers(archive.read(f"{folder}data/{key}"), dtype)

        reader = _Reader(io.BytesIO(archive.read(main)), size, storage)
        return reader.plain(reader.load())


def _read_legacy(file: IO[bytes], size: int) -> Any:
    """Here the numbers of storages follow the pickles."""
    storages, left = {}, size

    def storage(key: str, dtype: torch.dtype, number: int) -> Tensor:
        nonlocal left
        left -= abs(number) * dtype.itemsize
        if left < 0:
            raise UnpicklingError("it ends too early")
        return storages.setdefault(key, torch.empty(number, dtype=dtype, device="cpu"))

    if _Reader(file, size).load() != _MAGIC:
        raise UnpicklingError("it is no file of torch.save")
    for _ in range(2):  # the version, and the machine
        _Reader(file, size).load()
    reader = _Reader(file, size, storage)
    content, keys = reader.plain(reader.load()), _Reader(file, size).load()
    _refuse_names(keys)
    for key in keys:
        (number,) = _LEGACY_STORAGE.unpack(file.read(_LEGACY_STORAGE.size))
        if number != storages[key].numel():
            raise UnpicklingError("it ends too early")
        storages[key].copy_(_numbers(file.read(storages[key].nbytes), storages[key].dtype))
    return content
