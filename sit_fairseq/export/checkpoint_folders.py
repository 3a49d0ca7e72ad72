"""Small checkpoints to be shipped: half precision, no optimizer, no paths."""

import json
import os
from typing import Any, Dict, List, Optional, Sequence, Tuple

from sit_fairseq.model import Model
from sit_fairseq.models.config import LanguageModelConfig
from sit_fairseq.models.loading import config_of
from sit_fairseq.storage import checkpoints
from sit_fairseq.storage.files import WEIGHTS, Place, model_file, partial_files, read_sentences
from sit_fairseq.symbols.saved_tokens import saved_vocabulary

# The table of options in the card of a model that has none.
_DESCRIBED = (
    *("symbol_embedding", "stream_attention", "encoder_positions", "decoder_positions"),
    *("encoder_layers", "decoder_layers", "encoder_embed_dim", "encoder_ffn_embed_dim"),
    *("encoder_attention_heads", "output_head"),
)

TAGS = """\
license: mit
library_name: sit_fairseq
tags:
- symbol-invariant-transformer
- fairseq
- symbolic-reasoning
"""


def export(checkpoint: Place, folder: Place) -> str:
    """Writes ``model.pt``, and the dictionaries that fairseq's commands ask for, into a folder.

    Returns:
        The name of the new checkpoint.

    Raises:
        UserError: the checkpoint is not that of a stream model, or cannot be read.
    """
    small, tokens, _ = small_checkpoint(checkpoint)
    return write_folder(folder, small, tokens)


def export_hub(checkpoint: Place, folder: Place) -> str:
    """Writes a folder that can be uploaded as it is, weights as safetensors, options as JSON.

    Its card is the ``README.md`` that it has, or else the one beside the checkpoint.

    Returns:
        The name of the file of weights.

    Raises:
        UserError: the checkpoint is not that of a stream model, or cannot be read.
    """
    small, tokens, pattern = small_checkpoint(checkpoint)
    texts = {
        checkpoints.CONFIG: json.dumps(checkpoints.hub_config(small["cfg"]), indent=1) + "\n",
        checkpoints.CARD: card(
            small["cfg"], pattern, (folder, os.path.dirname(model_file(checkpoint)))
        ),
    }
    return write_folder(folder, small, tokens, texts)


def small_checkpoint(checkpoint: Place) -> Tuple[Dict[str, Any], List[str], str]:
    """A checkpoint with weights in half precision, the scale of the cosines excepted, its base
    tokens, and its pattern."""
    small = Model.load(checkpoint).checkpoint(half=True)
    return small, *saved_vocabulary(small["model"])


def write_folder(
    folder: Place, state: Dict[str, Any], tokens: List[str], texts: Optional[Dict[str, str]] = None
) -> str:
    """Writes a small checkpoint into a folder, with texts by the names of their files.

    Without texts it is a file of fairseq's, else one of weights alone.

    Returns:
        The name of the checkpoint.
    """
    task, dictionary = state["cfg"]["task"], "".join(f"{token} 1\n" for token in tokens)
    files = dict(texts or {})
    sides = [f".{task[side]}" for side in ("source_lang", "target_lang")]
    files.update(
        (f"dict{side}.txt", dictionary) for side in ([""] if is_text(state["cfg"]) else sides)
    )
    name = "model.pt" if texts is None else WEIGHTS
    paths = [os.path.join(folder, file) for file in (name, *files)]
    with partial_files(*paths) as (weights, *partials):
        if texts is None:
            checkpoints.write(state, weights)
        else:
            checkpoints.write_weights(state["model"], weights)
        for partial, text in zip(partials, files.values()):
            with open(partial, "w", encoding="utf-8", newline="\n") as file:
                file.write(text)
    return paths[0]


def is_text(cfg: Dict[str, Any]) -> bool:
    """Whether options of a checkpoint are those of a language model."""
    return config_of(cfg["model"]) is LanguageModelConfig


def card(cfg: Dict[str, Any], pattern: str, folders: Sequence[str], tags: str = TAGS) -> str:
    """The card with what hubs read at its head.

    Args:
        cfg, pattern: options of the checkpoint, a table of them if there is no card.
        folders: the first of them that has a card gives it; it may have such a head.
        tags: the head, in YAML, of a card that has none.
    """
    paths = [os.path.join(folder, checkpoints.CARD) for folder in folders]
    path = next(filter(os.path.isfile, paths), None)
    if path is not None:
        text = "\n".join([*read_sentences(path), ""])
        if text.startswith("---\n"):
            return text
    else:
        rows = [("symbols", line) for line in pattern.splitlines()]
        rows += [
            (name.replace("_", " "), cfg["model"][name])
            for name in _DESCRIBED
            if name in cfg["model"]
        ]
        cells = [(name, str(value).replace("|", "\\|")) for name, value in rows]
        table = "".join(f"| {name} | `{value}` |\n" for name, value in cells)
        text = f"# Symbol-Invariant Transformer\n\n| | |\n| --- | --- |\n{table}"
    return f"---\n{tags}---\n\n{text}"
