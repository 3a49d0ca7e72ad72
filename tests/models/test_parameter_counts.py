"""Sizes are those of the paper's table of ablations, exactly."""

import pytest
import torch
from conftest import make_dictionary, make_model
from literal import PATTERNS

# Channels, FFN, layers, heads, and the rows of the paper's matrix; then the number of parameters of
# its models by how many attentions a layer of encoder and decoder has together.
PUBLISHED = [
    (96, 768, 6, 6, 12, {3: 2_457_216, 4: 2_681_856, 5: 2_906_496, 6: 3_131_136}),
    (64, 1024, 8, 4, 15, {3: 2_520_000, 4: 2_654_144, 5: 2_788_288, 6: 2_922_432}),
]


def count(model) -> int:
    """Parameters outside the embedding."""
    return sum(p.numel() for n, p in model.named_parameters() if "embed_tokens" not in n)


def test_embedding_does_not_know_the_number_of_symbols():
    shapes = {
        make_model(make_dictionary(symbols)).encoder.embed_tokens.weight.shape
        for symbols in ("a", "abc", "abcdefghijklmnopqrstuvwxyz")
    }
    # Four special tokens, five operators, two constants; actual and placeholder.
    assert shapes == {(4 + 5 + 2 + 2, 24)}


KINDS = [("streams", pattern) for pattern in PATTERNS] + [
    (kind, "EP-DP-CP") for kind in ("fixed", "canonical", "random")
]


@pytest.mark.parametrize("kind, pattern", KINDS)
@pytest.mark.parametrize("channels, ffn, layers, heads, rows, published", PUBLISHED)
def test_count_of_ablation_table(channels, ffn, layers, heads, rows, published, kind, pattern):
    """A baseline has as many as the streams without aggregation."""
    with torch.device("meta" if kind == "streams" else "cpu"):
        model = make_model(
            symbol_embedding=kind,
            symbol_code_dim=6,
            stream_attention=pattern,
            encoder_embed_dim=channels,
            encoder_ffn_embed_dim=ffn,
            encoder_layers=layers,
            encoder_attention_heads=heads,
        )
    assert count(model) == published[len(pattern.split("-"))] - rows * channels


@pytest.mark.parametrize("share, number", [("decoder", 2), ("none", 3)])
def test_separate_matrices(share, number):
    """Of 11 base tokens with an actual and a placeholder."""
    model = make_model(share_embeddings=share, decoder_embed_dim=30)
    sizes = [tuple(p.shape) for p in model.parameters() if p.size(0) == 13]
    assert sizes == [(13, 24), (13, 30), (13, 30)][:number]
