"""Checkpoints as folders to upload: weights as safetensors, options as JSON."""

import json
import os
from typing import Any, Dict, Tuple

from torch import Tensor

from sit_fairseq.errors import UserError, missing

WEIGHTS, CONFIG, CARD = "model.safetensors", "config.json", "README.md"


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


def config(cfg: Dict[str, Any]) -> Dict[str, Any]:
    """The content of ``config.json``, from the options of a checkpoint as plain data."""
    return {"model_type": "symbol_invariant_transformer", "library_name": "sit_fairseq", "cfg": cfg}


def read(path: str) -> Tuple[Any, Dict[str, Tensor]]:
    """The options and the weights of a folder, given the path of its weights; a UserError if one is
    missing or damaged."""
    beside = os.path.join(os.path.dirname(path), CONFIG)
    try:
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
        return cfg, safetensors.torch.load_file(path)
    except safetensors.SafetensorError as error:
        raise UserError(f"{path} is damaged ({error}); name another file")


def weights_file(folder: str, name: str) -> str:
    """The file of weights in a folder, if it is one of those and lacks the file named."""
    if os.path.exists(os.path.join(folder, name)):
        return name
    return WEIGHTS if os.path.exists(os.path.join(folder, WEIGHTS)) else name
