"""Options of the model: the paper's letters for attention patterns, and what is refused."""

import pytest
from conftest import make_model

from sit_fairseq.errors import UserError
from sit_fairseq.models.config import AttentionPattern, ModelConfig, StackConfig, check

BASELINES = ("fixed", "canonical", "random")


def test_parts_may_come_in_any_order():
    pattern = AttentionPattern.parse("EP-DP-EA-DA-CP")
    other = AttentionPattern.parse("CP-DA-DP-EA-EP")
    assert set(pattern.letters) == set(other.letters) == {"EP", "DP", "EA", "DA", "CP"}
    assert pattern.cross == other.cross == ("CP",)


@pytest.mark.parametrize("letters", ["EP", "EA", "DP", "DA"])
def test_each_part_is_one_attention(letters):
    pattern = AttentionPattern.parse(f"{letters}-CP")
    assert [part for part in ("EP", "EA", "DP", "DA") if part in pattern] == [letters]
    assert pattern.aggregated == (letters in ("EA", "DA"))


def test_order_of_cross_attentions_counts():
    assert AttentionPattern.parse("EP-CA-DP-CP").cross == ("CA", "CP")
    assert AttentionPattern.parse("EP-CP-DP-CA").cross == ("CP", "CA")


@pytest.mark.parametrize(
    "text, part", [("EP-XY-CP", "'XY'"), ("EP-EP-CP", "'EP'"), ("", "''"), ("ep-CP", "'ep'")]
)
def test_unknown_or_repeated_part(text, part):
    with pytest.raises(UserError, match=f"{part} is unknown or repeated; join some of EP DP EA"):
        AttentionPattern.parse(text)


def test_decoder_must_see_the_source():
    with pytest.raises(UserError, match="'EP-DP-EA-DA' lets the decoder see nothing.*CP or CA"):
        AttentionPattern.parse("EP-DP-EA-DA")


@pytest.mark.parametrize(
    "name, choices",
    [
        ("symbol_embedding", "streams, fixed, canonical, random"),
        ("encoder_positions", "tree, rope, sinusoidal, learned, none"),
        ("decoder_positions", "rope, sinusoidal, learned, none"),
        ("share_embeddings", "all, decoder, none"),
        ("output_head", "cosine, linear"),
    ],
)
def test_unknown_choices(name, choices):
    option = "--" + name.replace("_", "-")
    with pytest.raises(UserError, match=f"^{option} 'other' is unknown; choose one of {choices}$"):
        check(ModelConfig(**{name: "other"}))


def test_unknown_activation():
    with pytest.raises(UserError, match="--activation-fn 'swish' is unknown; choose one of relu, "):
        make_model(activation_fn="swish")


@pytest.mark.parametrize(
    "options, message",
    [
        ({"layer_norm_eps": 0.0}, "--layer-norm-eps 0.0 must be positive"),
        ({"layer_norm_eps": float("nan")}, "--layer-norm-eps nan must be positive"),
        ({"tree_depth": -1}, "--tree-depth -1 must be a number of operators, or 0"),
        ({"fresh_symbols": -1}, "--fresh-symbols -1 must be a number of symbols up to 1000"),
        ({"fresh_symbols": 1001}, "--fresh-symbols 1001 must be a number of symbols up to 1000"),
    ],
)
def test_numbers_out_of_range(options, message):
    with pytest.raises(UserError, match=message):
        check(ModelConfig(**options))


def test_the_decoder_is_as_large_as_the_encoder_where_nothing_else_is_said():
    cfg = ModelConfig(encoder_embed_dim=8, encoder_attention_heads=2, decoder_layers=3)
    encoder, decoder = (StackConfig.of(cfg, side) for side in ("encoder", "decoder"))
    assert (decoder.embed_dim, decoder.num_heads, decoder.ffn_dim) == (8, 2, 768)
    assert (encoder.num_layers, decoder.num_layers) == (6, 3)


def test_one_matrix_needs_one_size():
    with pytest.raises(UserError, match="--share-embeddings decoder"):
        make_model(decoder_embed_dim=30)


def test_rotary_positions_need_even_heads():
    with pytest.raises(UserError, match="even.*--decoder-attention-heads"):
        make_model(encoder_embed_dim=21, encoder_positions="none")
    model = make_model(encoder_embed_dim=21, encoder_positions="none", decoder_positions="none")
    assert model.encoder.embed_tokens.weight.size(1) == 21
    with pytest.raises(UserError, match="20 channels do not divide into 3 heads;"):
        make_model(encoder_embed_dim=20, encoder_positions="none")


@pytest.mark.parametrize("kind", BASELINES)
def test_baselines_have_no_aggregated_attention(kind):
    for pattern in ("EP-DP-EA-CP", "EP-DP-DA-CP", "EP-DP-CP-CA"):
        with pytest.raises(UserError, match=f"{kind} has one stream.*pass --stream-attention"):
            make_model(symbol_embedding=kind, stream_attention=pattern)
    make_model(symbol_embedding=kind, stream_attention="DP-CP")


@pytest.mark.parametrize("kind", BASELINES)
def test_baselines_have_no_fresh_symbols(kind):
    message = f"--fresh-symbols 3 are streams, which --symbol-embedding {kind} has not; leave one"
    with pytest.raises(UserError, match=message):
        make_model(symbol_embedding=kind, stream_attention="EP-DP-CP", fresh_symbols=3)


def test_options_that_do_not_go_with_random_codes():
    def build(**options):
        make_model(symbol_embedding="random", stream_attention="EP-DP-CP", **options)

    with pytest.raises(UserError, match="pass --share-embeddings all"):
        build(share_embeddings="decoder")
    for dim in (0, 24):
        with pytest.raises(UserError, match=f"--symbol-code-dim {dim} must"):
            build(symbol_code_dim=dim)
    with pytest.raises(UserError, match="there are 8; train with --symbol-code-dim 3 or more"):
        build(symbol_code_dim=2)
