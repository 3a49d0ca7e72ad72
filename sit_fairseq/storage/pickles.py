"""Reads what ``torch.save`` has written as plain data.

A pickle is a program. Under ``torch.load(weights_only=True)`` it still calls what takes any memory or
time, such as ``bytearray(n)``. Here nothing is called: opcodes become a description, no larger than the
file, and of it plain data are made, up to a limit: dict, list, tuple, str, bytes, int, float, bool, None,
Tensor.
"""

import io
import math
import os
import pickletools
import struct
import zipfile
from pickle import UnpicklingError
from typing import IO, Any, Callable, Dict, List

import torch
from torch import Tensor

# Plain values, how deep they are nested, and how often the bytes of a file count in all its tensors
# (tied matrices share theirs).
_MOST, _DEEPEST, _MOST_SHARED = 200_000, 50, 16

_MAGIC, _LEGACY_STORAGE = 0x1950A86A20F9469CFC6C, struct.Struct("<q")

_STORAGES = {
    f"torch.{name}Storage": getattr(torch, kind)
    for name, kind in (
        *(("Double", "float64"), ("Float", "float32"), ("Half", "float16"), ("Bool", "bool")),
        *(("Long", "int64"), ("Int", "int32"), ("Short", "int16"), ("Char", "int8")),
        *(("Byte", "uint8"), ("BFloat16", "bfloat16")),
    )
}

# Of metrics that were logged as numpy's.
_NUMPY = {
    **{"b1": torch.bool, "u1": torch.uint8, "i1": torch.int8, "i2": torch.int16, "i4": torch.int32},
    **{"i8": torch.int64, "f2": torch.float16, "f4": torch.float32, "f8": torch.float64},
}

_LITERALS = {
    *("BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT", "BINUNICODE"),
    *("SHORT_BINUNICODE", "SHORT_BINSTRING", "BINSTRING", "SHORT_BINBYTES", "BINBYTES"),
}
_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_EMPTY = {"EMPTY_LIST": "list", "EMPTY_DICT": "dict", "EMPTY_TUPLE": "tuple"}
_TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}
_DICTS = ("collections.OrderedDict", "collections.defaultdict")


class _Node:
    """A description: ``kind`` is ``list``, ``tuple``, ``dict``, ``name``, ``storage``, or what is called;
    ``parts`` are its values (of a dict, keys and values in turn) or arguments; ``state`` is set later.
    """

    __slots__ = ("kind", "parts", "state")

    def __init__(self, kind: str, parts: List[Any]) -> None:
        self.kind, self.parts, self.state = kind, parts, None


def _described(file: IO[bytes], storages: List[_Node]) -> Any:
    """The description of the next pickle of a file, whose storages are added to a list."""
    stack: List[Any] = []
    marks: List[int] = []
    memo: Dict[int, Any] = {}

    def take(number: int) -> List[Any]:
        if number > len(stack):
            raise UnpicklingError("it takes more than there is")
        taken = stack[len(stack) - number :]
        del stack[len(stack) - number :]
        return taken

    def container(kind: str) -> List[Any]:
        if not (isinstance(stack[-1], _Node) and stack[-1].kind == kind):
            raise UnpicklingError(f"it takes something else for a {kind}")
        return stack[-1].parts

    for code, argument, _ in pickletools.genops(file):
        name = code.name
        if name in _LITERALS:
            stack.append(argument)
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _EMPTY:
            stack.append(_Node(_EMPTY[name], []))
        elif name in _TUPLES:
            stack.append(_Node("tuple", take(_TUPLES[name])))
        elif name == "MARK":
            marks.append(len(stack))
        elif name in ("TUPLE", "APPENDS", "SETITEMS"):
            items = take(len(stack) - marks.pop())
            if name == "TUPLE":
                stack.append(_Node("tuple", items))
            else:
                container("list" if name == "APPENDS" else "dict").extend(items)
        elif name in ("APPEND", "SETITEM"):
            items = take(1 + (name == "SETITEM"))
            container("list" if name == "APPEND" else "dict").extend(items)
        elif name in ("BINPUT", "LONG_BINPUT"):
            memo[argument] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(memo[argument])
        elif name == "GLOBAL":
            stack.append(_Node("name", [argument.replace(" ", ".")]))
        elif name in ("REDUCE", "NEWOBJ"):
            called, arguments = take(2)
            if called.kind != "name" or arguments.kind != "tuple":
                raise UnpicklingError("it calls what is no name")
            kind = called.parts[0]
            is_dict = kind in _DICTS
            stack.append(_Node("dict", []) if is_dict else _Node(kind, arguments.parts))
        elif name == "BUILD":
            (state,) = take(1)
            stack[-1].state = state
        elif name == "BINPERSID":
            (place,) = take(1)
            storages.append(_Node("storage", place.parts))
            stack.append(storages[-1])
        elif name == "STOP":
            return stack.pop()
        elif name != "PROTO":
            raise UnpicklingError(f"it holds {name}, which torch.save does not write")
    raise UnpicklingError("it ends too early")


class _Maker:
    """Makes plain data of descriptions; ``data`` gives the bytes of a storage."""

    def __init__(self, data: Callable[[_Node], bytes], size: int) -> None:
        self._data, self._storages = data, {}
        self._values, self._bytes = _MOST, _MOST_SHARED * size

    def make(self, node: Any, depth: int = 0) -> Any:
        self._values -= 1
        if self._values < 0 or depth > _DEEPEST:
            raise UnpicklingError(
                f"it holds more than {_MOST} values, or lists nested more than {_DEEPEST} deep"
            )
        if not isinstance(node, _Node):
            return node
        kind, parts, state = node.kind, node.parts, node.state
        if kind in ("list", "tuple"):
            made = [self.make(part, depth + 1) for part in parts]
            return made if kind == "list" else tuple(made)
        if kind == "dict":
            if any(isinstance(name, _Node) for name in parts[::2]):
                raise UnpicklingError("a name is no text or number")
            values = [self.make(part, depth + 1) for part in parts[1::2]]
            return dict(zip(parts[::2], values))
        if kind == "argparse.Namespace":
            return {} if state is None else self.make(state, depth + 1)
        if kind == "_codecs.encode" and parts[1:] == ["latin1"]:
            self._values -= len(parts[0])
            return parts[0].encode("latin1")
        if kind in ("torch._utils._rebuild_tensor_v2", "torch._utils._rebuild_tensor"):
            return self._tensor(*parts[:4])
        if kind == "torch._utils._rebuild_parameter":
            return self.make(parts[0], depth + 1)
        if kind in ("numpy.core.multiarray.scalar", "numpy._core.multiarray.scalar"):
            return self._numbers(parts[0], parts[1], depth)[0].item()
        if kind in ("numpy.core.multiarray._reconstruct", "numpy._core.multiarray._reconstruct"):
            _, shape, dtype, _, data = state.parts
            shape = self.make(shape, depth + 1)
            return self._numbers(dtype, data, depth).reshape(shape)
        raise UnpicklingError(f"it asks for {str(parts[0] if kind == 'name' else kind)[:80]!r}")

    def _tensor(self, storage: _Node, offset: int, size: _Node, stride: _Node) -> Tensor:
        marker, kind, key = storage.parts[:3]
        if storage.kind != "storage" or marker != "storage":
            raise UnpicklingError("a tensor without a storage")
        dtype = _STORAGES.get(kind.parts[0])
        if dtype is None:
            raise UnpicklingError(f"it has numbers of the type {kind.parts[0][:80]!r}")
        if (key, dtype) not in self._storages:
            self._storages[key, dtype] = _numbers(self._data(storage), dtype)
        numbers, shape = self._storages[key, dtype], tuple(size.parts[:9])
        if not all(type(n) is int and n >= 0 for n in (offset, *shape, *stride.parts)):
            raise UnpicklingError("the place of a tensor is no natural number")
        count = math.prod(shape)
        if len(shape) > 8 or count > numbers.numel():
            held = numbers.numel() * numbers.element_size()
            raise UnpicklingError(
                f"a tensor has {shape} numbers, but the file holds {held} bytes of them"
            )
        self._bytes -= count * numbers.element_size()
        if self._bytes < 0:
            raise UnpicklingError(f"tensors have {_MOST_SHARED} times the bytes of the file")
        return numbers.as_strided(shape, tuple(stride.parts), offset)

    def _numbers(self, dtype: _Node, data: Any, depth: int) -> Tensor:
        name = dtype.parts[0] if dtype.kind == "numpy.dtype" else None
        big = dtype.state is not None and dtype.state.parts[1] == ">"
        if name not in _NUMPY or big:
            raise UnpicklingError(f"it has numbers of the type {str(name)[:80]!r}")
        return _numbers(self.make(data, depth + 1), _NUMPY[name])


def _numbers(data: bytes, dtype: torch.dtype) -> Tensor:
    # A bytearray, as a tensor may be written to.
    return (
        torch.frombuffer(bytearray(data), dtype=dtype)
        if data
        else torch.empty(0, dtype=dtype, device="cpu")
    )


def read(path: str) -> Any:
    """The content of a file of ``torch.save``, in today's format or the one before PyTorch 1.6.

    Tensors that share a storage share it here. UnpicklingError or zipfile.BadZipFile if it holds more
    than plain data; damaged bytes end in any error.
    """
    return _read_archive(path) if zipfile.is_zipfile(path) else _read_legacy(path)


def _read_archive(path: str) -> Any:
    size = os.path.getsize(path)
    with zipfile.ZipFile(path) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > size:
            raise zipfile.BadZipFile("it unpacks to more than it holds")
        (main,) = [name for name in archive.namelist() if name.endswith("/data.pkl")]
        folder = main[: -len("data.pkl")]
        if f"{folder}byteorder" in archive.namelist():
            if archive.read(f"{folder}byteorder") != b"little":
                raise UnpicklingError("it was written by a big-endian machine")
        description = _described(io.BytesIO(archive.read(main)), [])
        maker = _Maker(lambda storage: archive.read(f"{folder}data/{storage.parts[2]}"), size)
        return maker.make(description)


def _read_legacy(path: str) -> Any:
    storages: List[_Node] = []
    with open(path, "rb") as file:
        if _described(file, []) != _MAGIC:
            raise UnpicklingError("it is no file of torch.save")
        _described(file, [])  # the version, and the machine
        _described(file, [])
        description = _described(file, storages)
        keys = _described(file, []).parts
        sizes = {s.parts[2]: _STORAGES[s.parts[1].parts[0]].itemsize for s in storages}
        data = {}
        for key in keys:
            (number,) = _LEGACY_STORAGE.unpack(file.read(_LEGACY_STORAGE.size))
            data[key] = file.read(max(0, number) * sizes[key])
            if len(data[key]) != number * sizes[key]:
                raise UnpicklingError("it ends too early")
        maker = _Maker(lambda storage: data[storage.parts[2]], os.path.getsize(path))
        return maker.make(description)
