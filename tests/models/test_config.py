"""Options of the model: the paper's letters for attention patterns, and sizes of the decoder."""

import pytest

from sit_fairseq.models.config import AttentionPattern, ModelConfig, StackConfig


@pytest.mark.parametrize(
    "text, letters, cross",
    [
        ("CP-DA-DP-EA-EP", {"EP", "DP", "EA", "DA", "CP"}, ("CP",)),
        ("EP-CA-DP-CP", {"EP", "DP", "CA", "CP"}, ("CA", "CP")),
        ("EP-CP-DP-CA", {"EP", "DP", "CA", "CP"}, ("CP", "CA")),
        *((f"{part}-CP", {part, "CP"}, ("CP",)) for part in ("EA", "DA")),
    ],
)
def test_parts_may_come_in_any_order_which_counts_for_cross_attentions(text, letters, cross):
    pattern = AttentionPattern.parse(text)
    assert {part for part in ("EP", "EA", "DP", "DA", "CP", "CA") if part in pattern} == letters
    assert set(pattern) == letters and pattern.cross == cross
    assert pattern.aggregated == bool(letters & {"EA", "DA", "CA"})


def test_the_decoder_is_as_large_as_the_encoder_where_nothing_else_is_said():
    cfg = ModelConfig(encoder_embed_dim=8, encoder_attention_heads=2, decoder_layers=3)
    encoder, decoder = (StackConfig.of(cfg, side) for side in ("encoder", "decoder"))
    assert (decoder.embed_dim, decoder.num_heads, decoder.ffn_dim) == (8, 2, 768)
    assert (encoder.num_layers, decoder.num_layers) == (6, 3)
