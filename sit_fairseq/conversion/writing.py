"""Writing a converted model as a checkpoint that fairseq's commands accept."""

import os
from typing import List

from fairseq import options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from omegaconf import DictConfig, open_dict

from sit_fairseq.conversion.mapping import Symbols
from sit_fairseq.conversion.original import Original
from sit_fairseq.errors import UserError


def training_options(original: Original, added: List[str]) -> List[str]:
    """The options of fairseq-train for the converted model, with ``EA``, ``DA`` or both added."""
    *own, cross = original.model_options["stream_attention"].split("-")
    pattern = [*own, *(letters for letters in ("EA", "DA") if letters in added), cross]
    chosen = {
        **original.model_options,
        "stream_attention": "-".join(pattern),
        "aggregated_normalize_before": bool(added),
    }
    arguments = ["--arch", "symbol_invariant_transformer"]
    for name, value in chosen.items():
        flag = "--" + name.replace("_", "-")
        if not isinstance(value, bool):
            arguments += [flag, str(value)]
        elif value:
            arguments.append(flag)
    return arguments


def configuration(original: Original, symbols: Symbols, arguments: List[str]) -> DictConfig:
    """The configuration that fairseq-train would save with :func:`training_options`."""
    parser = options.get_training_parser()
    given = ["data", "--task", "stream_translation", *arguments]
    cfg = convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, given))
    with open_dict(cfg):
        # Set here, because fairseq's way from arguments to values alters some strings.
        cfg.task.update(original.task_options)
        data = original.dictionaries.data
        cfg.task.data = os.path.abspath(data) if data else ""
        cfg.task.source_lang = original.dictionaries.source_lang
        cfg.task.target_lang = original.dictionaries.target_lang
        cfg.task.symbols = symbols.pattern
    return cfg


def check_destination(source: str, destination: str, overwrite: bool) -> None:
    """Raises a UserError, before any work is done, if the result cannot be written."""
    folder = os.path.dirname(os.path.abspath(destination))
    if not os.path.isdir(folder):
        raise UserError(f"{folder} does not exist; make it, or name another OUT")
    if os.path.isdir(destination):
        raise UserError(f"{destination} is a directory; name a file in it")
    if not os.path.exists(destination):
        return
    if os.path.exists(source) and os.path.samefile(source, destination):
        raise UserError(f"IN and OUT are both {source}, and IN is never changed; name another OUT")
    if not overwrite:
        raise UserError(f"{destination} exists; name another OUT, or overwrite it")
