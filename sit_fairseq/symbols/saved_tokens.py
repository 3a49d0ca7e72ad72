"""Texts as tensors of checkpoints: base tokens, one a line, the pattern of symbols, and numbers of
operands."""

import re
from typing import Dict, List, Mapping, Optional, Tuple

import torch
from torch import Tensor

from sit_fairseq.symbols.prefix import OwnArity


def text_buffer(text: str) -> Tensor:
    """A text as a tensor for a checkpoint: its UTF-8 bytes as floating-point numbers, as scripts
    that average weights fail on integers. Bytes survive half precision."""
    return torch.tensor(list(text.encode("utf-8")), dtype=torch.float32, device="cpu")


def buffer_text(data: Tensor) -> str:
    """The text of a :func:`text_buffer`, cast or averaged as it may be."""
    return bytes(data.cpu().float().round().int().tolist()).decode("utf-8")


def saved_vocabulary(
    state_dict: Dict[str, Tensor], prefix: Optional[str] = None
) -> Optional[Tuple[List[str], str]]:
    """The base tokens (without the special ones) and the pattern that weights were saved with; None
    if this is no model with streams. ``prefix`` is that of the vocabulary's buffers, None for
    :func:`vocabulary_prefix`."""
    if prefix is None:
        prefix = vocabulary_prefix(state_dict)
    base_tokens, symbols = (state_dict.get(prefix + name) for name in ("base_tokens", "symbols"))
    if base_tokens is None or symbols is None:
        return None
    return [token for token in buffer_text(base_tokens).split("\n") if token], buffer_text(symbols)


def operands_buffer(arity: Mapping[str, int]) -> Tensor:
    """Numbers of operands as a tensor for a checkpoint."""
    return text_buffer("\n".join(f"{token} {number}" for token, number in arity.items()))


def saved_operands(data: Tensor) -> OwnArity:
    """The numbers of operands of an :func:`operands_buffer`; a ValueError if it holds none."""
    found = OwnArity()
    for line in buffer_text(data).split("\n"):
        token, _, number = line.rpartition(" ")
        if not (token and re.fullmatch("[1-9][0-9]{0,2}", number)):
            raise ValueError("its numbers of operands are none")
        found[token] = int(number)
    return found


def vocabulary_prefix(state_dict: Dict[str, Tensor]) -> str:
    """Of the names of the vocabulary's buffers: a language model has no encoder."""
    side = "encoder" if any(name.startswith("encoder.") for name in state_dict) else "decoder"
    return f"{side}.embed_tokens.vocabulary."
