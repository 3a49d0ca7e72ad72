"""Small checkpoints to be shipped: half precision, no optimizer, no paths."""

import os
import shutil
from pathlib import Path
from typing import Any, Dict, Optional

from sit_fairseq.errors import UserError
from sit_fairseq.model import Model
from sit_fairseq.models.config import LanguageModelConfig
from sit_fairseq.models.loading import config_of
from sit_fairseq.storage import checkpoints
from sit_fairseq.storage.files import WEIGHTS, Place, partial_files
from sit_fairseq.symbols.saved_tokens import saved_vocabulary

PIECES = "spm.model"  # of words, beside a model


def export(model: Model, folder: Place) -> str:
    """Writes ``model.pt``, and the dictionaries that fairseq's commands ask for, into a folder. Returns
    the name of the checkpoint; a UserError for an ensemble, or if the folder cannot be written."""
    return write_folder(folder, model.checkpoint(half=True))


def write_folder(
    folder: Place, state: Dict[str, Any], texts: Optional[Dict[str, str]] = None
) -> str:
    """Writes a small checkpoint into a folder, with texts by the names of their files. Without texts it
    is a file of fairseq's, else one of weights alone, whose names begin with ``core.`` if there is code
    among the texts. Returns its name; a UserError if the folder has a ``model.pt`` that is preferred, or
    binary data.
    """
    task, (tokens, _) = state["cfg"]["task"], saved_vocabulary(state["model"])
    sides = [f".{task[f'{side}_lang']}" for side in ("source", "target")]
    sides = [""] if is_text(state["cfg"]) else sides
    dictionary = "".join(f"{token} 1\n" for token in tokens)
    files = {**(texts or {}), **{f"dict{side}.txt": dictionary for side in sides}}
    name = "model.pt" if texts is None else WEIGHTS
    paths = [os.path.join(folder, file) for file in (name, *files)]
    if name == WEIGHTS and os.path.isfile(first := os.path.join(folder, "model.pt")):
        raise UserError(f"{first} would be read in place of {name}; name another folder", "folder")
    if os.path.isdir(folder) and any(file.endswith(".idx") for file in os.listdir(folder)):
        reason = "holds binary data, whose dictionaries would be written over"
        raise UserError(f"{folder} {reason}; name another folder", "folder")
    with partial_files(*paths) as (weights, *partials):
        if texts is None:
            checkpoints.write(state, weights)
        else:
            prefix = "core." if any(name.endswith(".py") for name in texts) else ""
            named = {f"{prefix}{name}": value for name, value in state["model"].items()}
            checkpoints.write_weights(named, weights)
        for partial, text in zip(partials, files.values()):
            with open(partial, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
    return paths[0]


def take_along(beside: Place, folder: Place) -> None:
    """Copies what stands beside a model: the domains that it has learnt, and the pieces of its words."""
    for name in (*sorted(Path(beside, "domains").glob("*")), Path(beside, PIECES)):
        to = Path(folder, name.relative_to(beside))
        if name.is_file() and not (to.is_file() and to.samefile(name)):
            with partial_files(to) as (copy,):
                shutil.copyfile(name, copy)


def is_text(cfg: Dict[str, Any]) -> bool:
    """Whether options of a checkpoint are those of a language model."""
    return config_of(cfg["model"]) is LanguageModelConfig
