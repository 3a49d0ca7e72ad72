"""fairseq's own ``transformer`` as a source of the conversion."""

import re
from argparse import Namespace
from types import SimpleNamespace
from typing import Any, Dict, List, Optional

from fairseq import utils
from fairseq.models.transformer import TransformerConfig, TransformerModelBase, base_architecture
from torch import Tensor

from sit_fairseq.conversion import original
from sit_fairseq.conversion.original import Dictionaries, Original
from sit_fairseq.errors import UserError

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

    Args:
        path: its name, for messages.
        state: its content.
        data: the directory of its dictionaries; None for the one recorded in it.
        ema: take the moving average of the weights.
    """
    options = original.model_options(state)
    weights = original.weights(path, state, ema)
    cfg = _config(path, options)
    _refuse_options(path, cfg, options)
    dictionaries = original.read_dictionaries(state, data)
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
    with original.explaining_weights(path):  # loaded as fairseq loads them, old files included
        model = TransformerModelBase.build_model(cfg, task).eval()
        redundant = {n: t for n, t in weights.items() if _REDUNDANT.fullmatch(n)}
        kept = {n: t for n, t in weights.items() if n not in redundant}
        model.load_state_dict(kept, strict=True)
    tensors = {n: t for n, t in model.state_dict().items() if not _REDUNDANT.fullmatch(n)}
    return Original(
        model_options=_stream_options(cfg, model),
        task_options=original.lasting_task_options(state),
        dictionaries=dictionaries,
        tensors={**redundant, **tensors},
        tables={
            "encoder.embed_tokens.weight": dictionaries.source,
            "decoder.embed_tokens.weight": dictionaries.target,
            "decoder.output_projection.weight": dictionaries.target,
        },
        parts=_parts,
        never_produced=set(dictionaries.source.symbols) - set(dictionaries.target.symbols),
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
    if cfg.share_all_embeddings or _merges(cfg):
        share = "all"
    else:
        share = "decoder" if cfg.share_decoder_input_output_embed else "none"
    options = {
        "stream_attention": "EP-DP-CP",
        "output_head": "linear",
        "share_embeddings": share,
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
        learned = getattr(cfg, side).learned_pos
        kind = "learned" if learned else "sinusoidal"
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
