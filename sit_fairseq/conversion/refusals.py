"""Which checkpoints of fairseq's ``transformer`` have no counterpart over streams."""

from typing import Any, Dict

from fairseq import utils
from fairseq.models import ARCH_MODEL_NAME_REGISTRY
from fairseq.models.transformer import TransformerConfig
from torch import Tensor

from sit_fairseq.errors import UserError

_RETRAIN = "train without it"
# Options of TransformerConfig, the value (beside none) that does no harm, and a remedy.
_FIXED = {
    "adaptive_softmax_cutoff": (None, "an adaptive softmax has no row per token; " + _RETRAIN),
    "tie_adaptive_weights": (False, _RETRAIN),
    "tie_adaptive_proj": (False, _RETRAIN),
    "adaptive_input": (False, "adaptive input has no row per token; " + _RETRAIN),
    "quant_noise_pq": (0, "quantisation noise changes the embeddings; " + _RETRAIN),
    "quant_noise_scalar": (0, "the weights are meant to be rounded; " + _RETRAIN),
    "cross_self_attention": (False, _RETRAIN),
    "no_cross_attention": (False, "a decoder over streams needs the source; " + _RETRAIN),
    "base_layers": (0, "streams have no mixture-of-experts layers; " + _RETRAIN),
    "char_inputs": (False, "streams are made of tokens; " + _RETRAIN),
    "encoder_xformers_att_config": (None, "xFormers attention may be another one; " + _RETRAIN),
    "decoder_xformers_att_config": (None, "xFormers attention may be another one; " + _RETRAIN),
    "encoder_layers_to_keep": (
        None,
        "first save the pruned model, so that its file holds the layers that are kept alone",
    ),
    "decoder_layers_to_keep": (
        None,
        "first save the pruned model, so that its file holds the layers that are kept alone",
    ),
}
# Options that are no fields of TransformerConfig but reach the layers all the same.
_EXTRA = {
    "scale_attn": (False, _RETRAIN),
    "scale_heads": (False, _RETRAIN),
    "scale_fc": (False, _RETRAIN),
    "scale_resids": (False, _RETRAIN),
    "mha_heads_to_keep": (-1, "heads of unequal number per layer; convert the unpruned model"),
    "ffn_blocks_to_remove": (-1, "layers of unequal size; convert the unpruned model"),
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
    checks = [(utils.safe_getattr(cfg, name), name, *rest) for name, rest in _FIXED.items()]
    checks += [(extra.get(name), name, *rest) for name, rest in _EXTRA.items()]
    for value, name, harmless, remedy in checks:
        if value and value != harmless:
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
