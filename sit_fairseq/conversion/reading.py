"""Reading checkpoints and dictionaries, without trusting them."""

import os
import zipfile
from argparse import Namespace
from typing import Any, Dict, List, NamedTuple, Optional

from fairseq import utils
from fairseq.data import Dictionary, data_utils
from fairseq.models import ARCH_MODEL_NAME_REGISTRY
from torch import Tensor

from sit_fairseq.errors import UserError
from sit_fairseq.storage.checkpoints import explained, incomplete, is_weights, read
from sit_fairseq.tasks.file_options import refuse_other_shapes, refuse_programs


class Dictionaries(NamedTuple):
    """The tokens that a model was trained on.

    Attributes:
        data: the directory of the data.
        source_lang: the language of the sources, None if unknown.
        target_lang: the language of the targets, likewise.
        source: the tokens of the sources.
        target: the tokens of the targets, maybe the same ones.
    """

    data: str
    source_lang: Optional[str]
    target_lang: Optional[str]
    source: Dictionary
    target: Dictionary


def read_state(path: str) -> Dict[str, Any]:
    """Reads a checkpoint of fairseq; nothing that it holds is executed.

    Args:
        path: the file, or the weights of a folder of ``sit export --hub``.

    Raises:
        UserError: if it cannot be read, or is no checkpoint of fairseq.
    """
    if not os.path.isfile(path):
        raise UserError(f"{path} does not exist or is no file; name a checkpoint of fairseq")
    with explained(path, "name another file"):
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                damaged = archive.testzip()  # torch.load does not look at checksums
            if damaged is not None:
                raise zipfile.BadZipFile(f"wrong checksum of {damaged}")
        state = read(path)
        complaint = _foreign(state)
        if complaint:
            raise UserError(f"{path} is no checkpoint of fairseq: {complaint}; name another file")
        refuse_programs(path, state)
        refuse_other_shapes(path, state)
    return state


def _foreign(state: Any) -> Optional[str]:
    if not isinstance(state, dict):
        return "it holds no dictionary"
    if "fsdp_metadata" in state:
        return (
            "it is one shard of a model trained with --ddp-backend fully_sharded; first save the "
            "whole model in one file, without --use-sharded-state"
        )
    lacking = incomplete(state)
    if lacking is None and not _options(state, "model"):
        lacking = "it lacks 'cfg' or 'args', the options of the model"
    return lacking


def _options(state: Dict[str, Any], section: str) -> Dict[str, Any]:
    # Files from before fairseq 0.11 hold all options in one namespace.
    options = state.get("args") or (state.get("cfg") or {})
    if isinstance(options, dict):
        options = options.get(section)
    if isinstance(options, Namespace):
        options = vars(options)
    return dict(options) if isinstance(options, dict) else {}


def model_options(state: Dict[str, Any]) -> Dict[str, Any]:
    """The options of the model, as the file has them."""
    return _options(state, "model")


def task_options(state: Dict[str, Any]) -> Dict[str, Any]:
    """The options of the task, as the file has them."""
    return _options(state, "task")


def lasting_task_options(state: Dict[str, Any]) -> Dict[str, bool]:
    """Those options of the task that hold on for a converted model."""
    options = task_options(state)
    names = ("left_pad_source", "truncate_source")
    return {name: options[name] for name in names if isinstance(options.get(name), bool)}


def architecture(options: Dict[str, Any]) -> str:
    """The architecture that the options of a model name."""
    return str(options.get("arch") or options.get("_name"))


def model_name(options: Dict[str, Any]) -> str:
    """The model whose architecture the options name."""
    return ARCH_MODEL_NAME_REGISTRY.get(architecture(options), architecture(options))


def weights(state: Dict[str, Any], path: str, ema: bool) -> Dict[str, Tensor]:
    """The weights by name, in float32, as fairseq loads them.

    Args:
        state: see :func:`read_state`.
        path: its name, for messages.
        ema: take the moving average that ``--store-ema`` saves beside the weights.

    Raises:
        UserError: if there is no moving average.
    """
    chosen = state["model"]
    if ema:
        chosen = moving_average(state)
        if chosen is None:
            raise UserError(
                f"{path} holds no moving average of the weights (it was trained without "
                "--store-ema); leave out --ema"
            )
    return {n: t.float() if t.is_floating_point() else t for n, t in chosen.items()}


def moving_average(state: Dict[str, Any]) -> Optional[Dict[str, Tensor]]:
    """The moving average of the weights, if the file has one."""
    extra = state.get("extra_state")
    average = extra.get("ema") if isinstance(extra, dict) else None
    return average if is_weights(average) else None


def recorded_data(options: Dict[str, Any]) -> str:
    """The first data directory that the options of a task name; empty if there is none."""
    recorded = options.get("data")
    return utils.split_paths(recorded)[0] if recorded and isinstance(recorded, str) else ""


def check_data(data: Optional[str]) -> None:
    """Raises if ``--data`` names no directory.

    Raises:
        UserError: naming it.
    """
    if data is not None and not os.path.isdir(data):
        raise UserError(f"--data {data}: no such directory; name one that holds dict.*.txt")


def read_dictionaries(options: Dict[str, Any], data: Optional[str]) -> Dictionaries:
    """Finds and reads the dictionaries that a model was trained with.

    Args:
        options: of its task.
        data: the directory to look in; None for the one named by the options.

    Raises:
        UserError: if they cannot be found or read.
    """
    check_data(data)
    if data is None:
        data = recorded_data(options)
        if not os.path.isdir(data):
            raise UserError(
                f"the data directory recorded in the checkpoint, {options.get('data')!r}, does not "
                "exist; name the directory that holds its dict.*.txt with --data"
            )
    langs = languages(options, data)
    if None in langs:
        raise UserError(
            f"{data} holds no binarised data to tell the source language from the target "
            "language; name with --data a directory that fairseq-preprocess wrote"
        )
    return Dictionaries(data, *langs, *(read_dictionary(data, lang) for lang in langs))


def languages(options: Dict[str, Any], data: str) -> List[Optional[str]]:
    """The languages of sources and targets, None where nothing tells.

    Args:
        options: of the task.
        data: a directory to tell them from if the options do not name them.
    """
    langs = [options.get(f"{side}_lang") for side in ("source", "target")]
    if all(isinstance(lang, str) for lang in langs):
        return langs
    return list(data_utils.infer_language_pair(data)) if os.path.isdir(data) else [None, None]


def dictionary_path(data: str, lang: str) -> str:
    """Where fairseq-preprocess writes the dictionary of a language."""
    return os.path.join(data, f"dict.{lang}.txt")


def read_dictionary(data: str, lang: str) -> Dictionary:
    """Reads the dictionary of a language.

    Raises:
        UserError: if there is none, or it cannot be read.
    """
    path = dictionary_path(data, lang)
    if not os.path.isfile(path):
        raise UserError(f"{path} is missing; name the directory of the dictionaries with --data")
    try:
        dictionary = Dictionary.load(path)
    except Exception as error:  # as fairseq raises for a wrong encoding
        raise UserError(f"{path} is no dictionary of fairseq: {error}")
    if len(set(dictionary.symbols)) < len(dictionary):
        raise UserError(
            f"{path} holds a token twice (#fairseq:overwrite), so that its row is ambiguous; "
            "remove one of the two lines and retrain"
        )
    return dictionary
