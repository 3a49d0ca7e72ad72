"""Checkpoints: reading them as plain data, and writing what ``torch.load(weights_only=True)`` reads."""

import contextlib
import io
import json
import os
from argparse import Namespace
from typing import Any, Dict, Iterator, Optional, Tuple

import torch
from torch import Tensor

from sit_fairseq.errors import UserError, missing
from sit_fairseq.storage import pickles
from sit_fairseq.storage.files import Place, model_file

# Beside the weights in a folder to upload.
CONFIG, CARD = "config.json", "README.md"


@contextlib.contextmanager
def explained(path: str, remedy: str) -> Iterator[None]:
    """Context manager: whatever a damaged file ends in becomes a UserError, which ends with the
    remedy."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # damaged bytes end in anything
        reason = str(error).strip().split("\n")[0][:300] or type(error).__name__
        raise UserError(
            f"{path} is not a readable fairseq checkpoint (truncated, damaged or of another "
            f"kind: {reason}); {remedy}"
        )


def read(path: str) -> Any:
    """The content of a checkpoint, or of the weights in a folder of ``sit export --hub``, as
    tensors and plain data; damaged bytes raise any error."""
    if path.endswith(".safetensors"):
        return minimal(*_read_hub(path))
    return pickles.read(path)


def read_plain(path: Place, remedy: str = "name another file") -> Dict[str, Any]:
    """As :func:`read`, also of a folder; a UserError, which ends with the remedy, if there is no
    such file, it is damaged, or it lacks weights or options."""
    path = model_file(path)
    if not os.path.isfile(path):
        raise UserError(f"{path} does not exist or is no file; {remedy}")
    with explained(path, remedy):
        state = read(path)
        _refuse_incomplete(state)
        try:
            _refuse_references([state.get("cfg"), state.get("args")])
        except ValueError as error:
            raise UserError(f"{path} {error}; {remedy}")
    return state


def section(state: Dict[str, Any], name: str) -> Tuple[Any, Dict[str, Any]]:
    """The name of what a section of a checkpoint's options builds, and its options."""
    option = "arch" if name == "model" else name
    if state.get("args"):  # of a file from before fairseq 0.11
        return state["args"].get(option), state["args"]
    options = (state.get("cfg") or {}).get(name)
    if isinstance(options, str):
        return options, {}
    options = vars(options) if isinstance(options, Namespace) else options  # once made anew
    options = options if isinstance(options, dict) else {}
    return options.get("_name") or options.get(option), options


def _refuse_references(options: Any, option: str = "") -> None:
    """Refuses text that OmegaConf would replace."""
    if isinstance(options, str) and "${" in options:
        raise ValueError(f"has {options[:80]!r}, which fairseq would replace, as {option}")
    if isinstance(options, dict):
        for name, value in options.items():
            _refuse_references(name, f"a name in the section {option}")
            _refuse_references(value, f"the option {name}")
    elif isinstance(options, (list, tuple)):
        for value in options:
            _refuse_references(value, option)


def minimal(cfg: Dict[str, Any], weights: Dict[str, Tensor]) -> Dict[str, Any]:
    """The entries that fairseq needs in a checkpoint; training starts at update 0."""
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


def _refuse_incomplete(state: Any) -> None:
    """Raises a LookupError if a checkpoint lacks weights or options."""
    if not isinstance(state, dict) or not is_weights(state.get("model")):
        raise LookupError("it lacks 'model', the weights by name")
    old, options = state.get("args") or {}, state.get("cfg") or {}
    if not (old or options) or not (isinstance(old, dict) and isinstance(options, dict)):
        raise LookupError("it lacks 'cfg' or 'args', the options of the model")
    history, extra = state.get("optimizer_history", [{}]), state.get("extra_state", {})
    if not (isinstance(history, list) and history and isinstance(history[-1], dict)):
        raise LookupError("its 'optimizer_history' is no list")
    last = {"lr_scheduler_state": None, "num_updates": 0, **history[-1]}
    scheduler = last["lr_scheduler_state"]
    if history[-1] and not (
        isinstance(scheduler, dict) or scheduler is None and "best_loss" in last
    ):
        raise LookupError("its 'optimizer_history' has no 'lr_scheduler_state'")
    iterator = extra.get("train_iterator", {}) if isinstance(extra, dict) else None
    if not isinstance(iterator, dict):
        raise LookupError("its 'extra_state' is no dictionary")
    places = [iterator.get(name, 1) for name in ("epoch", "iterations_in_epoch")]
    if not all(isinstance(number, int) for number in [last["num_updates"], *places]):
        raise LookupError("its updates or epochs are no numbers")


def moving_average(state: Dict[str, Any]) -> Optional[Dict[str, Tensor]]:
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


def _safetensors():
    try:
        import safetensors.torch
    except ModuleNotFoundError as error:
        raise missing(error)
    return safetensors


def write_weights(weights: Dict[str, Tensor], path: str) -> None:
    """Writes ``model.safetensors``; matrices with several names are written once for each."""
    copies = {name: value.detach().clone().contiguous() for name, value in weights.items()}
    data = _safetensors().torch.save(copies, metadata={"format": "pt"})
    with open(path, "wb") as file:  # of a disk that is full the package says so in its own way
        file.write(data)


def hub_config(cfg: Dict[str, Any]) -> Dict[str, Any]:
    """The content of ``config.json``, from the options of a checkpoint as plain data."""
    return {"model_type": "symbol_invariant_transformer", "library_name": "sit_fairseq", "cfg": cfg}


def _read_hub(path: str) -> Tuple[Any, Dict[str, Tensor]]:
    """The options and the weights of a folder of ``sit export --hub``, given the path of its weights."""
    beside = os.path.join(os.path.dirname(path), CONFIG)
    try:
        if os.path.exists(beside) and not os.path.isfile(beside):
            raise OSError("no file")  # but a pipe, or a device that never ends
        with open(beside, encoding="utf-8") as file:
            options = json.load(file)
        cfg = options["cfg"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise UserError(
            f"{beside} does not hold the options of {path} ({type(error).__name__}: {error}); "
            "name a folder of sit export --hub"
        )
    safetensors = _safetensors()
    try:
        weights = safetensors.torch.load_file(path)
        # Those of transformers are called core.NAME.
        return cfg, {name.removeprefix("core."): value for name, value in weights.items()}
    except safetensors.SafetensorError as error:
        raise UserError(f"{path} is damaged ({error}); name another file")
