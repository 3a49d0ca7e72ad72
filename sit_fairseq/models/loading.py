"""Builds models of checkpoints, after checking the files."""

import logging
import re
from dataclasses import fields
from typing import Any, Callable, Dict, Mapping, Optional, Tuple, Type, Union

from torch import Tensor

from sit_fairseq.errors import UserError, whole
from sit_fairseq.models.baselines import make_vocabulary
from sit_fairseq.models.config import DecoderOptions, LanguageModelConfig, ModelConfig, has_source
from sit_fairseq.models.language_model import SymbolInvariantLanguageModel
from sit_fairseq.models.transformer import SlotSpaceModel, SymbolInvariantTransformer
from sit_fairseq.storage.checkpoints import read_plain, section
from sit_fairseq.storage.files import Place, model_file
from sit_fairseq.symbols.saved_tokens import saved_operands, saved_vocabulary, vocabulary_prefix
from sit_fairseq.symbols.tokens import TokenTable

logger = logging.getLogger(__name__)

# The architectures of fairseq begin with it, those of language models with the second.
KIND = "symbol_invariant_transformer"
TEXT_KIND = f"{KIND}_lm"

# The options of a task that say how its model reads sentences; all others are for the command.
TASK_OPTIONS = (
    *("domain", "symbols", "fresh_names", "seed", "data", "source_lang", "target_lang"),
    *("left_pad_source", "left_pad_target", "truncate_source"),
    *("max_source_positions", "max_target_positions"),
    *("sample_break_mode", "tokens_per_sample", "shorten_method", "shorten_data_split_list"),
)

# Languages are parts of the names of files.
LANGUAGE = r"[\w.@+-]{0,100}"

# Larger sizes and weights are no model's, nor is a larger table of positions that no file holds.
LARGEST, _LARGEST_TABLE = 1_000_000, 2**24


def load_model(
    path: Place,
    arity_of: Callable[[Optional[str]], Mapping[str, int]],
    symbols: Optional[str] = None,
    fresh_names: Optional[str] = None,
    fresh_symbols: Union[None, int, str] = None,
) -> Tuple[SlotSpaceModel, Dict[str, Any]]:
    """Builds the model of a checkpoint, and returns it with the options to write it with, see
    :func:`portable`.

    Args:
        path: the file, or a folder that holds it.
        arity_of: the number of operands of each operator, for positions in trees, by the domain.
        symbols: pattern of the symbols; None for that of training.
        fresh_names, fresh_symbols: see :class:`~sit_fairseq.symbols.fresh.FreshSymbols`; None for
            those of training. Names that the pattern does not match all are left out.

    Raises:
        UserError: the file cannot be read, is damaged, or holds no such model; or an argument does
            not suit it.
    """
    path = model_file(path)
    state = read_plain(path)
    given, task = (section(state, name)[1] for name in ("model", "task"))
    weights = state["model"]
    if vocabulary_prefix(weights) + "symbols" not in weights:
        raise UserError(f"{path} knows no symbols; sit convert makes a model that does", "path")
    if not str(given.get("_name")).startswith(KIND):  # an architecture of the caller's
        logger.warning(
            "%s names the model %s, which is read as one of ours", path, given.get("_name")
        )
        given["_name"] = KIND if any(key.startswith("encoder.") for key in weights) else TEXT_KIND
    if fresh_symbols is not None:
        text = isinstance(fresh_symbols, str)
        given["fresh_symbols"] = fresh_symbols if text else whole(fresh_symbols)
    try:
        cfg = plain_config(given, config_of(given))
        fault = damage(vars(cfg), weights, streams=True) or _wrong_task(task)
    except ValueError as error:
        fault = str(error)
    if fault is not None:
        raise UserError(f"{path} is damaged: {fault}; name another file")
    base_tokens, pattern = saved_vocabulary(weights)
    tokens = TokenTable(pattern=pattern if symbols is None else symbols)
    tokens.adopt(base_tokens)  # which fresh symbols must not be called
    named = fresh_names is not None
    if not named:
        fresh_names = task.get("fresh_names") or given.get("fresh_names")
        if not isinstance(fresh_names, (str, type(None))):
            raise UserError(f"{path} is damaged: its fresh names are no text; name another file")
        if symbols is not None and not all(map(tokens.is_symbol, (fresh_names or "").split(","))):
            fresh_names = None
    arity = arity_of(task.get("domain")) if has_source(cfg) else {}
    vocabulary = make_vocabulary(cfg, tokens, arity, fresh_names)
    if named and not vocabulary.fresh_symbols:
        reason = "the model writes no fresh symbols, so leave their names out"
        raise UserError(reason, "fresh_names")
    if fresh_symbols is not None and cfg.symbol_embedding == "fixed":
        reason = "the model of fixed symbols has no limit of them, so leave it out"
        raise UserError(reason, "fresh_symbols")
    if has_source(cfg):
        seed = task.get("seed")  # of the codes of random symbols
        model = SymbolInvariantTransformer(cfg, vocabulary, seed if isinstance(seed, int) else 1)
    else:
        model = SymbolInvariantLanguageModel(cfg, vocabulary)
    try:
        model.load_state_dict(weights)
    except RuntimeError as error:
        raise UserError(
            f"{path} is damaged: {str(error).splitlines()[1].strip()}; name another file"
        )
    return model, portable(state.get("cfg") or {"model": given, "task": task})


def config_of(options: Mapping[str, Any]) -> Type[DecoderOptions]:
    """The class of a model's options, by the name among them."""
    text = str(options.get("_name")).startswith(TEXT_KIND)
    return LanguageModelConfig if text else ModelConfig


def options_of(model: SlotSpaceModel) -> Dict[str, Any]:
    """The options of a model, with the sizes of its decoder, as checkpoints have them."""
    side, text = model.decoder.cfg, isinstance(model, SymbolInvariantLanguageModel)
    kind = LanguageModelConfig if text else ModelConfig
    own = {field.name: getattr(side.options, field.name) for field in fields(kind)}
    own.update(decoder_embed_dim=side.embed_dim, decoder_ffn_embed_dim=side.ffn_dim)
    own.update(decoder_layers=side.num_layers, decoder_attention_heads=side.num_heads)
    return {"_name": TEXT_KIND if text else KIND, **own}


def portable(cfg: Mapping[str, Any]) -> Dict[str, Any]:
    """The options of a checkpoint as plain data, without those of a machine or a command."""
    model, task, criterion = (
        section({"cfg": cfg}, name)[1] for name in ("model", "task", "criterion")
    )
    task = {"_name": task.get("_name"), **{name: task.get(name) for name in TASK_OPTIONS}}
    task.update(
        data="", source_lang=task["source_lang"] or "src", target_lang=task["target_lang"] or "tgt"
    )
    numbers = {n: v for n, v in criterion.items() if n == "_name" or isinstance(v, (int, float))}
    splitters = {name: section({"cfg": cfg}, name)[0] for name in ("bpe", "tokenizer")}
    return {"model": model, "task": task, "criterion": numbers or None, **splitters}


def plain_config(
    options: Mapping[str, Any], kind: Type[DecoderOptions] = ModelConfig
) -> DecoderOptions:
    """The options of a model among plain data; a ValueError if one is of another kind, or a number
    is no model's."""
    kept = {}
    for field in fields(kind):
        value, default = options.get(field.name), field.default
        if value is None:
            continue
        kinds = (type(default),) if default is not None else (int,)
        kinds = {(float,): (int, float)}.get(kinds, kinds)
        if field.name == "fresh_symbols":
            kinds = (int, str)
        if not isinstance(value, kinds) or isinstance(value, bool) != isinstance(default, bool):
            raise ValueError(f"the option {field.name} is {str(value)[:80]!r}")
        if isinstance(value, (int, float)) and not -LARGEST <= value <= LARGEST:
            raise ValueError(f"the option {field.name} is {value}, beyond {LARGEST}")
        kept[field.name] = value
    return kind(**kept)


def damage(options: Mapping[str, Any], weights: Dict[str, Tensor], streams: bool) -> Optional[str]:
    """The fault of weights by name that contradict the options, before a model takes memory; None if
    none do. ``streams`` says that the model is ours; others are fairseq's transformers."""
    fault = _wrong_size(options, weights, streams) or _wrong_vocabulary(weights, streams)
    if fault is None and streams:
        fault = _wrong_positions(options, weights)
    return fault or _no_number(weights)


def _wrong_size(
    options: Mapping[str, Any], weights: Dict[str, Tensor], streams: bool
) -> Optional[str]:
    """Says which option asks for more than there are weights, or, of a model with streams, for
    less; fairseq's may be pruned as they are loaded."""
    for side in ("encoder", "decoder"):
        found = map(re.compile(rf"{side}\.layers\.\d+\.fc1\.").match, weights)
        sizes = {"layers": len({match[0] for match in found if match})}
        first = weights.get(f"{side}.layers.0.fc1.weight")
        if first is not None and first.dim() == 2:
            sizes["ffn_embed_dim"], sizes["embed_dim"] = first.shape
        own = options.get(side) or {}  # of fairseq-hydra-train
        for option, found in sizes.items():
            asked = own.get(option, options.get(f"{side}_{option}"))
            number = isinstance(asked, int)
            if asked is not None and not (number and asked <= found and asked >= found * streams):
                return f"its options say {side}_{option} {asked!r}, its weights {found}"
        for option in ("input_dim", "output_dim"):
            asked = own.get(option) if own else options.get(f"{side}_{option}")
            if asked is not None and not asked <= max(sizes.values()):
                return f"its options say {side}_{option} {asked!r}, more than any of its weights"
    return None


def _wrong_positions(options: Mapping[str, Any], weights: Dict[str, Tensor]) -> Optional[str]:
    """Says which table of positions is none that the weights or a model have."""
    for side, longest in (("encoder", "source"), ("decoder", "target")):
        if f"{side}_embed_dim" not in options:  # a language model has no encoder
            continue
        channels, kind = options[f"{side}_embed_dim"], options[f"{side}_positions"]
        channels = options["encoder_embed_dim"] if channels is None else channels
        option = "tree_depth" if kind == "tree" else f"max_{longest}_positions"
        asked = options[option]
        table = weights.get(f"{side}.embed_positions.weight")
        matrix = weights.get(f"{side}.embed_positions.projection.weight")
        if (
            kind == "sinusoidal"
            and asked * channels > _LARGEST_TABLE
            or kind == "learned"
            and (table is None or table.dim() != 2 or asked != table.size(0) - 2)
            or kind == "tree"
            and 2 * asked > channels
            and (matrix is None or matrix.dim() != 2 or 2 * asked != matrix.size(1))
        ):
            return f"its options say {option} {asked!r}, its weights another number"
    return None


def _wrong_vocabulary(weights: Dict[str, Tensor], streams: bool) -> Optional[str]:
    try:
        found = saved_vocabulary(weights)
        operands = weights.get(vocabulary_prefix(weights) + "operands")
        if operands is not None:
            saved_operands(operands)
    except (RuntimeError, ValueError):
        return "its base tokens, numbers of operands or pattern of symbols are no text"
    if streams and found is None:
        return "it lacks its base tokens or its pattern of symbols"
    if found is not None and not streams:
        return "its options are of a transformer, its weights of a model with streams"
    return None


def _wrong_task(task: Mapping[str, Any]) -> Optional[str]:
    """Says which option of a task is no text, or no part of the name of a file."""
    for name in ("domain", "source_lang", "target_lang"):
        value = task.get(name)
        pattern = "(?s:.*)" if name == "domain" else LANGUAGE
        if not (value is None or isinstance(value, str) and re.fullmatch(pattern, value)):
            return f"the option {name} is {str(value)[:80]!r}"
    return None


def _no_number(weights: Dict[str, Tensor]) -> Optional[str]:
    for name, tensor in weights.items():
        if not bool((tensor.float().abs() <= LARGEST).all()):  # half precision lacks that number
            return f"{name} holds NaN or numbers beyond {LARGEST}"
    return None
