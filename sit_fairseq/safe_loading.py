"""Reading checkpoints under ``torch.load(weights_only=True)``, torch's default."""

import argparse
import collections
import contextlib
import functools
import pickle
import struct
import typing
import zipfile
from typing import Any, Dict, Iterator, Optional

import numpy
import omegaconf
import torch
from fairseq import checkpoint_utils
from fairseq.distributed import utils as distributed_utils

from sit_fairseq.errors import UserError
from sit_fairseq.hub_folder import as_checkpoint
from sit_fairseq.known_models import (
    forget_own_judges,
    refuse_other_shapes,
    refuse_unknown_kinds,
)
from sit_fairseq.precision import forget_autocast

# What reading damaged bytes or a file of another kind ends in, by experiment.
_UNREADABLE = (
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    pickle.PickleError,
    struct.error,
    zipfile.BadZipFile,
)


class UnreadableCheckpoint(UserError):
    """A file that is no checkpoint fairseq can read.

    Args:
        path: the file.
        error: what reading it ended in.
        remedy: what to do about it.
    """

    def __init__(self, path: str, error: Exception, remedy: str) -> None:
        self.path = path
        self.reason = str(error).strip().split("\n")[0] or type(error).__name__
        # Otherwise the file may be whole, and the machine at fault.
        self.damaged = not isinstance(error, (MemoryError, OSError))
        super().__init__(
            f"{path} is not a readable fairseq checkpoint (truncated, damaged or of another "
            f"kind: {self.reason}); {remedy}"
        )


def _numpy_globals() -> list:
    # Metrics may have been logged as numpy values; numpy 1 and 2 name the same
    # functions differently.
    multiarray = getattr(numpy, "_core", numpy.core if numpy.__version__ < "2" else None).multiarray
    entries = [numpy.ndarray, numpy.dtype]
    for function in ("_reconstruct", "scalar"):
        for module in ("numpy.core.multiarray", "numpy._core.multiarray"):
            entries.append((getattr(multiarray, function), f"{module}.{function}"))
    if hasattr(numpy, "dtypes"):
        entries += [kind for kind in vars(numpy.dtypes).values() if isinstance(kind, type)]
    return entries


def register_safe_globals() -> None:
    """Allows the plain containers that fairseq puts into its own checkpoints.

    fairseq-train writes an ``argparse.Namespace``; when it broadcasts a checkpoint to
    other processes the configuration is an OmegaConf object. Nothing here runs code of
    the file.
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
    """Around the reading of a checkpoint: names the file if it is damaged.

    Args:
        path: the file.
        remedy: what to do about it.

    Raises:
        UnreadableCheckpoint: instead of whatever reading a damaged or foreign file raises.
    """
    try:
        yield
    except _UNREADABLE as error:
        raise UnreadableCheckpoint(path, error, remedy)


def incomplete(state: Dict[str, Any]) -> Optional[str]:
    """What the content of a checkpoint lacks, None if it has weights and options."""
    if not is_weights(state.get("model")):
        return "it lacks 'model', the weights by name"
    if not (state.get("args") or state.get("cfg")):
        return "it lacks 'cfg' or 'args', the options of the model"
    return None


def is_weights(weights: Any) -> bool:
    """Whether these are tensors by name."""
    return (
        isinstance(weights, dict)
        and len(weights) > 0
        and all(isinstance(n, str) and torch.is_tensor(t) for n, t in weights.items())
    )


def explain_unreadable_checkpoints() -> None:
    """Makes fairseq name the file that is damaged instead of printing a traceback.

    fairseq offers no hook around its loading function, so that it is wrapped here.
    """
    load = checkpoint_utils.load_checkpoint_to_cpu
    if hasattr(load, "__wrapped__"):
        return

    @functools.wraps(load)
    def load_or_explain(path, arg_overrides=None, *args, **kwargs):
        options = "--path, --restore-file or --finetune-from-model"
        with explained(path, f"name another file with {options}"):
            with as_checkpoint(path) as file:
                state = load(file, arg_overrides, *args, **kwargs)
            complaint = incomplete(state)
            if complaint:
                raise LookupError(complaint)
        refuse_unknown_kinds(path, state)
        refuse_other_shapes(path, state)
        forget_autocast(state, arg_overrides or {})
        forget_own_judges(state, arg_overrides or {})
        return state

    checkpoint_utils.load_checkpoint_to_cpu = load_or_explain
