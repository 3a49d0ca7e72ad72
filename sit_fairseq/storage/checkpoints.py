"""Checkpoints: reading them under ``torch.load(weights_only=True)``, torch's default, and writing
them."""

import argparse
import collections
import contextlib
import io
import os
import pickle
import re
import typing
import zipfile
from typing import Any, Dict, Iterator, Optional

import numpy
import omegaconf
import torch
from fairseq.distributed import utils as distributed_utils

from sit_fairseq.errors import UserError
from sit_fairseq.storage import hub_folder


def _number_type(name: Any, *_: Any) -> numpy.dtype:
    """In place of ``numpy.dtype``, which a file can tell that its bytes are pointers: the one
    object of a type of number, which a file cannot change."""
    if not isinstance(name, str) or numpy.dtype(name).kind not in "biufc":
        raise pickle.UnpicklingError(f"numbers of the type {name!r}")
    return numpy.dtype(name)


def _empty_array(*_: Any) -> numpy.ndarray:
    """In place of ``numpy.ndarray`` and of what makes one, which take any bytes for objects."""
    return numpy.empty(0)


def _numpy_globals() -> list:
    # Metrics may have been logged as numpy values; numpy 1 and 2 name the same functions
    # differently.
    multiarray = getattr(numpy, "_core", numpy.core if numpy.__version__ < "2" else None).multiarray
    entries = [(_number_type, "numpy.dtype"), (_empty_array, "numpy.ndarray")]
    for module in ("numpy.core.multiarray", "numpy._core.multiarray"):
        entries.append((_empty_array, f"{module}._reconstruct"))
        entries.append((multiarray.scalar, f"{module}.scalar"))
    # What was made may get its contents, but no file can call these by a name without a dot.
    kinds = {type(numpy.dtype(code)) for code in "?bhilqBHILQefdgFDG"} | {numpy.ndarray}
    return entries + [(kind, kind.__name__) for kind in kinds]


def register_safe_globals() -> None:
    """Allows the plain containers that fairseq puts into its own checkpoints.

    fairseq-train writes an ``argparse.Namespace``; when it broadcasts a checkpoint to other
    processes the configuration is an OmegaConf object. Nothing here runs code of the file.
    """
    import _codecs

    torch.serialization.add_safe_globals(
        [
            argparse.Namespace,
            collections.defaultdict,
            dict,
            int,
            list,
            typing.Any,
            omegaconf.DictConfig,
            omegaconf.ListConfig,
            omegaconf.base.ContainerMetadata,
            omegaconf.base.Metadata,
            omegaconf.nodes.AnyNode,
            distributed_utils._TensorPlaceholder,
            _codecs.encode,
            *_numpy_globals(),
        ]
    )


@contextlib.contextmanager
def explained(path: str, remedy: str) -> Iterator[None]:
    """Context manager around the reading of a checkpoint: raises a UserError, which names the file
    and ends with the remedy, in place of whatever a damaged or foreign one ends in."""
    try:
        yield
    except Exception as error:  # damaged bytes end in anything
        # torch's message begins and ends with advice to trust the file.
        fact = re.split(r"WeightsUnpickler error:\s*", str(error))[-1].strip()
        reason = fact.split("\n")[0].split(". Please")[0] or type(error).__name__
        raise UserError(
            f"{path} is not a readable fairseq checkpoint (truncated, damaged or of another "
            f"kind: {reason}); {remedy}"
        )


def read(path: str) -> Any:
    """What a checkpoint holds, as tensors and plain data; raises whatever damaged bytes end in.

    The path is that of a file, or of the weights in a folder of ``sit export --hub``.
    """
    if path.endswith(".safetensors"):
        return minimal(*hub_folder.read(path))
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            if sum(entry.file_size for entry in archive.infolist()) > os.path.getsize(path):
                raise zipfile.BadZipFile("it unpacks to more than it holds")
            damaged = archive.testzip()  # torch.load does not look at checksums
            if damaged is not None:
                raise zipfile.BadZipFile(f"wrong checksum of {damaged}")
    state = torch.load(path, map_location="cpu", weights_only=True)
    _refuse_disguises(state)
    return state


def _refuse_disguises(state: Any) -> None:
    """Refuses containers and tensors that have attributes, and options of OmegaConf.

    A file can replace ``items`` of an OrderedDict or ``numel`` of a tensor, and so hide what it
    holds from whoever checks it; what OmegaConf holds is resolved as it is read.
    """
    seen, left = set(), [state]
    while left:
        one = left.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, argparse.Namespace):
            left.append(vars(one))
        elif isinstance(one, omegaconf.Node) or set(getattr(one, "__dict__", ())) - {"_metadata"}:
            raise pickle.UnpicklingError(f"{type(one).__name__} with attributes")
        elif isinstance(one, (list, tuple)):
            left.extend(one)
        elif isinstance(one, dict):
            left.extend(one.values())


def minimal(cfg: Dict[str, Any], weights: Dict[str, torch.Tensor]) -> Dict[str, Any]:
    """What fairseq needs to find in a checkpoint; training starts at update 0."""
    history = {"criterion_name": None, "optimizer_name": None, "lr_scheduler_state": {}}
    return {
        "args": None,
        "cfg": cfg,
        "model": weights,
        "criterion": None,
        "optimizer_history": [{**history, "num_updates": 0}],
        "task_state": {},
        "extra_state": {"train_iterator": {"epoch": 1}},
    }


def write(state: Dict[str, Any], path: str) -> None:
    """Writes a checkpoint."""
    data = io.BytesIO()  # of a disk that is full torch would not say so
    torch.save(state, data)
    with open(path, "wb") as file:
        file.write(data.getbuffer())


def incomplete(state: Any) -> Optional[str]:
    """What the content of a checkpoint lacks, None if it has weights and options."""
    if not isinstance(state, dict):
        return "it holds no dictionary"
    if not is_weights(state.get("model")):
        return "it lacks 'model', the weights by name"
    old, options = state.get("args"), state.get("cfg")
    known = isinstance(old or argparse.Namespace(), argparse.Namespace)
    if not (old or options) or not (known and isinstance(options or {}, dict)):
        return "it lacks 'cfg' or 'args', the options of the model"
    history, extra = state.get("optimizer_history", [{}]), state.get("extra_state", {})
    if not (isinstance(history, list) and history and isinstance(history[-1], dict)):
        return "its 'optimizer_history' is no list"
    if not (isinstance(extra, dict) and isinstance(extra.get("train_iterator", {}), dict)):
        return "its 'extra_state' is no dictionary"
    return None


def moving_average(state: Dict[str, Any]) -> Optional[Dict[str, torch.Tensor]]:
    """The moving average of the weights, if a checkpoint has one."""
    extra = state.get("extra_state")
    average = extra.get("ema") if isinstance(extra, dict) else None
    return average if is_weights(average) else None


def is_weights(weights: Any) -> bool:
    """Whether these are tensors by name."""
    return (
        isinstance(weights, dict)
        and len(weights) > 0
        and all(isinstance(n, str) and torch.is_tensor(t) for n, t in weights.items())
    )
