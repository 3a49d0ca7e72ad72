"""``--autocast``: products of matrices in bfloat16, everything else in float32."""

from contextlib import nullcontext
from typing import Any, ContextManager, Dict

import torch

from sit_fairseq.errors import UserError

# Ways of fairseq to compute in half precision, which do not go together with ours.
_OTHERS = ("fp16", "bf16", "amp")


def check_precision(cfg: Any) -> None:
    """Refuses options that contradict each other, and those that this machine cannot follow.

    Args:
        cfg: options of the task, with those of fairseq under the same names.

    Raises:
        UserError: naming the option.
    """
    # Options that no command has filled in are names of others, hence "is True".
    if cfg.bf16 is True and cfg.tpu is True:
        raise UserError(
            "--bf16 makes fairseq look for a TPU; leave it out, and pass --autocast bfloat16 for "
            "products in bfloat16 on a CPU or a GPU"
        )
    if cfg.autocast is None:
        return
    if cfg.autocast != "bfloat16":
        raise UserError(f"--autocast {cfg.autocast!r} is unknown; pass --autocast bfloat16")
    for other in _OTHERS:
        if getattr(cfg, other) is True:
            raise UserError(
                f"--autocast bfloat16 and --{other} are two ways to compute in half precision; "
                "leave one of them out"
            )
    if torch.cuda.is_available() and cfg.cpu is not True:
        if not torch.cuda.is_bf16_supported():
            raise UserError("--autocast bfloat16: this GPU does not know bfloat16; pass --fp16")
    elif not cpu_knows_bfloat16():
        raise UserError(
            "--autocast bfloat16 would be slower than float32 on this CPU, which has neither "
            "avx512_bf16 nor amx_bf16; leave it out"
        )


def check_training_precision(cfg: Any) -> None:
    """Refuses what fairseq can decode in, but not train in. (In half precision without a copy in
    float32, ``--memory-efficient-fp16``, it trains everywhere.)

    Args:
        cfg: see :func:`check_precision`.

    Raises:
        UserError: naming the option.
    """
    if cfg.fp16 is not True or cfg.memory_efficient_fp16 is True:
        return
    if cfg.amp is True:
        raise UserError("--fp16 and --amp are two ways to train in half precision; leave one out")
    if cfg.cpu is True or not torch.cuda.is_available():
        raise UserError(
            "--fp16 trains on a GPU, and none is used; leave it out, or pass --autocast bfloat16 "
            "where the CPU knows it"
        )


def cpu_knows_bfloat16() -> bool:
    """Whether the CPU multiplies bfloat16 numbers in hardware, as far as PyTorch can tell."""
    asked = ("_is_avx512_bf16_supported", "_is_amx_tile_supported")
    return any(getattr(torch.cpu, name)() for name in asked if hasattr(torch.cpu, name))


def autocast(cfg: Any, sample: Dict[str, Any]) -> ContextManager:
    """Context manager: torch.autocast on the device of a batch, or nothing.

    Args:
        cfg: options of the task.
        sample: the batch, on the device of the model.
    """
    if cfg.autocast is None:
        return nullcontext()
    device = sample["net_input"]["src_tokens"].device.type
    return torch.autocast(device, getattr(torch, cfg.autocast))
