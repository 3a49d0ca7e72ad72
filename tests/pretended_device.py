"""A device that does not exist, to run what is meant for a GPU without one.

A tensor on it wraps a tensor of the CPU and says ``is_cuda``, so that code takes its GPU
branches. A dispatch mode refuses what a GPU refuses, computes on the CPU, and notes each
time that the host would have waited for the device: that stalls a GPU, which idles until
the host has queued new work.

As on a GPU, operators take tensors of one device (but 0-dimensional ones and indices), and the
host waits when it asks for a value, when a size depends on values, when an operator checks its
arguments, and when it copies to the device other than with ``non_blocking=True``. Random numbers
and values are those of the CPU. PyTorch knows a device till the end of a process: the tests in
``tests/device`` have one of their own.
"""

import sys
from collections import Counter
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor
from torch.utils import backend_registration
from torch.utils._mode_utils import no_dispatch
from torch.utils._python_dispatch import TorchDispatchMode

NAME = "pretended"
aten = torch.ops.aten

# Operators whose index tensors, in argument 1, may be of the CPU.
_INDEXING = (aten.index.Tensor, aten.index_put.default, aten.index_put_.default)
# These go between devices.
_COPYING = (aten._to_copy.default, aten.copy_.default)
# Each waits once, for a value or for a size.
_WAITING = {
    aten._local_scalar_dense.default,
    aten.equal.default,
    aten.bincount.default,
    aten.masked_select.default,
    aten.nonzero.default,
    aten.unique_consecutive.default,
    aten.unique_dim.default,
    aten._unique.default,
    aten._unique2.default,
}
# Those that an autocast region computes in its precision, and those it does in float32.
_LOWER = "linear matmul mm bmm addmm baddbmm scaled_dot_product_attention".split()
_FLOAT32 = (
    "acos exp log layer_norm softmax.int log_softmax.int nll_loss linalg_vector_norm cumsum sum "
    "sum.dim_IntList"
).split()


class Wait(NamedTuple):
    """That the host waited for the device.

    Attributes:
        operator: what it waited in, such as ``nonzero`` or ``to device``.
        place: file, line and function that called it, outside PyTorch.
    """

    operator: str
    place: str


def table(waits: List[Wait]) -> str:
    """Waits, counted by place."""
    counts = Counter(waits).most_common()
    return "\n".join(f"{n:3} {wait.operator:20} {wait.place}" for wait, n in counts)


class _Tensor(torch.Tensor):
    """A tensor of the device.

    Attributes:
        inner: its values, on the CPU.
        is_scalar: it was a number of Python's, which a GPU takes as such.
    """

    is_cuda = True
    inner: Tensor
    is_scalar: bool
    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, inner: Tensor, is_scalar: bool = False):
        wrapper = torch.Tensor._make_wrapper_subclass(
            cls,
            inner.shape,
            strides=inner.stride(),
            storage_offset=inner.storage_offset(),
            dtype=inner.dtype,
            device=f"{NAME}:0",
        )
        wrapper.inner = inner
        wrapper.is_scalar = is_scalar
        return wrapper

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is aten.detach.default:  # printing an exception's tensors does so
            return cls(args[0].inner.detach())
        raise RuntimeError(f"{func} of a tensor of the pretended device, which has been left")

    def tolist(self) -> list:
        """PyTorch's knows no subclasses."""
        return self.cpu().tolist()

    def __repr__(self, **unused: Any) -> str:
        return f"pretended({self.inner!r})"


class PretendedDevice(TorchDispatchMode):
    """The device, which exists inside a ``with`` statement only.

    Attributes:
        name: of the device, for ``.to`` and ``device=``.
    """

    name = NAME

    def __init__(self) -> None:
        super().__init__()
        register()
        self._waits: List[Wait] = []

    def __enter__(self) -> "PretendedDevice":
        _Present.devices.append(self)
        return super().__enter__()

    def __exit__(self, *exception: Any) -> None:
        super().__exit__(*exception)
        _Present.devices.pop()

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # PyTorch would import its compiler, which takes seconds, to keep it out

    @contextmanager
    def counting(self) -> Iterator[List[Wait]]:
        """Gives a list to which each wait within is added."""
        outer, self._waits = self._waits, []
        try:
            yield self._waits
        finally:
            self._waits = outer

    def wait(self, operator: str, times: int = 1) -> None:
        """Notes a wait of the present caller."""
        self._waits.extend([Wait(operator, _place())] * times)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        tensors: List[Tensor] = []
        _mapped(lambda x: isinstance(x, Tensor) and tensors.append(x), (args, kwargs))
        ours = [x for x in tensors if isinstance(x, _Tensor)]
        target = kwargs.get("device")
        here = bool(ours) if target is None else torch.device(target).type == NAME
        if not here and not ours:
            return func(*args, **kwargs)
        if func not in _COPYING:
            _refuse_mixture(func, args, tensors)
        self._count(func, args, kwargs, here)
        args, kwargs = _unwrapped(args), _unwrapped(kwargs)
        if target is not None:
            kwargs["device"] = torch.device("cpu")
        known = {id(x.inner): x for x in ours}
        if func is aten.copy_.default:
            here = id(args[0]) in known
        is_scalar = func is aten.scalar_tensor.default

        def wrapped(x: Any) -> Any:
            if not isinstance(x, Tensor) or not here:
                return x
            return known[id(x)] if id(x) in known else _Tensor(x, is_scalar)

        out = func(*args, **kwargs)
        if func is aten.resize_.default:
            _follow(*ours)
        return _mapped(wrapped, out)

    def _count(self, func, args: Tuple, kwargs: Dict[str, Any], here: bool) -> None:
        """Notes the waits of one operator."""
        name = func.overloadpacket.__name__
        if func in _WAITING:
            self.wait({"_local_scalar_dense": "item"}.get(name, name.strip("_2")))
        elif func in _COPYING:
            to, source = (here, args[0]) if func is aten._to_copy.default else (None, args[1])
            to = isinstance(args[0], _Tensor) if to is None else to
            blocking = not (kwargs.get("non_blocking") or (len(args) > 2 and args[2]))
            scalar = func is aten.copy_.default and to and source.dim() == 0
            if to != isinstance(source, _Tensor) and blocking and source.numel() and not scalar:
                self.wait("to device" if to else "to host")
        elif func in _INDEXING:
            self._count_indices(func, args)
        elif func is aten.repeat_interleave.Tensor and kwargs.get("output_size") is None:
            self.wait("repeat_interleave")
        elif func is aten.segment_reduce.default and not kwargs.get("unsafe"):
            self.wait("segment_reduce", 2)
        elif func is aten.multinomial.default:
            self.wait("multinomial", 2)

    def _count_indices(self, func, args: Tuple) -> None:
        indices = [index for index in args[1] if index is not None]
        masks = [index for index in indices if index.dtype == torch.bool]
        if func is not aten.index.Tensor:
            value, accumulate = args[2], len(args) > 3 and args[3]
            number = value.numel() == 1 and (not isinstance(value, _Tensor) or value.is_scalar)
            if number and len(masks) == len(indices) == 1 and not accumulate:
                return  # masked_fill
        self.wait("mask as index", len(masks))
        foreign = [x for x in indices if not isinstance(x, _Tensor) and x.numel()]
        self.wait("to device", len(foreign))


class _Present:
    """The devices whose ``with`` statements are being executed, innermost last."""

    devices: List[PretendedDevice] = []


def _mapped(change: Callable[[Any], Any], tree: Any) -> Any:
    """Arguments or results of an operator, each changed; PyTorch's ``tree_map`` takes half the time of
    the tests."""
    if isinstance(tree, dict):
        return {name: _mapped(change, part) for name, part in tree.items()}
    if isinstance(tree, (list, tuple)):
        return type(tree)([_mapped(change, part) for part in tree])
    return change(tree)


def _unwrapped(tree: Any) -> Any:
    return _mapped(lambda x: x.inner if isinstance(x, _Tensor) else x, tree)


def _follow(wrapper: _Tensor) -> None:
    """Gives the wrapper the present shape of what it wraps."""
    inner = wrapper.inner
    with no_dispatch():  # what remains are the rules for shapes
        before = torch._C._meta_in_tls_dispatch_include()
        torch._C._set_meta_in_tls_dispatch_include(True)
        try:
            aten.set_.source_Storage_storage_offset(
                wrapper,
                wrapper.untyped_storage(),
                inner.storage_offset(),
                inner.shape,
                inner.stride(),
            )
        finally:
            torch._C._set_meta_in_tls_dispatch_include(before)


def _refuse_mixture(func, args: Tuple, tensors: List[Tensor]) -> None:
    """What a GPU refuses too."""
    ours = [x for x in tensors if isinstance(x, _Tensor)]
    if func in _INDEXING and isinstance(args[0], _Tensor):
        indices = [id(x) for x in args[1] if x is not None]
        tensors = [x for x in tensors if id(x) not in indices]
    foreign = [x for x in tensors if not isinstance(x, _Tensor) and x.dim() > 0]
    if ours and foreign:
        raise RuntimeError(
            f"{func}: expected all tensors to be on the same device, but found {NAME} and cpu"
        )


def _place() -> str:
    """The innermost caller that is neither PyTorch nor this file."""
    frame: Optional[Any] = sys._getframe()
    torch_folder = str(Path(torch.__file__).parent)
    while frame is not None:
        file = frame.f_code.co_filename
        if file != __file__ and not file.startswith((torch_folder, "<")):
            path = Path(file)
            parts = path.parts[-3:] if "site-packages" in path.parts else path.parts[-2:]
            return f"{'/'.join(parts)}:{frame.f_lineno} {frame.f_code.co_name}"
        frame = frame.f_back
    return "backward"


class _Module(backend_registration._DummyBackendModule):
    def is_available(self) -> bool:
        return False  # or data loaders would ask it for pinned memory

    def get_amp_supported_dtype(self) -> List[torch.dtype]:
        return [torch.bfloat16, torch.float16]


@cache
def register() -> List[torch.library.Library]:
    """Makes the device known to PyTorch, once in a process and before its first gradients."""
    backend_registration._setup_privateuseone_for_python_backend(NAME, backend_module=_Module())
    # What PyTorch does without asking the mode, as in ``torch.tensor(..., device=...)``.
    backend = torch.library.Library("aten", "IMPL", "PrivateUse1")

    def empty_strided(size, stride, *, dtype=None, **unused):
        return _Tensor(torch.empty_strided(size, stride, dtype=dtype, device="cpu"))

    def copy_from(source, target, non_blocking=False):
        if source.numel() and not non_blocking:
            to = isinstance(target, _Tensor)
            _Present.devices[-1].wait("to device" if to else "to host")
        _unwrapped(target).copy_(_unwrapped(source))
        return target

    backend.impl("empty_strided", empty_strided)
    backend.impl("_copy_from", copy_from)
    everything = torch.library.Library("_", "IMPL", "AutocastPrivateUse1")
    everything.fallback(torch.library.fallthrough_kernel)
    autocast = torch.library.Library("aten", "IMPL", "AutocastPrivateUse1")
    for names, dtype in ((_LOWER, None), (_FLOAT32, torch.float32)):
        for name in names:
            autocast.impl(name, _casting(name, dtype))
    return [backend, everything, autocast]


def _casting(name: str, dtype: Optional[torch.dtype]):
    """The operator on arguments of this type, or of the autocast region's."""
    packet, _, overload = name.partition(".")
    operator = getattr(getattr(aten, packet), overload or "default")

    def compute(*args, **kwargs):
        to = dtype or torch.get_autocast_dtype(NAME)

        def cast(x: Any) -> Any:
            lower = (torch.float16, torch.bfloat16, torch.float32)
            return x.to(to) if isinstance(x, Tensor) and x.dtype in lower else x

        with torch._C._ExcludeDispatchKeyGuard(
            torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastPrivateUse1)
        ):
            return operator(*_mapped(cast, args), **_mapped(cast, kwargs))

    return compute
