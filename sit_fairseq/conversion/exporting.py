"""Small checkpoints to be shipped: half precision, no optimizer, no paths."""

import os
from typing import Any, Dict, Mapping

from omegaconf import OmegaConf

from sit_fairseq.conversion import reading, writing
from sit_fairseq.errors import UserError
from sit_fairseq.files import partial_files
from sit_fairseq.symbols.stream_vocabulary import saved_vocabulary

# Options that say where things were, or how to report progress.
_LOCAL = {
    "common": {
        "user_dir": None,
        "log_file": None,
        "tensorboard_logdir": None,
        "plasma_path": "",
    },
    "task": {"data": ""},
    "checkpoint": {
        "save_dir": "checkpoints",
        "restore_file": "checkpoint_last.pt",
        "finetune_from_model": None,
    },
}


def _languages(task: Mapping[str, Any]) -> Dict[str, str]:
    """What source and target are called; fairseq keeps no name that it found out itself."""
    return {
        side: task[side] or default
        for side, default in (("source_lang", "src"), ("target_lang", "tgt"))
    }


def exported(state: Dict[str, Any]) -> Dict[str, Any]:
    """The checkpoint without what only its training needed.

    Args:
        state: the contents of a checkpoint of a stream model.

    Returns:
        Options without paths, and weights in half precision; the scale of the cosines
        keeps all its digits.
    """
    cfg = OmegaConf.create(state["cfg"])
    for side, language in _languages(cfg.task).items():
        cfg.task[side] = language
    for section, options in _LOCAL.items():
        cfg[section].update(options)
    cfg.job_logging_cfg = {}
    weights = {
        name: value.half() if value.is_floating_point() and value.dim() else value
        for name, value in state["model"].items()
    }
    return writing.checkpoint(cfg, weights)


def export(checkpoint: str, folder: str) -> str:
    """Writes a checkpoint to be shipped, and the dictionaries that fairseq's commands ask for.

    Args:
        checkpoint: a trained stream model.
        folder: where ``model.pt`` and ``dict.*.txt`` go; it is made if there is none.

    Returns:
        The name of the new checkpoint.

    Raises:
        UserError: the checkpoint is not that of a stream model, or cannot be read.
    """
    if os.path.isfile(folder):
        raise UserError(f"{folder} is a file; name a folder for DIR.")
    state = reading.read_state(checkpoint)
    vocabulary = saved_vocabulary(state["model"])
    if vocabulary is None or state.get("cfg") is None:
        raise UserError(f"{checkpoint} is no checkpoint of a stream model; train one first.")
    os.makedirs(folder, exist_ok=True)
    model = os.path.join(folder, "model.pt")
    names = sorted({f"dict.{name}.txt" for name in _languages(state["cfg"]["task"]).values()})
    with partial_files(model, *(os.path.join(folder, name) for name in names)) as partials:
        writing.save(exported(state), partials[0])
        for partial in partials[1:]:
            with open(partial, "w", encoding="utf-8", newline="\n") as file:
                file.writelines(f"{token} 1\n" for token in vocabulary[0])
    return model
