"""What may be built from the options that a checkpoint holds.

Reading a checkpoint runs nothing of it (:mod:`sit_fairseq.safe_loading`), but fairseq evaluates
options of some of its models and criterions as Python when it builds them, ``encoder_layers`` of
``fconv`` for one. Only what is known to keep options data is let through.
"""

import re
from dataclasses import fields
from typing import Any, Dict, Iterator, Mapping, Optional, Tuple

from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.models import ARCH_MODEL_NAME_REGISTRY, MODEL_DATACLASS_REGISTRY
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException
from torch import Tensor

from sit_fairseq.errors import UserError
from sit_fairseq.symbols.vocabulary import saved_vocabulary

_STREAMS = "symbol_invariant_transformer"

_KNOWN = {
    "model": (_STREAMS, "transformer"),
    "task": ("stream_translation", "translation"),
    "criterion": ("adacos", "minimum_risk", "cross_entropy", "label_smoothed_cross_entropy"),
}

# Options of fairseq's transformer that it evaluates, and what they may hold: numbers.
_EVALUATED = {
    "adaptive_softmax_cutoff": r"[\d\s,()\[\]]*",
    "xformers_att_config": "",
}


def refuse_unknown_kinds(path: str, state: Dict[str, Any]) -> None:
    """Refuses what fairseq would build by options that are not known to be mere data.

    Args:
        path: the checkpoint, for messages.
        state: what it holds, as fairseq reads it.

    Raises:
        UserError: the model, task or criterion is another than those of this package and
            fairseq's transformer, translation and cross-entropies.
    """
    for cfg in _configurations(state):
        for section, known in _KNOWN.items():
            options = _get(cfg, section)
            if options is None and section != "model":
                continue
            name = _name(options)
            if name not in known:
                raise UserError(
                    f"{path} names the {section} {name!r}, which is not built from the options "
                    f"of a checkpoint, as they might run code; only {' and '.join(known)} are: "
                    "name another file with --path, --restore-file or --finetune-from-model"
                )
        for option, value in _settings(_get(cfg, "model")):
            name = re.sub("^(encoder|decoder)_", "", option)
            if isinstance(value, str) and not re.fullmatch(_EVALUATED.get(name, "(?s:.*)"), value):
                raise UserError(
                    f"{path} has {value!r} as the option {option} of its model, which fairseq would "
                    "run as Python; name another file"
                )


def forget_own_judges(state: Dict[str, Any], given: Dict[str, Any]) -> None:
    """Takes judges of somebody's own out of a checkpoint, which is not to say what is imported.

    Args:
        state: the checkpoint, as fairseq reads it.
        given: the options of the command, by name.
    """
    task, old = (state.get("cfg") or {}).get("task"), state.get("args")
    for options in (task, None if old is None else vars(old)):
        for option in ("validate_semantics", "verify"):
            if options and option not in given and ":" in str(options.get(option)):
                options[option] = None


def refuse_other_shapes(path: str, state: Dict[str, Any]) -> None:
    """Compares tensors with their bytes and with the options, before a model takes memory.

    Args:
        path: the checkpoint, for messages.
        state: what it holds, as fairseq reads it.

    Raises:
        UserError: a tensor claims more numbers than the file holds, or the options ask for
            another number of layers or channels than the weights have, or are no options, or
            the model's base tokens and pattern are no text.
    """
    weights = state["model"]
    for name, tensor in weights.items():
        if tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
            raise UserError(
                f"{path} is damaged: {name} has {tuple(tensor.shape)} numbers, but the file "
                f"holds {tensor.untyped_storage().nbytes()} bytes of them; name another file"
            )
    for cfg in _configurations(state):
        if _name(_get(cfg, "model")) != _STREAMS:  # fairseq's may be pruned as they are loaded
            continue
        fault = _wrong_option(_get(cfg, "model")) or _lost_vocabulary(weights)
        if fault is not None:
            raise UserError(f"{path} is damaged: {fault}; name another file")
        for option, asked, found in _sizes(_get(cfg, "model"), weights):
            if asked != found:
                raise UserError(
                    f"{path} is damaged: its options say {option} {asked}, its weights {found}; "
                    "name another file"
                )


def _configurations(state: Dict[str, Any]) -> Iterator[Any]:
    """Those that fairseq may build by; old files hold a namespace, which it converts itself."""
    if state.get("cfg") is not None:
        yield state["cfg"]
    if state.get("args") is not None:
        yield convert_namespace_to_omegaconf(state["args"])


def _get(options: Any, name: str) -> Any:
    if isinstance(options, dict):
        return options.get(name)
    return getattr(options, name, None)


def _settings(options: Any) -> Iterator[Tuple[str, Any]]:
    """All options by name, also those of sections within, as of fairseq-hydra-train."""
    if OmegaConf.is_config(options):
        options = OmegaConf.to_container(options)
    sections = options if isinstance(options, Mapping) else getattr(options, "__dict__", {})
    for name, value in sections.items():
        yield name, value
        yield from _settings(value)


def _name(options: Any) -> Optional[str]:
    """What fairseq would build, a model by its own name instead of its architecture's."""
    name = options if isinstance(options, str) else _get(options, "_name") or _get(options, "arch")
    return ARCH_MODEL_NAME_REGISTRY.get(name, name) if isinstance(name, str) else None


def _wrong_option(options: Any) -> Optional[str]:
    """Says which option of a model with streams has a value of another kind, if one has."""
    dataclass = MODEL_DATACLASS_REGISTRY[_STREAMS]
    for option in fields(dataclass):
        value = _get(options, option.name)
        if value is None:
            continue
        try:
            OmegaConf.merge(OmegaConf.structured(dataclass), {option.name: value})
        except (OmegaConfBaseException, ValueError):
            return f"its options say {option.name} {value!r}"
    return None


def _lost_vocabulary(weights: Dict[str, Tensor]) -> Optional[str]:
    try:
        found = saved_vocabulary(weights)
    except (RuntimeError, ValueError):
        return "its base tokens or its pattern of symbols are no text"
    return "it lacks its base tokens or its pattern of symbols" if found is None else None


def _sizes(options: Any, weights: Dict[str, Tensor]) -> Iterator[Tuple[str, Any, int]]:
    """Options that say how large a model is, with what its weights say."""
    for side in ("encoder", "decoder"):
        layers = [re.match(rf"{side}\.layers\.(\d+)\.", name) for name in weights]
        number = 1 + max((int(match[1]) for match in layers if match), default=-1)
        first = weights.get(f"{side}.layers.0.fc1.weight")
        if first is None or first.dim() != 2:
            continue
        for option, found in (
            ("layers", number),
            ("ffn_embed_dim", first.size(0)),
            ("embed_dim", first.size(1)),
        ):
            asked = _get(options, f"{side}_{option}")
            if asked is not None:
                yield f"{side}_{option}", asked, found
