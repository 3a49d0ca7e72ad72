"""What has no counterpart over streams is refused by name, before anything is written."""

import pytest
import torch
from vanilla_models import edited, failing

from sit_fairseq.models.symbol_invariant_transformer import SymbolInvariantTransformerModel

OPTIONS = [
    ("adaptive_softmax_cutoff", "100,200"),
    ("tie_adaptive_weights", True),
    ("tie_adaptive_proj", True),
    ("adaptive_input", True),
    ("quant_noise_pq", 0.1),
    ("quant_noise_scalar", 0.1),
    ("decoder_output_dim", 8),
    ("decoder_input_dim", 8),
    ("cross_self_attention", True),
    ("no_cross_attention", True),
    ("base_layers", 1),
    ("char_inputs", True),
    ("encoder_layers_to_keep", "0"),
    ("decoder_layers_to_keep", "0"),
    ("scale_attn", True),
    ("scale_heads", True),
    ("scale_fc", True),
    ("scale_resids", True),
    ("mha_heads_to_keep", 1),
    ("ffn_blocks_to_remove", 2),
    ("activation_fn", "swish"),
]


def with_option(name, value):
    return lambda state: setattr(state["cfg"]["model"], name, value)


def test_a_vanilla_model_is_not_loaded_as_one_with_symbols(vanilla, data):
    path, load = vanilla("shared"), SymbolInvariantTransformerModel.from_pretrained
    failing(lambda: load(str(path.parent), path.name, str(data.joined)), path.name, "another task")


@pytest.mark.parametrize("name, value", OPTIONS)
def test_options_without_counterpart(vanilla, convert, tmp_path, name, value):
    path = edited(vanilla("shared"), tmp_path / "in.pt", with_option(name, value))
    failing(lambda: convert(path), "in.pt", f"{name} = {value}", "cannot be converted", "train")
    assert not (tmp_path / "stream.pt").exists()


@pytest.mark.parametrize(
    "name, value",
    [
        ("encoder_embed_dim", "16"),
        ("dropout", "much"),
        ("encoder_ffn_embed_dim", float("nan")),
    ],
)
def test_options_that_are_no_numbers(vanilla, convert, tmp_path, name, value):
    path = edited(vanilla("shared"), tmp_path / "in.pt", with_option(name, value))
    failing(lambda: convert(path), "in.pt", name, str(value))


@pytest.mark.parametrize(
    "name, value, fragment",
    [
        ("encoder_layers", True, "encoder.layers.1"),
        ("decoder_attention_heads", 0, "by zero"),
        ("max_source_positions", -1, "out of bounds"),
        ("encoder_layers", 1, "encoder.layers.1"),
        ("encoder_attention_heads", 3, "divisible by num_heads"),
        ("layernorm_embedding", True, "layernorm_embedding"),
        ("encoder_learned_pos", True, "embed_positions"),
    ],
)
def test_options_that_contradict_the_weights(vanilla, convert, tmp_path, name, value, fragment):
    path = edited(vanilla("shared"), tmp_path / "in.pt", with_option(name, value))
    failing(lambda: convert(path), "in.pt do not fit its options", fragment)


@pytest.mark.parametrize(
    "name, value",
    [("encoder_layers", 32), ("encoder_ffn_embed_dim", 10**6), ("decoder_embed_dim", 32)],
)
def test_options_that_ask_for_more_than_there_is(vanilla, convert, tmp_path, name, value):
    path = edited(vanilla("shared"), tmp_path / "in.pt", with_option(name, value))
    failing(lambda: convert(path), "in.pt is damaged", f"say {name} {value}, its weights")


@pytest.mark.parametrize(
    "name", ["encoder.layers.0.self_attn.bias_k", "encoder._fsdp_wrapped_module.flat_param_0"]
)
def test_tensors_that_no_vanilla_model_has(vanilla, convert, tmp_path, name):
    def add(state):
        state["model"][name] = torch.zeros(3)

    failing(lambda: convert(edited(vanilla("shared"), tmp_path / "in.pt", add)), "in.pt", name)


def test_merged_dictionaries(vanilla, convert, data, tmp_path):
    change = with_option("merge_src_tgt_embed", True)
    path = edited(vanilla("separate-dictionaries"), tmp_path / "in.pt", change)
    failing(lambda: convert(path), "merge_src_tgt_embed", "joined dictionary")

    def joined(state):
        change(state)
        state["cfg"]["model"].share_all_embeddings = False

    path = edited(vanilla("shared"), tmp_path / "joined.pt", joined)
    assert "20 of 20" in convert(path, "--verify")[1]


def test_no_moving_average(vanilla, convert):
    failing(lambda: convert(vanilla("plain"), "--ema"), "without a moving average", "change --ema")


@pytest.mark.parametrize(
    "options, fragments",
    [
        (("--actual", "z"), ("'z' is no symbol", "matches a b c d e; change --actual")),
        (("--actual", "&"), ("'&' is no symbol",)),
        (("--placeholder", "a"), ("both are 'a'", "change --actual or --placeholder")),
        (("--symbols", "one=[a-c]", "two=[de]"), ("a is not one=TOKEN two=TOKEN", "--actual")),
        (("--symbols", "[a-"), ("not a regular expression",)),
        (("--symbols", "[A-Z]"), ("matches nothing",)),
        (("--symbols", ".*"), ("special token '<s>'",)),
    ],
)
def test_unsuitable_options(vanilla, convert, options, fragments):
    failing(lambda: convert(vanilla("shared"), *options), *fragments)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_no_gpu(vanilla, convert):
    failing(lambda: convert(vanilla("shared"), "--device", "cuda"), "finds no GPU")


def test_attentions_that_cannot_be_added(vanilla, convert, capsys):
    with pytest.raises(SystemExit) as error:
        convert(vanilla("shared"), "--add", "EA,CA")
    assert error.value.code == 2 and "'EA,CA' is none of EA, DA" in capsys.readouterr().err
