"""Maps weights onto stream models: section "Converting & Fine-Tuning Pre-Trained Models".

One symbol of each sort lends its rows to *actual*, another one to *placeholder*; base tokens keep
theirs, found by string; everything else is carried over one to one.
"""

import itertools
import os
import re
from collections import Counter
from dataclasses import dataclass
from typing import Dict, List, Sequence, Tuple

import torch
from fairseq import options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from omegaconf import DictConfig, open_dict
from torch import Tensor

from sit_fairseq.conversion.original import Original
from sit_fairseq.errors import UserError
from sit_fairseq.models.fairseq_adapter import SymbolInvariantTransformerModel
from sit_fairseq.models.positions import TreePositions
from sit_fairseq.symbols.pattern import SymbolPattern
from sit_fairseq.symbols.vocabulary import Vocabulary
from sit_fairseq.tasks.stream_dictionary import StreamDictionary


@dataclass(frozen=True)
class Symbols:
    """The pattern, and for each sort the symbols whose rows become *actual* and *placeholder*."""

    pattern: str
    actual: Tuple[str, ...]
    placeholder: Tuple[str, ...]

    @classmethod
    def named(cls, pattern: str, **given: Sequence[str]) -> "Symbols":
        """Of symbols as ``SORT=TOKEN``, or ``TOKEN`` for one sort without a name; a UserError unless
        there is one for each sort."""
        sorts, found = SymbolPattern(pattern).sorts, {}
        for option, texts in given.items():
            pairs = [("", t) if sorts == [""] else t.partition("=")[::2] for t in texts]
            if sorted(sort for sort, _ in pairs) != sorted(sorts):
                form = " ".join(f"{sort}=TOKEN".lstrip("=") for sort in sorts)
                raise UserError(f"{' '.join(texts)} is not {form}, one of each sort", option)
            found[option] = tuple(dict(pairs)[sort] for sort in sorts)
        return cls(pattern, **found)


class Account(Dict[str, List[str]]):
    """Names of tensors of the original that were ``kept``, ``joined`` into one, ``split`` into rows,
    or ``dropped``, and of ``new`` ones."""

    def __init__(self) -> None:
        super().__init__({kind: [] for kind in ("kept", "joined", "split", "dropped", "new")})

    def __str__(self) -> str:
        lines = []
        for kind, names in self.items():
            # One name for all layers and for the weight and bias of a module.
            modules = [re.sub(r"\.(weight|bias)$", "", name) for name in names]
            counts = Counter(re.sub(r"\.layers\.\d+\.", ".layers.*.", name) for name in modules)
            lines.append(f"{kind:8}{len(names):4} tensors")
            lines += [f"{count:12} {name}" for name, count in counts.items()]
        return "\n".join(lines)


def convert(
    original: Original, symbols: Symbols, cfg: DictConfig
) -> Tuple[SymbolInvariantTransformerModel, Account]:
    """Makes a model over streams, of all options ``cfg``, out of a trained one.

    Aggregated attentions start with an output of zero: with a layer norm before them
    (``aggregated_normalize_before``) they change nothing.

    Raises:
        UserError: the symbols are not those of the original, or its weights do not fit.
    """
    dictionary = stream_dictionary(original, symbols)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)  # for whatever is new
        model = SymbolInvariantTransformerModel(cfg, Vocabulary(dictionary, arity=original.arity))
    operators = [token for token in dictionary.known_symbols() if token in original.arity]
    if operators and isinstance(model.encoder.embed_positions, TreePositions):
        raise UserError(
            f"the pattern {dictionary.pattern!r} matches the operator {operators[0]!r} of the "
            "formulas that the original reads; choose one that matches interchangeable tokens only",
            "symbols",
        )
    account, state, base = Account(), model.state_dict(), model.vocabulary.row_tokens
    closed = [float(token in original.never_produced) for token in base]
    source_only = torch.tensor(closed, device="cpu")
    for name, value in list(state.items()):
        if name.endswith(".vocabulary.source_only") and not source_only.any():
            del state[name]
        elif ".vocabulary." in name:
            if name.endswith(".source_only"):
                state[name] = source_only
            account["new"].append(name)
        elif ".aggregated_attn" in name:
            if ".out_proj." in name:
                value.zero_()
            account["new"].append(name)
        elif name in original.tables:
            # Where a table lacks a token of the other side's dictionary, its model read <unk>.
            index = original.tables[name].index
            both = itertools.chain(*zip(symbols.actual, symbols.placeholder))
            rows = [index(token) for token in (*base, *both)]
            state[name] = original.tensors[name][rows]
            account["split"].append(name)
        else:
            parts = original.parts(name)
            state[name] = _joined(name, value, parts, original.tensors)
            account["joined" if len(parts) > 1 else "kept"].extend(parts)
    used = {*account["kept"], *account["joined"], *account["split"]}
    account["dropped"] = [name for name in original.tensors if name not in used]
    model.load_state_dict(state, strict=True)
    return model.eval(), account


def stream_dictionary(original: Original, symbols: Symbols) -> StreamDictionary:
    """All tokens of the original, split into base tokens and symbols; a UserError for others."""
    dictionary = StreamDictionary()
    sides = original.dictionaries.source, original.dictionaries.target
    for side in sides:
        for token, count in zip(side.symbols[side.nspecial :], side.count[side.nspecial :]):
            dictionary.add_symbol(token, count)
    dictionary.set_pattern(symbols.pattern)
    known = [token for token in dictionary.known_symbols() if all(token in side for side in sides)]
    for sort, (actual, placeholder) in enumerate(zip(symbols.actual, symbols.placeholder)):
        of_sort = [token for token in known if dictionary.sort(token) == sort]
        for option, token in (("actual", actual), ("placeholder", placeholder)):
            if token not in of_sort:
                raise UserError(
                    f"{token!r} is no symbol of the checkpoint: of its tokens the pattern "
                    f"{symbols.pattern!r} matches {' '.join(sorted(of_sort)) or 'nothing'}",
                    option,
                )
        if actual == placeholder:
            raise UserError(
                f"both are {actual!r}, so that a stream could not tell its symbol from the others",
                "actual placeholder",
            )
    return dictionary


def _joined(name: str, value: Tensor, parts: List[str], tensors: Dict[str, Tensor]) -> Tensor:
    missing = [part for part in parts if part not in tensors]
    if missing:
        raise UserError(f"the checkpoint has no {missing[0]}, which {name} is to be made of")
    joined = torch.cat([tensors[part] for part in parts]) if len(parts) > 1 else tensors[parts[0]]
    if joined.shape != value.shape:
        raise UserError(
            f"{' and '.join(parts)} of the checkpoint make {tuple(joined.shape)}, but {name} is "
            f"{tuple(value.shape)}"
        )
    return joined


# The options of the converted model.


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
    if os.path.isdir(destination):
        raise UserError(f"{destination} is a directory; name a file in it")
    if destination.endswith(".safetensors"):
        reason = "is to be a file of fairseq's; sit export --hub writes safetensors"
        raise UserError(f"{destination} {reason}; name another OUT")
    exists = os.path.exists(destination)
    if exists and os.path.exists(source) and os.path.samefile(source, destination):
        raise UserError(f"IN and OUT are both {source}, and IN is never changed; name another OUT")
    if exists and not overwrite:
        raise UserError(f"{destination} exists; name another OUT, or overwrite it")
