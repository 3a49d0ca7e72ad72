"""A trained model as the conversion sees it, its weights and its dictionaries."""

import contextlib
import os
from argparse import Namespace
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Set

from fairseq import utils
from fairseq.data import Dictionary, data_utils
from fairseq.models import FairseqEncoderDecoderModel
from torch import Tensor

from sit_fairseq.errors import UserError
from sit_fairseq.storage.checkpoints import moving_average
from sit_fairseq.tasks.stream_dictionary import StreamDictionary

# What fairseq, torch and our layers raise for sizes, options and tensors that do not fit.
_MISFITS = (
    *(ArithmeticError, AssertionError, LookupError, RuntimeError, TypeError, ValueError),
    UserError,
)


class Dictionaries(NamedTuple):
    """The tokens that a model was trained on, their directory and, if known, languages."""

    data: str
    source_lang: Optional[str]
    target_lang: Optional[str]
    source: Dictionary
    target: Dictionary


@dataclass(frozen=True)
class Original:
    """A trained model, described in terms of the model that it becomes.

    Attributes:
        model_options: options of ``symbol_invariant_transformer`` under which it computes the same
            function of one stream.
        task_options: options of ``stream_translation`` that hold on.
        tensors: its weights in float32, by name.
        tables: the dictionaries that embeddings have their rows by, by name of the tensor.
        parts: maps the name of any other tensor of the converted model to the names of the tensors
            that it consists of, one below the other.
        never_produced: tokens that no answer of it can hold.
    """

    model_options: Dict[str, Any]
    task_options: Dict[str, Any]
    dictionaries: Dictionaries
    tensors: Dict[str, Tensor]
    tables: Dict[str, Dictionary]
    parts: Callable[[str], List[str]]
    never_produced: Set[str]
    model: FairseqEncoderDecoderModel


def model_options(state: Dict[str, Any]) -> Dict[str, Any]:
    """The options of the model of a checkpoint."""
    options = state["cfg"]["model"]
    return dict(vars(options) if isinstance(options, Namespace) else options)


def lasting_task_options(state: Dict[str, Any]) -> Dict[str, bool]:
    """The options of the task that a converted model keeps."""
    return {name: state["cfg"]["task"][name] for name in ("left_pad_source", "truncate_source")}


def weights(path: str, state: Dict[str, Any], ema: bool) -> Dict[str, Tensor]:
    """The weights by name, in float32, or with ``ema`` their moving average; a UserError if they
    are of a sharded or wrapped model."""
    chosen = moving_average(state) if ema else state["model"]
    shards = [name for name in chosen if "flat_param" in name or "_fsdp_wrapped_module" in name]
    if shards or "fsdp_metadata" in state:
        raise UserError(
            f"{path} holds weights flattened or sharded by fully_sharded training "
            f"({' '.join(shards[:1]) or 'fsdp_metadata'}); first save the whole model in one file"
        )
    return {name: t.float() if t.is_floating_point() else t for name, t in chosen.items()}


@contextlib.contextmanager
def explaining_weights(path: str) -> Iterator[None]:
    """Context manager: weights that a model does not take end in one sentence."""
    try:
        yield
    except _MISFITS as error:
        reason = " ".join(str(error).split())
        raise UserError(f"the weights of {path} do not fit its options: {reason}")


def recorded_data(state: Dict[str, Any]) -> str:
    """The first data directory that a checkpoint names; empty if there is none."""
    recorded = state["cfg"]["task"]["data"]
    return utils.split_paths(recorded)[0] if recorded else ""


def languages(state: Dict[str, Any], data: str) -> List[Optional[str]]:
    """The languages of sources and targets by the checkpoint or else the data; None if unknown."""
    langs = [state["cfg"]["task"][f"{side}_lang"] for side in ("source", "target")]
    if all(isinstance(lang, str) for lang in langs):
        return langs
    return list(data_utils.infer_language_pair(data)) if os.path.isdir(data) else [None, None]


def read_dictionaries(state: Dict[str, Any], data: Optional[str]) -> Dictionaries:
    """Reads the dictionaries in a directory, by default that of the checkpoint, or a UserError."""
    data = data or recorded_data(state)
    if not os.path.isdir(data):
        raise UserError(f"{data!r}, the directory of the model's dictionaries, is missing", "data")
    langs = languages(state, data)
    if None in langs:
        raise UserError(
            f"{data} holds no binarised data to tell the source language from the target "
            "language; name a directory that fairseq-preprocess wrote",
            "data",
        )
    return Dictionaries(data, *langs, *(read_dictionary(data, lang) for lang in langs))


def read_dictionary(data: str, lang: str) -> Dictionary:
    """Reads the dictionary of a language; a UserError if it cannot."""
    path = os.path.join(data, f"dict.{lang}.txt")
    if not os.path.isfile(path):
        raise UserError(f"{path} is missing", "data")
    return StreamDictionary.load(path)
