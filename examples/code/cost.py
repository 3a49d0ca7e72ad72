"""Counts operations of a language model of symbols and of a plain one, by the symbols of a text.

    python -m examples.code.cost

counts arithmetic operations of a training step, and bytes kept for its backward pass. Models are
those of ``hydra.yaml``, untrained. A batch is one text of 128 tokens; each fourth is a symbol. Both
counts depend on shapes alone, neither on the machine nor on what else it does.
"""

from random import Random
from typing import Dict, List, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.flop_counter import (
    FlopCounterMode,
    sdpa_backward_flop_count,
    sdpa_flop_count,
)

from examples.code.pieces import NAMES, PIECES
from examples.script import run
from sit_fairseq.evaluation.result_file import markdown_table
from sit_fairseq.models.baselines import make_vocabulary
from sit_fairseq.models.config import LanguageModelConfig
from sit_fairseq.models.language_model import SymbolInvariantLanguageModel
from sit_fairseq.symbols.tokens import TokenTable

# Attention on a CPU, which the counter does not know.
ATTENTION = {
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: (
        lambda query, key, value, *args, **kwargs: sdpa_flop_count(query, key, value)
    ),
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward: (
        lambda grad, query, key, value, *args, **kwargs: sdpa_backward_flop_count(
            grad, query, key, value
        )
    ),
}
LENGTH, SYMBOLS = 128, (1, 2, 4, 8, 16)
SIZES = dict(
    decoder_embed_dim=64,
    decoder_ffn_embed_dim=256,
    decoder_layers=2,
    decoder_attention_heads=4,
    decoder_positions="rope",
)
MODELS = {
    "Plain": dict(symbol_embedding="fixed", stream_attention="DP"),
    "Streams, own places": dict(stream_attention="DP-DA", stream_places="own"),
    "Streams, a light last layer": dict(stream_attention="DP-DA", stream_places="read"),
    "Streams, all places": dict(stream_attention="DP-DA", stream_places="all"),
}


def text_of(symbols: int, rng: Random) -> List[str]:
    """A random text with so many symbols."""
    places = range(LENGTH // 4)
    names = [NAMES[place % symbols] for place in places]
    words = [[f"w{rng.randrange(PIECES)}" for _ in range(3)] for _ in places]
    return [token for name, three in zip(names, words) for token in (name, *three)]


def cost(options: Dict[str, str], text: List[str]) -> Tuple[int, int]:
    """Operations of a training step of a model, and bytes that it keeps."""
    cfg = LanguageModelConfig(**SIZES, **options)
    tokens = TokenTable([*(f"w{n}" for n in range(PIECES)), *NAMES], pattern=r"[$]\w+")
    model = SymbolInvariantLanguageModel(cfg, make_vocabulary(cfg, tokens))
    target = tokens.encode([" ".join(text)])
    before = torch.cat((target[:, -1:], target[:, :-1]), 1)
    weights = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    kept: Dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with FlopCounterMode(display=False, custom_mapping=ATTENTION) as counter, saved_tensors_hooks(
        keep, lambda tensor: tensor
    ):
        logits = model(before).flatten(0, 1)
        F.cross_entropy(logits, model.targets(before, target).flatten()).backward()
    return counter.get_total_flops(), sum(kept.values())


def main() -> None:
    """Prints both tables, of which each row is a model."""
    texts = [text_of(symbols, Random(1)) for symbols in SYMBOLS]
    costs = {name: [cost(options, text) for text in texts] for name, options in MODELS.items()}
    for place, unit in enumerate(("million operations", "MB kept")):
        rows = [[unit, *(f"{symbols} symbols" for symbols in SYMBOLS)]]
        for name, of_texts in costs.items():
            rows.append([name, *(f"{one[place] / 1e6:.{place}f}" for one in of_texts)])
        print(markdown_table(rows), "\n")


if __name__ == "__main__":
    run(main)
