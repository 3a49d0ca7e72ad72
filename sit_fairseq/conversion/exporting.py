"""Small checkpoints to be shipped: half precision, no optimizer, no paths."""

import contextlib
import json
import os
from typing import Any, Dict, Iterator, List, Mapping, Tuple

from omegaconf import OmegaConf

from sit_fairseq.conversion import reading, writing
from sit_fairseq.errors import UserError
from sit_fairseq.storage import hub_folder
from sit_fairseq.storage.checkpoints import explained
from sit_fairseq.storage.files import explaining_failure, make_folder, partial_files
from sit_fairseq.symbols.saved_tokens import saved_vocabulary

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

# What a card says of a model that has none.
_DESCRIBED = (
    *("symbol_embedding", "stream_attention", "encoder_positions", "decoder_positions"),
    *("encoder_layers", "decoder_layers", "encoder_embed_dim", "encoder_ffn_embed_dim"),
    *("encoder_attention_heads", "output_head"),
)

_TAGS = """\
license: mit
library_name: sit_fairseq
tags:
- symbol-invariant-transformer
- fairseq
- symbolic-reasoning
"""


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
    small, tokens = _stream_model(checkpoint)
    with _in_folder(folder, small, tokens, "model.pt") as partials:
        writing.save(small, partials[0])
    return os.path.join(folder, "model.pt")


def export_hub(checkpoint: str, folder: str) -> str:
    """Writes a folder that can be uploaded as it is, see :mod:`sit_fairseq.storage.hub_folder`.

    Args:
        checkpoint: a trained stream model; ``README.md`` beside it becomes the card.
        folder: where the files go; it is made if there is none.

    Returns:
        The name of the file of weights.

    Raises:
        UserError: the checkpoint is not that of a stream model, or cannot be read.
    """
    small, tokens = _stream_model(checkpoint)
    names = (hub_folder.WEIGHTS, hub_folder.CONFIG, hub_folder.CARD)
    beside = os.path.join(os.path.dirname(checkpoint), hub_folder.CARD)
    card = _card(small["cfg"], beside)
    with _in_folder(folder, small, tokens, *names) as partials:
        hub_folder.write_weights(small["model"], partials[0])
        texts = (json.dumps(hub_folder.config(small["cfg"]), indent=1) + "\n", card)
        for partial, text in zip(partials[1:], texts):
            with open(partial, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
    return os.path.join(folder, hub_folder.WEIGHTS)


def _stream_model(checkpoint: str) -> Tuple[Dict[str, Any], List[str]]:
    """A checkpoint, made small, and its base tokens."""
    state = reading.read_state(checkpoint)
    vocabulary = saved_vocabulary(state["model"])
    if vocabulary is None or state.get("cfg") is None:
        raise UserError(f"{checkpoint} is no checkpoint of a stream model; train one first.")
    with explained(checkpoint, "name another file"):
        return exported(state), vocabulary[0]


@contextlib.contextmanager
def _in_folder(
    folder: str, state: Dict[str, Any], tokens: List[str], *names: str
) -> Iterator[List[str]]:
    """Names to write files of a folder to; the dictionaries are written, too."""
    make_folder(folder)
    languages = [state["cfg"]["task"][side] for side in ("source_lang", "target_lang")]
    names += tuple(sorted({f"dict.{language}.txt" for language in languages}))
    paths = [os.path.join(folder, name) for name in names]
    with explaining_failure(folder), partial_files(*paths) as partials:
        yield partials
        for name, partial in zip(names, partials):
            if name.startswith("dict."):
                with open(partial, "w", encoding="utf-8", newline="\n") as file:
                    file.writelines(f"{token} 1\n" for token in tokens)


def _card(cfg: Dict[str, Any], path: str) -> str:
    """The card with what hubs read at its head.

    Args:
        cfg: options of the checkpoint.
        path: the text of the card, which may have such a head; if there is no such file it is a
            table of options.
    """
    if os.path.isfile(path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if text.startswith("---\n"):
            return text
    else:
        model, task = cfg["model"], cfg["task"]
        rows = [("symbols", task["symbols"])]
        rows += [(name.replace("_", " "), model[name]) for name in _DESCRIBED if name in model]
        table = "".join(f"| {name} | `{value}` |\n" for name, value in rows)
        text = f"# Symbol-Invariant Transformer\n\n| | |\n| --- | --- |\n{table}"
    return f"---\n{_TAGS}---\n\n{text}"
