"""Which checkpoints have no counterpart over streams."""

from typing import Any, Dict

from fairseq import utils
from fairseq.models.transformer import TransformerConfig
from torch import Tensor

from sit_fairseq.conversion import reading
from sit_fairseq.errors import UserError

_RETRAIN = "train without it"
_PRUNED = "first save the pruned model, so that its file holds no other layers"
# What must not be in use, and what to do about it: fields of TransformerConfig ...
_OPTIONS = {
    "adaptive_softmax_cutoff": "an adaptive softmax has no row per token; " + _RETRAIN,
    "tie_adaptive_weights": _RETRAIN,
    "tie_adaptive_proj": _RETRAIN,
    "adaptive_input": "adaptive input has no row per token; " + _RETRAIN,
    "quant_noise_pq": "quantisation noise has weights of its own; " + _RETRAIN,
    "quant_noise_scalar": "the weights are meant to be rounded; " + _RETRAIN,
    "cross_self_attention": _RETRAIN,
    "no_cross_attention": "a decoder over streams needs the source; " + _RETRAIN,
    "base_layers": "streams have no mixture-of-experts layers; " + _RETRAIN,
    "char_inputs": "streams are made of tokens; " + _RETRAIN,
    "encoder_layers_to_keep": _PRUNED,
    "decoder_layers_to_keep": _PRUNED,
}
# ... and options that are none but reach the layers all the same.
_EXTRA_OPTIONS = {
    "scale_attn": _RETRAIN,
    "scale_heads": _RETRAIN,
    "scale_fc": _RETRAIN,
    "scale_resids": _RETRAIN,
    "mha_heads_to_keep": "layers have unequal numbers of heads; convert the unpruned model",
    "ffn_blocks_to_remove": "layers are of unequal size; convert the unpruned model",
}


def refuse_architecture(path: str, options: Dict[str, Any]) -> None:
    """Raises unless the architecture is fairseq's ``transformer``, in whatever size.

    Raises:
        UserError: naming the architecture.
    """
    if reading.model_name(options) != "transformer":
        raise UserError(
            f"{path} holds the architecture {reading.architecture(options)!r}; only fairseq's "
            "model 'transformer' and the architectures that fairseq registers for it can be "
            "converted, and symbol_invariant_transformer with --symbol-embedding fixed"
        )


def refuse_symbol_embedding(path: str, options: Dict[str, Any]) -> None:
    """Raises unless symbols have learnt rows by name.

    Args:
        path: the checkpoint, for messages.
        options: of a ``symbol_invariant_transformer``.

    Raises:
        UserError: saying what to do instead.
    """
    kind = str(options.get("symbol_embedding", "streams"))
    if kind == "streams":
        raise UserError(f"{path} is a model over streams already; there is nothing to convert")
    if kind != "fixed":
        raise UserError(
            f"{path} was trained with --symbol-embedding {kind}, where no symbol has a row of its "
            "own that a stream could take over; train with --symbol-embedding fixed and convert "
            "that model, or train with --symbol-embedding streams"
        )


def refuse_options(path: str, cfg: TransformerConfig, extra: Dict[str, Any]) -> None:
    """Raises if the model computes something that streams do not.

    Args:
        path: the checkpoint, for messages.
        cfg: its options.
        extra: the options as the file has them.

    Raises:
        UserError: naming the option and what to do.
    """
    checks = [(utils.safe_getattr(cfg, name), name, rest) for name, rest in _OPTIONS.items()]
    checks += [(extra.get(name), name, rest) for name, rest in _EXTRA_OPTIONS.items()]
    for value, name, remedy in checks:
        if value and value != -1:  # what fairseq has for "not in use"
            _refuse(path, name, value, remedy)
    for name in ("decoder_input_dim", "decoder_output_dim"):
        value = getattr(cfg, name)
        if value != cfg.decoder.embed_dim:
            remedy = f"it must equal --decoder-embed-dim {cfg.decoder.embed_dim}; {_RETRAIN}"
            _refuse(path, name, value, remedy)
    if cfg.activation_fn not in utils.get_available_activation_fns():
        _refuse(path, "activation_fn", cfg.activation_fn, "train with one that fairseq-train lists")


def _refuse(path: str, option: str, value: Any, remedy: str) -> None:
    flag = "--" + option.replace("_", "-")
    raise UserError(f"{path} was trained with {flag} {value}, which cannot be converted: {remedy}")


def refuse_numbers(path: str, cfg: Any) -> None:
    """Raises if sizes or rates are none: they come from a file that nobody vouches for.

    Args:
        path: the checkpoint, for messages.
        cfg: the options of its model, under the names of fairseq's transformer.

    Raises:
        UserError: naming the option.
    """
    whole = [f"max_{side}_positions" for side in ("source", "target")]
    for side in ("encoder", "decoder"):
        whole += [
            f"{side}_{n}" for n in ("embed_dim", "ffn_embed_dim", "layers", "attention_heads")
        ]
    for name in whole:
        value = getattr(cfg, name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise UserError(f"{path} holds {name} = {value!r}, which is no positive whole number")
    for name in ("dropout", "attention_dropout", "activation_dropout", "relu_dropout"):
        value = getattr(cfg, name, 0.0)  # relu_dropout is fairseq's alone
        if not isinstance(value, (int, float)) or not 0 <= value < 1:
            raise UserError(f"{path} holds {name} = {value!r}, which is no dropout rate")


def refuse_weights(path: str, weights: Dict[str, Tensor]) -> None:
    """Raises if the weights are those of a wrapped or sharded model.

    Raises:
        UserError: naming a tensor.
    """
    for name in weights:
        if "flat_param" in name or "_fsdp_wrapped_module" in name:
            raise UserError(
                f"{path} holds {name!r}, weights flattened by --ddp-backend fully_sharded; first "
                "save them with --not-fsdp-flatten-parameters, in one file"
            )
