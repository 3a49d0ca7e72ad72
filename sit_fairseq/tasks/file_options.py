"""What the options of a file may say.

Reading a checkpoint runs nothing of it (:mod:`sit_fairseq.storage.checkpoints`), but fairseq believes
its options: it replaces ``${...}`` by what they refer to, builds each kind that they name,
evaluates some as Python and opens what others name. So they are looked at as they were read,
before anything is made of them.
"""

import re
from argparse import Namespace
from dataclasses import fields
from itertools import islice
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple

import torch
from fairseq.models import ARCH_MODEL_NAME_REGISTRY, MODEL_DATACLASS_REGISTRY
from fairseq.registry import REGISTRIES
from fairseq.tasks import TASK_DATACLASS_REGISTRY
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from torch import Tensor

from sit_fairseq.errors import UserError
from sit_fairseq.symbols.saved_tokens import saved_vocabulary

_STREAMS = "symbol_invariant_transformer"

# What is built by options of a file, and the kinds whose options are mere data. Of what is
# built by options of a command alone, a file may name all that there is.
_KINDS = {
    "model": (_STREAMS, "transformer"),
    "task": ("stream_translation", "translation"),
    "criterion": ("adacos", "minimum_risk", "cross_entropy", "label_smoothed_cross_entropy"),
    "bpe": ("bytes", "characters"),
    "tokenizer": ("space",),
}

# What options with these names may hold as text. fairseq evaluates the first two, makes names of
# files of languages, gives those of data of another implementation to a shell, makes a tokeniser
# of whatever detok names, and reads options of the search as JSON: no judge is to be among them.
_TEXTS = {
    "adaptive_softmax_cutoff": r"[\d\s,()\[\]]*",
    "xformers_att_config": "",
    "source_lang": r"[\w.@+-]*",
    "target_lang": r"[\w.@+-]*",
    "dataset_impl": "raw|lazy|cached|mmap|huffman",
    "eval_bleu_detok": "space|moses|nltk",
    "eval_bleu_args": r"((?!:\s*\")[^\\])*",
}

# Options that say how much memory a model takes.
_SIZES = (
    *("layers", "embed_dim", "ffn_embed_dim", "max_source_positions", "max_target_positions"),
    *("tree_depth", "symbol_code_dim", "sampling_topk"),
)

# Options that each command has for itself: files to open, and how to compute.
_OF_COMMANDS = ("encoder_embed_path", "decoder_embed_path", "embed_path", "replace_unk", "autocast")

# A file with more options, larger sizes or larger weights is no model's.
_MOST_OPTIONS = 100_000
_LARGEST = 1_000_000


def refuse_programs(path: str, state: Dict[str, Any]) -> None:
    """Refuses options that are more than data.

    Args:
        path: the checkpoint, for messages.
        state: what it holds, as it was read.

    Raises:
        UserError: options hold ``${``, or other things than texts and numbers, or what fairseq
            would run.
    """
    for old in ("cfg", "args"):
        found = list(islice(_values(state.get(old)), _MOST_OPTIONS + 1))
        if len(found) > _MOST_OPTIONS:
            raise UserError(f"{path} holds more than {_MOST_OPTIONS} options; name another file")
        for option, value in found:
            fault = _fault(option, value, old == "args")
            if fault is not None:
                raise UserError(
                    f"{path} has {fault} as the option {option} of its model; name another file"
                )


def _fault(option: str, value: Any, old: bool) -> Optional[str]:
    """What an option is that no file may have."""
    option = re.sub("^(encoder|decoder)_", "", option)
    if value is None or isinstance(value, (bool, int, float)):
        too_large = option in _SIZES and not (value is None or value <= _LARGEST)
        return f"{value}, more than {_LARGEST}," if too_large else None
    if not isinstance(value, str):
        return f"what is no text and no number, but {type(value).__name__},"
    # Old options are written down as words of a command line and read again.
    if "${" in value or (old and re.search(r"[$\\]", value)):
        return f"{value[:80]!r}, which fairseq would replace by something of this machine,"
    allowed = _TEXTS.get(option)
    if allowed is not None and re.fullmatch(allowed, value) is None:
        return f"{value[:80]!r}, which fairseq would run or make the name of a file,"
    return None


def _values(options: Any, name: str = "") -> Iterator[Tuple[str, Any]]:
    """The names and the values of options, also within lists and sections, as of
    fairseq-hydra-train, each with the option that it belongs to."""
    options = vars(options) if isinstance(options, Namespace) else options
    if isinstance(options, dict):
        for inner, value in options.items():
            yield name, inner
            yield from _values(value, str(inner))
    elif isinstance(options, (list, tuple)):
        for value in options:
            yield from _values(value, name)
    else:
        yield name, options


def refuse_unknown_kinds(
    path: str, state: Dict[str, Any], given: Optional[Mapping[str, Any]]
) -> None:
    """Refuses what fairseq would build by options that are not known to be mere data.

    A file names how text is split only where no other file is needed for that. Other ways are
    for the command to name; that of a file which is of no use to it is forgotten.

    Args:
        path: the checkpoint, for messages.
        state: see :func:`refuse_programs`.
        given: the options of the command, by name; None if it builds nothing by those of the file.

    Raises:
        UserError: the model, task or criterion is another than those of this package and
            fairseq's transformer, translation and cross-entropies, or text is split by files.
    """
    if not any(_names(state, "model")) or not (state.get("args") or any(_names(state, "task"))):
        raise UserError(f"{path} is damaged: it names no model or no task; name another file")
    for section in ("model", "task", *REGISTRIES):
        known = _KINDS.get(section, REGISTRIES.get(section, {}).get("registry", ()))
        for name in _names(state, section):
            if isinstance(name, str) and name in known:
                continue
            if section not in ("bpe", "tokenizer"):
                raise UserError(
                    f"{path} names the {section} {name!r}, which is not built from the options "
                    f"of a checkpoint, as they might run code; only {' and '.join(known)} are: "
                    "name another file with --path, --restore-file or --finetune-from-model"
                )
            if given is not None and section not in given:
                raise UserError(
                    f"{path} names the {section} {name!r}, whose files are not for a checkpoint to "
                    f"say: name them yourself, with {section}=... in Python, or leave it out with "
                    f"--model-overrides \"{{'{section}': None}}\""
                )
            for options in (state.get("cfg"), state.get("args")):
                _set(options, section, None)


def forget_options_of_commands(options: Any) -> None:
    """Takes out of options what is not for a file to say: what is opened, how is computed, and
    what is imported as a judge of somebody's own.

    Args:
        options: of a file, as they were read; changed in place.
    """
    for name, value in _section(options).items():
        own_judge = name in ("validate_semantics", "verify") and ":" in str(value)
        if name in _OF_COMMANDS or own_judge:
            _section(options)[name] = None
        else:
            forget_options_of_commands(value)


def refuse_other_shapes(path: str, state: Dict[str, Any]) -> None:
    """Compares tensors with their bytes and with the options, before a model takes memory.

    Args:
        path: the checkpoint, for messages.
        state: see :func:`refuse_programs`.

    Raises:
        UserError: a tensor claims more numbers than the file holds, or is no plain one, or the
            options ask for another number of layers or channels than the weights have, or are no
            options, or the model's base tokens and pattern are no text, or its weights no numbers.
    """
    weights = state["model"]
    for name, tensor in weights.items():
        other = tensor.is_nested or tensor.is_quantized or tensor.is_meta
        if other or tensor.layout is not torch.strided:
            raise UserError(f"{path} is damaged: {name} is no plain tensor; name another file")
        if tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
            raise UserError(
                f"{path} is damaged: {name} has {tuple(tensor.shape)} numbers, but the file "
                f"holds {tensor.untyped_storage().nbytes()} bytes of them; name another file"
            )
    options = state.get("args") or state["cfg"]["model"]
    streams = _STREAMS in _names(state, "model")
    fault = _wrong_option(state) or _wrong_size(options, weights, streams)
    if fault is None and streams:
        fault = _lost_vocabulary(weights) or _no_number(weights)
    if fault is not None:
        raise UserError(f"{path} is damaged: {fault}; name another file")


def _section(options: Any) -> Dict[str, Any]:
    """Options by name, of which there are none in what is no section."""
    options = vars(options) if isinstance(options, Namespace) else options
    return options if isinstance(options, dict) else {}


def _set(options: Any, name: str, value: Any) -> None:
    if name in _section(options):
        _section(options)[name] = value


def _names(state: Dict[str, Any], section: str) -> Iterator[Any]:
    """Every name by which fairseq may look for what to build, a model by its own instead of its
    architecture's."""
    option = "arch" if section == "model" else section
    options = _section(state.get("cfg")).get(section)
    found = [options] if isinstance(options, str) else map(_section(options).get, ("_name", option))
    for name in (*found, _section(state.get("args")).get(option)):
        if name is not None:
            is_model = section == "model" and isinstance(name, str)
            yield ARCH_MODEL_NAME_REGISTRY.get(name, name) if is_model else name


def _wrong_option(state: Dict[str, Any]) -> Optional[str]:
    """Says which option of model, task or criterion has a value of another kind, if one has."""
    dataclasses = {
        "model": MODEL_DATACLASS_REGISTRY,
        "task": TASK_DATACLASS_REGISTRY,
        "criterion": REGISTRIES["criterion"]["dataclass_registry"],
    }
    for section, registry in dataclasses.items():
        dataclass = registry.get(next(_names(state, section), None))
        if dataclass is None:
            continue
        options = _section(state.get("args") or state["cfg"].get(section))
        known = {option.name: options.get(option.name) for option in fields(dataclass)}
        known = {name: value for name, value in known.items() if value is not None}
        missing = [name for name, value in known.items() if value == "???"]
        if missing:
            return f"its {section} lacks the option {missing[0]}"
        try:
            OmegaConf.merge(OmegaConf.structured(dataclass), known)
        except (OmegaConfBaseException, ValueError) as error:
            option, reason = getattr(error, "full_key", ""), str(error).split("\n")[0]
            return f"the option {option} of its {section} is of another kind ({reason})"
    return None


def _wrong_size(options: Any, weights: Dict[str, Tensor], streams: bool) -> Optional[str]:
    """Says which option asks for more than there are weights, or, of a model with streams, for
    less; fairseq's may be pruned as they are loaded."""
    for side in ("encoder", "decoder"):
        layers = {
            match[0] for match in map(re.compile(rf"{side}\.layers\.\d+\.").match, weights) if match
        }
        sizes = {"layers": len(layers)}
        first = weights.get(f"{side}.layers.0.fc1.weight")
        if first is not None and first.dim() == 2:
            sizes["ffn_embed_dim"], sizes["embed_dim"] = first.shape
        own = _section(_section(options).get(side))  # as of fairseq-hydra-train
        for option, found in sizes.items():
            asked = own.get(option, _section(options).get(f"{side}_{option}"))
            number = isinstance(asked, int)
            if asked is not None and not (number and asked <= found and asked >= found * streams):
                return f"its options say {side}_{option} {asked!r}, its weights {found}"
    return None


def _lost_vocabulary(weights: Dict[str, Tensor]) -> Optional[str]:
    try:
        found = saved_vocabulary(weights)
    except (RuntimeError, ValueError):
        return "its base tokens or its pattern of symbols are no text"
    return "it lacks its base tokens or its pattern of symbols" if found is None else None


def _no_number(weights: Dict[str, Tensor]) -> Optional[str]:
    for name, tensor in weights.items():
        if not bool((tensor.abs() <= _LARGEST).all()):
            return f"{name} holds NaN or numbers beyond {_LARGEST}"
    return None
