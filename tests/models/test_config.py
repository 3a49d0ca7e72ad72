"""Options of the model: the paper's letters for attention patterns, and what is refused."""

import pytest
from conftest import make_model

from sit_fairseq.errors import UserError
from sit_fairseq.models.config import AttentionPattern, ModelConfig, StackConfig, check

BASELINES = ("fixed", "canonical", "random")


@pytest.mark.parametrize(
    "text, letters, cross",
    [
        ("EP-DP-EA-DA-CP", {"EP", "DP", "EA", "DA", "CP"}, ("CP",)),
        ("CP-DA-DP-EA-EP", {"EP", "DP", "EA", "DA", "CP"}, ("CP",)),
        ("EP-CA-DP-CP", {"EP", "DP", "CA", "CP"}, ("CA", "CP")),
        ("EP-CP-DP-CA", {"EP", "DP", "CA", "CP"}, ("CP", "CA")),
        *((f"{part}-CP", {part, "CP"}, ("CP",)) for part in ("EP", "EA", "DP", "DA")),
    ],
)
def test_parts_may_come_in_any_order_which_counts_for_cross_attentions(text, letters, cross):
    pattern = AttentionPattern.parse(text)
    assert {part for part in ("EP", "EA", "DP", "DA", "CP", "CA") if part in pattern} == letters
    assert set(pattern.letters) == letters and pattern.cross == cross
    assert pattern.aggregated == bool(letters & {"EA", "DA", "CA"})


ONE_STREAM = dict(stream_attention="EP-DP-CP")
REFUSED = [
    (dict(stream_attention="EP-XY-CP"), "'EP-XY-CP': 'XY' is unknown or repeated"),
    (dict(stream_attention="EP-EP-CP"), "'EP' is .* join some of EP DP EA DA CP CA with hyph"),
    (dict(stream_attention=""), "'' is unknown"),
    (dict(stream_attention="ep-CP"), "'ep' is unknown"),
    (
        dict(stream_attention="EP-DP-EA-DA"),
        "the decoder sees no source; .* CP or CA",
    ),
    (dict(symbol_embedding="other"), "'other' is none of streams, fixed, canonical, random"),
    (dict(encoder_positions="other"), "is none of tree, rope, sinusoidal, learned, none"),
    (dict(decoder_positions="tree"), "is none of rope, sinusoidal, learned, none"),
    (dict(share_embeddings="other"), "is none of all, decoder, none"),
    (dict(output_head="other"), "is none of cosine, linear"),
    (dict(layer_norm_eps=0.0), "add 0.0, which must be positive"),
    (dict(layer_norm_eps=float("nan")), "add nan, which must be positive"),
    (dict(encoder_layers=0, decoder_layers=1), "have 0 and 1 layers, but each needs one"),
    (dict(decoder_layers=0), "have 6 and 0 layers"),
    (dict(activation_dropout=-0.5), "-0.5 is not in .0, 1.*--activation-dropout"),
    (dict(tree_depth=-1), "cannot be -1 operators deep"),
    (dict(fresh_symbols=-1), "fresh symbols -1 are neither a number nor such as table=1,column=2"),
    (dict(fresh_symbols="t=1,t=2"), "neither a number nor"),
    (dict(fresh_symbols="2,t=2"), "neither a number nor"),
    (dict(fresh_symbols="t=999,u=2"), "1001 fresh symbols are more than 1000"),
    (dict(share_embeddings="all", decoder_embed_dim=36), "an encoder of 96 and a decoder of 36"),
    (dict(decoder_embed_dim=21, decoder_attention_heads=3), "21 .* with an even number"),
    (
        dict(encoder_embed_dim=20, encoder_attention_heads=3, encoder_positions="none"),
        "20 channels do not divide into 3 heads;",
    ),
    *(
        (dict(symbol_embedding=kind, stream_attention=pattern), f"one stream with {kind} symbols")
        for kind in BASELINES
        for pattern in ("EP-DP-EA-CP", "EP-DP-DA-CP", "EP-DP-CP-CA")
    ),
    *(
        (
            dict(ONE_STREAM, symbol_embedding=kind, fresh_symbols=3),
            f"which models of {kind} symbols lack",
        )
        for kind in BASELINES
    ),
    (dict(ONE_STREAM, symbol_embedding="random", share_embeddings="decoder"), "must be the same"),
    (dict(ONE_STREAM, symbol_embedding="random", symbol_code_dim=0), "codes of 0 channels"),
    (dict(ONE_STREAM, symbol_embedding="random", symbol_code_dim=96), "codes of 96 channels"),
]


@pytest.mark.parametrize("options, reason", REFUSED)
def test_what_no_model_can_have_is_refused(options, reason):
    """In a sentence that ends with an option that is at fault."""
    with pytest.raises(UserError, match=reason) as error:
        check(ModelConfig(**options))
    flags = str(error.value).rpartition("; change ")[2].split(" or ")
    assert {flag[2:].replace("-", "_") for flag in flags} & set(options)


def test_what_only_a_model_can_tell_is_refused():
    with pytest.raises(
        UserError, match="the activation 'swish' is none of relu, .*--activation-fn"
    ):
        make_model(activation_fn="swish")
    with pytest.raises(UserError, match="there are 8, which 3 do; change --symbol-code-dim"):
        make_model(symbol_embedding="random", stream_attention="EP-DP-CP", symbol_code_dim=2)


def test_what_is_refused_is_allowed_elsewhere():
    model = make_model(encoder_embed_dim=21, encoder_positions="none", decoder_positions="none")
    assert model.encoder.embed_tokens.weight.size(1) == 21
    for kind in BASELINES:
        make_model(symbol_embedding=kind, stream_attention="DP-CP", fresh_symbols="0")


def test_the_decoder_is_as_large_as_the_encoder_where_nothing_else_is_said():
    cfg = ModelConfig(encoder_embed_dim=8, encoder_attention_heads=2, decoder_layers=3)
    encoder, decoder = (StackConfig.of(cfg, side) for side in ("encoder", "decoder"))
    assert (decoder.embed_dim, decoder.num_heads, decoder.ffn_dim) == (8, 2, 768)
    assert (encoder.num_layers, decoder.num_layers) == (6, 3)
