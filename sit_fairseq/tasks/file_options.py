"""Checkpoints are data: what is taken from their options, and what is refused.

fairseq believes the options of a file: it replaces ``${...}``, builds each kind that they name, evaluates
some as Python and opens what others name. So its configuration is made anew: fairseq's defaults, and of
the file the options that say what the model is and how it reads sentences. A kind is one of ours, a
transformer of fairseq's, or one that the caller's own ``--user-dir`` has registered.
"""

import re
from argparse import Namespace
from dataclasses import fields
from typing import Any, Dict, Mapping, Optional

from fairseq.dataclass.configs import FairseqConfig
from fairseq.models import ARCH_MODEL_NAME_REGISTRY, MODEL_DATACLASS_REGISTRY, MODEL_REGISTRY
from fairseq.models.transformer import transformer_config
from fairseq.registry import REGISTRIES
from fairseq.tasks import TASK_DATACLASS_REGISTRY, TASK_REGISTRY
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from sit_fairseq.domains import known
from sit_fairseq.errors import UserError
from sit_fairseq.models.loading import KIND, LANGUAGE, LARGEST, TASK_OPTIONS, TEXT_KIND, damage
from sit_fairseq.storage.checkpoints import explained, read_plain
from sit_fairseq.storage.checkpoints import section as named
from sit_fairseq.storage.files import Place

# The kinds that are built from the options of a file.
_KINDS = {
    "model": (KIND, TEXT_KIND, "transformer"),
    "task": ("stream_translation", "symbol_language_modeling", "translation"),
    "criterion": ("adacos", "minimum_risk", "cross_entropy", "label_smoothed_cross_entropy"),
}

# Classes and the dataclasses of their options, by name.
_REGISTERED = {
    "model": (MODEL_REGISTRY, MODEL_DATACLASS_REGISTRY),
    "task": (TASK_REGISTRY, TASK_DATACLASS_REGISTRY),
    "criterion": tuple(map(REGISTRIES["criterion"].get, ("registry", "dataclass_registry"))),
}

# The ways to split text that need no other file.
_SPLITTERS = {"bpe": ("bytes", "characters"), "tokenizer": ("space",)}

# The text of options whose text fairseq evaluates as Python, or makes the name of a file of.
_TEXTS = {
    "source_lang": LANGUAGE,
    "target_lang": LANGUAGE,
    "activation_fn": r"\w*",
    "adaptive_softmax_cutoff": r"(?!.*\d{7})[\d\s,()\[\]]*",
    "layers_to_keep": r"[\d,]{0,200}",
    "xformers_att_config": "",
    "embed_path": ".*",  # only of initial values, and forgotten
}

# The options of fairseq's transformer, without the prefix of their side.
_OF_TRANSFORMERS = {
    field.name
    for kind in ("TransformerConfig", "EncDecBaseConfig", "DecoderConfig", "QuantNoiseConfig")
    for field in fields(getattr(transformer_config, kind))
    if field.name != "_name"
}


def read_state(
    path: Place, given: Optional[Mapping[str, Any]] = None, remedy: str = "name another file"
) -> Dict[str, Any]:
    """Reads a checkpoint as data: its ``cfg`` is a complete configuration of fairseq, its ``args``
    None.

    ``cfg.task.domain`` is None unless it is the package's own; ``task_state`` has what the file
    says. A UserError if it is damaged or no checkpoint of fairseq's, its options hold ``${`` or are
    of another kind, or its model, task or criterion is not known.

    Args:
        path: the file, or a folder that holds one.
        given: the options of the command by name, where the way to split text matters to it.
        remedy: ends the sentence about a file that cannot be read.
    """
    state = read_plain(path, remedy)
    with explained(path, remedy):
        try:
            state["cfg"], state["args"] = _configuration(state, given), None
        except ValueError as error:
            raise UserError(f"{path} {error}; {remedy}")
        task = state["cfg"]["task"]
        state["task_state"] = {"domain": task.get("domain")}
        if "domain" in task and known(task["domain"]) is None:
            task["domain"] = None
        name, options = named(state, "model")
        kind, fault = _kind("model", name), None
        if kind in _KINDS["model"]:
            fault = damage(options, state["model"], kind != "transformer")
        if fault is not None:
            raise UserError(f"{path} is damaged: {fault}; {remedy}")
    return state


def _configuration(state: Dict[str, Any], given: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    cfg = OmegaConf.to_container(OmegaConf.structured(FairseqConfig()), enum_to_str=True)
    found = {section: named(state, section) for section in _KINDS}
    for section, (name, _) in found.items():
        if name is None and section != "criterion":
            raise ValueError("is damaged: it names no model or no task")
        if name is not None and not readable(section, name):
            raise ValueError(
                f"names the {section} {name!r}, which is not built from the options of a checkpoint, "
                f"as they might run code; only {' and '.join(_KINDS[section])} are"
            )
    cfg.update({section: _kept(section, *one) for section, one in found.items() if one[0]})
    for section, harmless in _SPLITTERS.items():
        name, _ = named(state, section)
        cfg[section] = name if name in harmless else None
        accepted = name is None or cfg[section] is not None
        if not accepted and given is not None and section not in given:
            raise ValueError(
                f"names the {section} {name!r}, whose files are not for a checkpoint to say: name "
                f"them yourself with {section}=..., or leave it out with {section}=None"
            )
    for option in ("max_tokens", "batch_size"):
        value = named(state, "dataset")[1].get(option)
        if isinstance(value, int) and 0 < value <= LARGEST:
            cfg["dataset"][option] = value
    return OmegaConf.to_container(
        OmegaConf.create(cfg, flags={"allow_objects": True}), resolve=True
    )


def _kind(section: str, name: Any) -> Any:
    """The class name for a section's name: the model's for an architecture."""
    archs = ARCH_MODEL_NAME_REGISTRY if section == "model" and isinstance(name, str) else {}
    return archs.get(name, name)


def readable(section: str, name: Any) -> bool:
    """Whether a model, a task or a criterion of this name is built from the options of a file."""
    kind = _kind(section, name)
    return kind in _KINDS[section] or _is_callers(section, kind)


def _is_callers(section: str, kind: Any) -> bool:
    """Whether a kind with a dataclass is code that the caller brings."""
    classes, dataclasses = _REGISTERED[section]
    if not isinstance(kind, str) or dataclasses.get(kind) is None:
        return False
    return classes[kind].__module__.partition(".")[0] not in ("fairseq", "sit_fairseq")


def _kept(section: str, name: str, options: Dict[str, Any]) -> Any:
    """The options that are kept of the model, the task or the criterion."""
    if _kind(section, name) == "transformer":
        kept = {**_of_transformer(options), "_name": name}
        # Kept apart by fairseq's old models, and of its hydra models in sections.
        hydra = any(isinstance(value, dict) for value in kept.values())
        return kept if hydra else Namespace(**{**kept, "arch": name})
    dataclass = _REGISTERED[section][1][_kind(section, name)]
    names = {field.name for field in fields(dataclass)} - {"_name"}
    if section == "task":
        names &= set(TASK_OPTIONS)
    kept = {name: options[name] for name in sorted(names) if options.get(name) is not None}
    if section == "criterion":
        kept = {name: value for name, value in kept.items() if isinstance(value, (int, float))}
    for option, value in kept.items():
        _check(option, value)
        if value == "???":
            raise ValueError(f"is damaged: its {section} lacks the option {option}")
    try:
        merged = OmegaConf.merge(OmegaConf.structured(dataclass), kept)
    except (OmegaConfBaseException, ValueError) as error:
        option, reason = getattr(error, "full_key", ""), str(error).split("\n")[0]
        raise ValueError(
            f"is damaged: the option {option} of its {section} is of another kind ({reason})"
        )
    complete = {**OmegaConf.to_container(merged, enum_to_str=True), "_name": _kind(section, name)}
    # A model of before that option keeps its names, too.
    if section == "model" and "fresh_names" in names:
        complete["fresh_names"] = merged.fresh_names if "fresh_names" in kept else None
    return complete


def _of_transformer(options: Dict[str, Any]) -> Dict[str, Any]:
    """The numbers among the options of a transformer, and texts of those that it has."""
    kept = {}
    for option, value in options.items():
        own = re.sub("^(encoder|decoder|quant_noise)_", "", str(option))
        if isinstance(value, dict):
            kept[option] = _of_transformer(value)
            continue
        text = isinstance(value, str) and own in _OF_TRANSFORMERS
        if text and own not in _TEXTS:
            raise ValueError(f"is damaged: the option {option} of its model is {value[:80]!r}")
        number = isinstance(value, (int, float)) and own not in _TEXTS  # 0 names an open file
        if number and own not in _OF_TRANSFORMERS and abs(value) > LARGEST:
            continue  # of the command that trained it
        listed = isinstance(value, (list, tuple)) and own == "adaptive_softmax_cutoff"
        if text or number or listed:
            _check(option, str(value) if listed else value)
            if own != "embed_path":
                kept[option] = value
    return kept


def _check(option: str, value: Any) -> None:
    """Refuses the value of an option that would run, or take too much memory."""
    if isinstance(value, str):
        allowed = _TEXTS.get(re.sub("^(encoder|decoder)_", "", option), "(?s:.*)")
        if re.fullmatch(allowed, value) is None:
            raise ValueError(
                f"has {value[:80]!r}, which fairseq would run or make the name of a file, as the "
                f"option {option}"
            )
    elif isinstance(value, (int, float)):
        largest = 2**32 if option in ("seed", "min_params_to_wrap") else LARGEST
        if not -largest <= value <= largest:
            raise ValueError(f"has {value}, more than {largest}, as the option {option}")
