"""Kinds of models that fairseq trains, and files made of them."""

import random
from pathlib import Path
from typing import Callable, List

import pytest
import torch

from sit_fairseq.errors import UserError

OPERATORS = ["&", "|", "!", "xor"]
SYMBOLS = list("abcde")
REGEX = "[a-e]"
CONVERSION = {"--symbols": REGEX, "--actual": "a", "--placeholder": "b"}

SIZES = [
    *("--encoder-embed-dim", 16, "--encoder-ffn-embed-dim", 24, "--encoder-layers", 2),
    *("--encoder-attention-heads", 2, "--decoder-layers", 2, "--decoder-attention-heads", 4),
]
SHARED = ["--share-all-embeddings"]
TIED = ["--share-decoder-input-output-embed"]
PRE_NORM = ["--encoder-normalize-before", "--decoder-normalize-before"]
# Options of fairseq-train for each kind of model.
KINDS = {
    "plain": [],
    "shared": [*SHARED, "--store-ema", "--ema-decay", 0.5],
    "tied-learned": [
        *(*TIED, "--encoder-learned-pos", "--decoder-learned-pos"),
        *("--max-source-positions", 40, "--max-target-positions", 30),
    ],
    "pre-norm": [*SHARED, *PRE_NORM],
    "no-final-norm": [*TIED, *PRE_NORM, "--no-decoder-final-norm", "--decoder-learned-pos"],
    "mixed-norm": ["--encoder-normalize-before", "--activation-fn", "gelu_accurate"],
    "norm-embedding": [
        *(*TIED, "--layernorm-embedding", "--no-scale-embedding"),
        *("--no-token-positional-embeddings", "--encoder-learned-pos"),
    ],
    "two-sizes": [
        *("--decoder-embed-dim", 24, "--decoder-ffn-embed-dim", 20, "--decoder-layers", 1),
        *("--activation-fn", "gelu", "--encoder-learned-pos"),
    ],
    "odd-heads": [
        *(*TIED, "--encoder-embed-dim", 15, "--encoder-attention-heads", 3),
        *("--decoder-attention-heads", 5, "--layernorm-embedding", *PRE_NORM),
    ],
    "dropouts": [
        *(*SHARED, "--arch", "transformer_iwslt_de_en", "--decoder-embed-dim", 16),
        *("--decoder-ffn-embed-dim", 24, "--dropout", 0.2, "--attention-dropout", 0.1),
        *("--relu-dropout", 0.3, "--encoder-layerdrop", 0.1, "--left-pad-source"),
    ],
    "trained": [*SHARED, "--train-subset", "test", "--max-update", 120, "--dropout", 0],
    "separate-dictionaries": [*TIED],
    "separate-everything": [*PRE_NORM, "--decoder-learned-pos"],
}
HYDRA = """
task: {{_name: translation, data: {data}}}
model:
  _name: transformer
  encoder: {{embed_dim: 16, ffn_embed_dim: 24, layers: 2, attention_heads: 2, learned_pos: true}}
  decoder: {{embed_dim: 16, ffn_embed_dim: 20, layers: 1, attention_heads: 4}}
  share_decoder_input_output_embed: true
  max_source_positions: 50
  base_layers: 0
  activation_fn: gelu
criterion: {{_name: cross_entropy}}
optimizer: {{_name: adam}}
lr_scheduler: {{_name: fixed}}
optimization: {{max_update: 3, lr: [0.01]}}
dataset: {{batch_size: 8, num_workers: 0, data_buffer_size: 0, disable_validation: true,
          valid_subset: train}}
checkpoint: {{save_dir: {save_dir}}}
common: {{cpu: true}}
hydra: {{run: {{dir: {save_dir}/logs}}}}
"""


def sentence(rng: random.Random, symbols: List[str]) -> List[str]:
    """A source with at least one symbol, and a target of base tokens and its symbols."""
    source = rng.choices([*symbols, *OPERATORS], k=rng.randint(1, 8))
    source[rng.randrange(len(source))] = symbols[0]
    target = rng.choices([*filter(SYMBOLS.__contains__, source), "0", "1"], k=rng.randint(1, 6))
    return [" ".join(source), " ".join(target)]


def load(path: Path) -> dict:
    """Reads a checkpoint the strict way."""
    return torch.load(path, weights_only=True)


def edited(path: Path, out: Path, change: Callable[[dict], None]) -> Path:
    """A copy of a checkpoint after ``change`` was called on its contents."""
    state = load(path)
    change(state)
    torch.save(state, out)
    return out


def failing(action: Callable[[], object], *fragments: str) -> None:
    """Checks that the action ends in one sentence with these parts."""
    with pytest.raises(UserError) as error:
        action()
    message = str(error.value)
    assert "\n" not in message
    for fragment in fragments:
        assert fragment in message, message
