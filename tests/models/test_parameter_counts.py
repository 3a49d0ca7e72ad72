"""Sizes are those of the paper's table of ablations, exactly."""

from argparse import Namespace
from types import SimpleNamespace

import pytest
import torch
from conftest import make_dictionary, make_model
from fairseq import options
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.models import ARCH_CONFIG_REGISTRY

from sit_fairseq.models.symbol_invariant_transformer import SymbolInvariantTransformerModel

PROP = {
    "EP-DP-EA-DA-CP": 2_906_496,
    "EP-DP-EA-DA-CP-CA": 3_131_136,
    "EP-DP-DA-CP": 2_681_856,
    "DP-EA-DA-CP": 2_681_856,
    "EP-DP-DA-CP-CA": 2_906_496,
    "DP-EA-DA-CP-CA": 2_906_496,
    "EP-DP-EA-CP": 2_681_856,
    "EP-DP-EA-CP-CA": 2_906_496,
    "EP-DP-CP-CA": 2_681_856,
    "EP-DP-CP": 2_457_216,
    "DP-EA-CP": 2_457_216,
    "DP-EA-CP-CA": 2_681_856,
    "EA-DA-CP": 2_457_216,
    "EP-EA-DA-CP-CA": 2_906_496,
    "EA-DA-CP-CA": 2_681_856,
    "EP-EA-DA-CP": 2_681_856,
    "EP-DA-CP": 2_457_216,
    "EP-DP-EA-DA-CA": 2_906_496,
    "EP-DA-CP-CA": 2_681_856,
}
LTL = {
    "EP-DP-EA-CP": 2_654_144,
    "EP-DP-EA-CP-CA": 2_788_288,
    "EP-DP-DA-CP": 2_654_144,
    "EP-DP-EA-DA-CP": 2_788_288,
    "EP-DP-CP-CA": 2_654_144,
    "EP-DP-EA-DA-CP-CA": 2_922_432,
    "EP-DP-DA-CP-CA": 2_788_288,
    "DP-EA-DA-CP": 2_654_144,
    "DP-EA-DA-CP-CA": 2_788_288,
    "EP-DP-CP": 2_520_000,
    "DP-EA-CP": 2_520_000,
    "DP-EA-CP-CA": 2_654_144,
    "EP-EA-DA-CP": 2_654_144,
    "EP-DP-EA-DA-CA": 2_788_288,
    "EA-DA-CP": 2_520_000,
    "EP-DA-CP-CA": 2_654_144,
    "EP-DA-CP": 2_520_000,
    "EP-EA-DA-CP-CA": 2_788_288,
    "EA-DA-CP-CA": 2_654_144,
}
# Channels, FFN, layers, heads, and the rows of the paper's matrix.
PROP_SIZES = (96, 768, 6, 6, 12)
LTL_SIZES = (64, 1024, 8, 4, 15)
COPY_SIZES = (128, 128, 6, 8)
NAMES = (
    "encoder_embed_dim",
    "encoder_ffn_embed_dim",
    "encoder_layers",
    "encoder_attention_heads",
)


def count(model) -> int:
    """Parameters outside the embedding."""
    return sum(p.numel() for n, p in model.named_parameters() if "embed_tokens" not in n)


def from_command_line(*arguments):
    """The model that fairseq-train would build."""
    parser = options.get_training_parser()
    given = ["data", "--task", "stream_translation", *arguments]
    cfg = convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, given)).model
    task = SimpleNamespace(source_dictionary=make_dictionary(), cfg=SimpleNamespace(seed=1))
    return SymbolInvariantTransformerModel.build_model(cfg, task)


@pytest.mark.parametrize(
    "sizes, pattern, published",
    [(PROP_SIZES, *item) for item in PROP.items()] + [(LTL_SIZES, *item) for item in LTL.items()],
)
def test_count_of_ablation_table(sizes, pattern, published):
    channels, ffn, layers, heads, rows = sizes
    with torch.device("meta"):
        model = make_model(
            stream_attention=pattern,
            encoder_embed_dim=channels,
            encoder_ffn_embed_dim=ffn,
            encoder_layers=layers,
            encoder_attention_heads=heads,
        )
    assert count(model) == published - rows * channels


def test_table_is_complete():
    assert len(PROP) == 19 and PROP.keys() == LTL.keys()


@pytest.mark.parametrize("arch, expected", [("prop", 2_905_344), ("ltl", 2_653_184)])
def test_count_of_architecture(arch, expected):
    assert count(from_command_line("--arch", f"symbol_invariant_transformer_{arch}")) == expected


def test_options_override_the_architecture():
    model = from_command_line(
        "--arch", "symbol_invariant_transformer_ltl", "--encoder-layers", "2", "--dropout", "0.3"
    )
    assert len(model.encoder.layers) == len(model.decoder.layers) == 2
    assert model.encoder.embed_tokens.weight.size(1) == 64
    assert model.decoder.cfg.options.dropout == 0.3


@pytest.mark.parametrize(
    "arch, sizes",
    [("_prop", {}), ("_ltl", dict(zip(NAMES, LTL_SIZES))), ("_copy", dict(zip(NAMES, COPY_SIZES)))],
)
def test_sizes_of_architectures(arch, sizes):
    options_set = Namespace()
    ARCH_CONFIG_REGISTRY[f"symbol_invariant_transformer{arch}"](options_set)
    assert {name: vars(options_set)[name] for name in NAMES if name in options_set} == sizes


def test_embedding_does_not_know_the_number_of_symbols():
    shapes = {
        make_model(make_dictionary(symbols)).encoder.embed_tokens.weight.shape
        for symbols in ("a", "abc", "abcdefghijklmnopqrstuvwxyz")
    }
    # Four special tokens, five operators, two constants; actual and placeholder.
    assert shapes == {(4 + 5 + 2 + 2, 24)}


@pytest.mark.parametrize(
    "share, names",
    [
        ("decoder", ["encoder.embed_tokens.weight", "decoder.embed_tokens.weight"]),
        (
            "none",
            [
                "encoder.embed_tokens.weight",
                "decoder.embed_tokens.weight",
                "decoder.output_projection.weight",
            ],
        ),
    ],
)
def test_separate_matrices(share, names):
    model = make_model(share_embeddings=share, decoder_embed_dim=30)
    sizes = {n: tuple(p.shape) for n, p in model.named_parameters() if n in names}
    assert sizes == {name: (13, 24 if name.startswith("encoder") else 30) for name in names}


def test_matrix_is_tied():
    model = make_model()
    assert model.encoder.embed_tokens is model.decoder.embed_tokens
    names = [name for name, _ in model.named_parameters() if "embed" in name]
    assert names == ["encoder.embed_tokens.weight"]
