"""Which checkpoints of fairseq's ``transformer`` have no counterpart over streams."""

from typing import Any, Dict

from fairseq import utils
from fairseq.models import ARCH_MODEL_NAME_REGISTRY
from fairseq.models.transformer import TransformerConfig
from torch import Tensor

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
    "encoder_xformers_att_config": "it may be another attention; " + _RETRAIN,
    "decoder_xformers_att_config": "it may be another attention; " + _RETRAIN,
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
    arch = str(options.get("arch") or options.get("_name"))
    model = ARCH_MODEL_NAME_REGISTRY.get(arch, arch)
    if model == "transformer":
        return
    if model == "symbol_invariant_transformer":
        raise UserError(f"{path} is a model over streams already; there is nothing to convert")
    raise UserError(
        f"{path} holds the architecture {arch!r}; only fairseq's model 'transformer' and the "
        "architectures that fairseq registers for it can be converted"
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
