"""Trained models as the conversion sees them: fairseq's ``transformer``, and the baseline
``--symbol-embedding fixed``, which is the paper's experiment."""

import contextlib
import os
import re
from argparse import Namespace
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Set

from fairseq import utils
from fairseq.data import Dictionary, data_utils
from fairseq.models import FairseqEncoderDecoderModel
from fairseq.models.transformer import TransformerConfig, TransformerModelBase, base_architecture
from omegaconf import OmegaConf
from torch import Tensor

from sit_fairseq.domains.by_name import arity_of
from sit_fairseq.errors import UserError
from sit_fairseq.models.baselines import FixedVocabulary
from sit_fairseq.models.fairseq_adapter import SymbolInvariantTransformerModel
from sit_fairseq.storage.checkpoints import moving_average, section
from sit_fairseq.symbols.saved_tokens import (
    saved_operands,
    saved_vocabulary,
    vocabulary_prefix,
)
from sit_fairseq.tasks.stream_dictionary import StreamDictionary

# What fairseq, torch and our layers raise for sizes, options and tensors that do not fit.
_MISFITS = (
    *(ArithmeticError, AssertionError, LookupError, RuntimeError, TypeError, ValueError),
    UserError,
)


def _lasting(state: Dict[str, Any]) -> Dict[str, Any]:
    """The options of the task that a converted model keeps, with the domain that the file names."""
    kept = {name: state["cfg"]["task"][name] for name in ("left_pad_source", "truncate_source")}
    return {**kept, "domain": state["task_state"]["domain"]}


class Dictionaries(NamedTuple):
    """The tokens that a model was trained on, their directory and, if known, languages."""

    data: str
    source_lang: Optional[str]
    target_lang: Optional[str]
    source: Dictionary
    target: Dictionary


@dataclass(frozen=True, eq=False)
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
        arity: the number of operands of each operator.
    """

    model_options: Dict[str, Any]
    task_options: Dict[str, Any]
    dictionaries: Dictionaries
    tensors: Dict[str, Tensor]
    tables: Dict[str, Dictionary]
    parts: Callable[[str], List[str]]
    never_produced: Set[str]
    arity: Mapping[str, int]
    model: FairseqEncoderDecoderModel

    @property
    def longest(self) -> List[int]:
        """The most tokens of a source and of a target, with ``</s>``."""
        return [self.model_options[f"max_{side}_positions"] for side in ("source", "target")]

    @property
    def reads_formulas(self) -> bool:
        """Whether its positions are those in trees."""
        return self.model_options["encoder_positions"] == "tree"


def _weights(path: str, state: Dict[str, Any], ema: bool) -> Dict[str, Tensor]:
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
def _explaining_weights(path: str) -> Iterator[None]:
    """Context manager: weights that a model does not take end in one sentence."""
    try:
        yield
    except _MISFITS as error:
        reason = " ".join(str(error).split())
        raise UserError(f"the weights of {path} do not fit its options: {reason}")


def _recorded_data(state: Dict[str, Any]) -> str:
    """The first data directory that a checkpoint names; empty if there is none."""
    recorded = state["cfg"]["task"]["data"]
    return utils.split_paths(recorded)[0] if recorded else ""


def _languages(state: Dict[str, Any], data: str) -> List[Optional[str]]:
    """The languages of sources and targets by the checkpoint or else the data; None if unknown."""
    langs = [state["cfg"]["task"][f"{side}_lang"] for side in ("source", "target")]
    if all(isinstance(lang, str) for lang in langs):
        return langs
    return list(data_utils.infer_language_pair(data)) if os.path.isdir(data) else [None, None]


def _read_dictionaries(state: Dict[str, Any], data: str) -> Dictionaries:
    """Reads the dictionaries in a directory, or a UserError."""
    if not os.path.isdir(data):
        raise UserError(f"{data!r}, the directory of the model's dictionaries, is missing", "data")
    langs = _languages(state, data)
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


# fairseq's transformer.

# What fairseq 0.12.2 saves and never reads: a copy of each encoder layer's weights for a
# fast path, which it overwrites on loading, and the dtype of sinusoidal positions.
_REDUNDANT = re.compile(
    r"encoder\.layers\.\d+\.(in_proj|out_proj|fc1|fc2)_(weight|bias)"
    r"|(encoder|decoder)\.embed_positions\.(_float_tensor|weights)"
)

# What streams do not compute. The last six are no fields of TransformerConfig, but reach the layers
# all the same; files of pruned models hold layers that are not computed.
_REFUSED = (
    *("adaptive_softmax_cutoff", "tie_adaptive_weights", "tie_adaptive_proj", "adaptive_input"),
    *("quant_noise_pq", "quant_noise_scalar", "cross_self_attention", "no_cross_attention"),
    *("base_layers", "char_inputs", "encoder_layers_to_keep", "decoder_layers_to_keep"),
    *("scale_attn", "scale_heads", "scale_fc", "scale_resids"),
    *("mha_heads_to_keep", "ffn_blocks_to_remove"),
)


def read_vanilla(
    path: str, state: Dict[str, Any], *, data: Optional[str] = None, ema: bool = False
) -> Original:
    """Describes a checkpoint of fairseq's ``transformer``; a UserError if it cannot be converted.
    ``data`` is the directory of its dictionaries, by default the one recorded in it; ``ema`` takes the
    moving average of the weights."""
    _, options = section(state, "model")
    weights = _weights(path, state, ema)
    cfg = _config(path, options)
    _refuse_options(path, cfg, options)
    dictionaries = _read_dictionaries(state, data or _recorded_data(state))
    if _merges(cfg) and dictionaries.source != dictionaries.target:
        raise UserError(
            f"{path} was trained with merge_src_tgt_embed on two dictionaries, which it merged "
            "in memory; train on data with a joined dictionary"
        )
    _check_sizes(path, weights, dictionaries)
    cfg.checkpoint_activations = cfg.offload_activations = False
    task = SimpleNamespace(
        source_dictionary=dictionaries.source, target_dictionary=dictionaries.target
    )
    with _explaining_weights(path):  # loaded as fairseq loads them, old files included
        model = TransformerModelBase.build_model(cfg, task).eval()
        redundant = {n: t for n, t in weights.items() if _REDUNDANT.fullmatch(n)}
        kept = {n: t for n, t in weights.items() if n not in redundant}
        model.load_state_dict(kept, strict=True)
    tensors = {n: t for n, t in model.state_dict().items() if not _REDUNDANT.fullmatch(n)}
    return Original(
        model_options=_stream_options(cfg, model),
        task_options=_lasting(state),
        dictionaries=dictionaries,
        tensors={**redundant, **tensors},
        tables={
            "encoder.embed_tokens.weight": dictionaries.source,
            "decoder.embed_tokens.weight": dictionaries.target,
            "decoder.output_projection.weight": dictionaries.target,
        },
        parts=_parts,
        never_produced=set(dictionaries.source.symbols) - set(dictionaries.target.symbols),
        arity=arity_of(),
        model=model,
    )


def _config(path: str, options: Dict[str, Any]) -> TransformerConfig:
    """The options as fairseq itself reads them when it builds the model."""
    # None, as fairseq-hydra-train of 0.12.2 writes it, stands for the default.
    args = Namespace(**{name: value for name, value in options.items() if value is not None})
    try:
        base_architecture(args)
        for side in ("encoder", "decoder", "quant_noise"):
            if options.get(side) is not None:
                # Trained by fairseq-hydra-train: the flat options are not the model's, but
                # defaults that the architecture wrote beside its nested ones.
                for name in list(vars(args)):
                    if name.startswith(f"{side}_"):
                        delattr(args, name)
        return TransformerConfig.from_namespace(args)
    except (AttributeError, TypeError, ValueError) as error:
        raise UserError(f"{path} holds options that fairseq's transformer cannot read: {error}")


def _refuse_options(path: str, cfg: TransformerConfig, options: Dict[str, Any]) -> None:
    refused = {name: utils.safe_getattr(cfg, name) or options.get(name) for name in _REFUSED}
    # What fairseq has for "not in use".
    refused = {name: value for name, value in refused.items() if value and value != -1}
    for name in ("decoder_input_dim", "decoder_output_dim"):
        if getattr(cfg, name) != cfg.decoder.embed_dim:
            refused[name] = getattr(cfg, name)
    if cfg.activation_fn not in utils.get_available_activation_fns():
        refused["activation_fn"] = cfg.activation_fn
    for name, value in refused.items():
        raise UserError(
            f"{path} was trained with {name} = {value}, which has no counterpart over streams and "
            "cannot be converted; train without it"
        )


def _merges(cfg: TransformerConfig) -> bool:
    return bool(utils.safe_getattr(cfg, "merge_src_tgt_embed", False))  # not in 0.12.2


def _check_sizes(path: str, weights: Dict[str, Tensor], dictionaries: Dictionaries) -> None:
    for side, dictionary in (("encoder", dictionaries.source), ("decoder", dictionaries.target)):
        table = weights.get(f"{side}.embed_tokens.weight")
        if table is not None and table.size(0) != len(dictionary):
            raise UserError(
                f"{path} has {table.size(0)} rows in {side}.embed_tokens.weight, but the "
                f"dictionary in {dictionaries.data} has {len(dictionary)} tokens; name the "
                "directory that the model was trained with",
                "data",
            )


def _stream_options(cfg: TransformerConfig, model: TransformerModelBase) -> Dict[str, Any]:
    """The options under which one stream is computed as the model computes a sentence."""
    share = "decoder" if cfg.share_decoder_input_output_embed else "none"
    options = {
        "stream_attention": "EP-DP-CP",
        "output_head": "linear",
        "share_embeddings": "all" if cfg.share_all_embeddings or _merges(cfg) else share,
        "no_scale_embedding": bool(cfg.no_scale_embedding),
        "layernorm_embedding": bool(cfg.layernorm_embedding),
        "layer_norm_eps": 1e-5,  # a constant in fairseq
        "activation_fn": cfg.activation_fn,
        "dropout": cfg.dropout,
        "attention_dropout": cfg.attention_dropout,
        "activation_dropout": cfg.activation_dropout or cfg.relu_dropout,
        "max_source_positions": cfg.max_source_positions,
        "max_target_positions": cfg.max_target_positions,
    }
    for side in ("encoder", "decoder"):
        kind = "learned" if getattr(cfg, side).learned_pos else "sinusoidal"
        before = bool(getattr(cfg, side).normalize_before)
        options[f"{side}_positions"] = "none" if cfg.no_token_positional_embeddings else kind
        options[f"{side}_normalize_before"] = before
        # Old files lack the norm whatever the options say.
        options[f"no_{side}_final_norm"] = before and getattr(model, side).layer_norm is None
        for name in ("embed_dim", "ffn_embed_dim", "layers", "attention_heads"):
            options[f"{side}_{name}"] = getattr(cfg, f"{side}_{name}")
    return options


def _parts(name: str) -> List[str]:
    name = re.sub(r"\.(encoder_attn|encoder_attn_layer_norm)\.0\.", r".\1.", name)
    for joined in ("qkv", "kv"):
        if f".{joined}_proj." in name:
            return [name.replace(f".{joined}_proj.", f".{part}_proj.") for part in joined]
    return [name]


# The baseline.

# What a model over streams has another value of, or no use for. With fresh symbols, which need no
# weights, it would compute something else, as their streams are in every mean.
_NOT_CARRIED = (
    *("symbol_embedding", "symbol_code_dim", "aggregated_normalize_before"),
    *("fresh_symbols", "fresh_names"),
)
_TABLES = ("encoder.embed_tokens", "decoder.embed_tokens", "decoder.output_projection")


def read_baseline(
    path: str, state: Dict[str, Any], *, data: Optional[str] = None, ema: bool = False
) -> Original:
    """As :func:`read_vanilla`; the tokens are in the checkpoint, and
    ``data`` only has sentences to compare models on."""
    options = {n: v for n, v in section(state, "model")[1].items() if not n.startswith("_")}
    kind = options["symbol_embedding"]
    if kind != "fixed":
        raise UserError(
            f"{path} was trained with symbol_embedding = {kind}; only fixed gives each symbol a row "
            "of its own that a stream can take over"
        )
    weights = _weights(path, state, ema)
    data = data or _recorded_data(state)
    tokens = _tokens(path, weights)
    dictionaries = Dictionaries(data, *_languages(state, data), tokens, tokens)
    cfg = OmegaConf.create({**options, "fresh_symbols": 0})
    own = weights.get(vocabulary_prefix(weights) + "operands")
    with _explaining_weights(path):
        domain = state["task_state"]["domain"]
        arity = arity_of(domain) if own is None else saved_operands(own)
        vocabulary = FixedVocabulary(StreamDictionary(), arity=arity)
        model = SymbolInvariantTransformerModel(cfg, vocabulary)
        model.load_state_dict(dict(weights), strict=True)
    vocabulary, closed = model.eval().vocabulary, []
    if vocabulary.source_only is not None:
        closed = vocabulary.index_of_row[vocabulary.source_only.bool()].tolist()
    return Original(
        model_options={n: v for n, v in options.items() if n not in _NOT_CARRIED},
        task_options=_lasting(state),
        dictionaries=dictionaries,
        tensors=model.state_dict(),
        tables={f"{name}.weight": tokens for name in _TABLES},
        parts=lambda name: [name],
        never_produced={vocabulary.dictionary[index] for index in closed},
        arity=arity,
        model=model,
    )


def _tokens(path: str, weights: Dict[str, Tensor]) -> Dictionary:
    """The tokens in the order of their rows."""
    saved = saved_vocabulary(weights)
    if saved is None:
        raise UserError(f"{path} lacks the tokens of its embeddings; name another file")
    dictionary = Dictionary()
    for token in saved[0]:
        dictionary.add_symbol(token)
    rows = weights["encoder.embed_tokens.weight"].size(0)
    if rows != len(dictionary):  # loading would cut or fill them
        raise UserError(f"{path} has {rows} embeddings for {len(dictionary)} tokens")
    return dictionary
