"""What has no counterpart over streams is refused by name, before anything is written."""

import pytest
import torch
from vanilla_models import edited, failing

from sit_fairseq.models.fairseq_adapter import SymbolInvariantTransformerModel

OPTIONS = [
    ("adaptive_softmax_cutoff", "100,200"),
    ("quant_noise_pq", 0.1),
    ("cross_self_attention", True),
    ("encoder_layers_to_keep", "0"),
    ("scale_attn", True),
    ("activation_fn", "swish"),
]


def with_option(name, value):
    return lambda state: setattr(state["cfg"]["model"], name, value)


def test_a_vanilla_model_is_not_loaded_as_one_with_symbols(vanilla, data):
    path, load = vanilla("shared"), SymbolInvariantTransformerModel.from_pretrained
    failing(lambda: load(str(path.parent), path.name, str(data.joined)), "knows no symbols")


# In the words in which each kind of mistake is told.
REFUSED = [
    *(
        (name, value, f"{name} = {value}", "cannot be converted", "train")
        for name, value in OPTIONS
    ),
    ("dropout", "much", "dropout", "much"),
    ("encoder_ffn_embed_dim", float("nan"), "encoder_ffn_embed_dim", "nan"),
    # They contradict the weights.
    ("decoder_attention_heads", 0, "do not fit its options", "by zero"),
    ("encoder_layers", 1, "do not fit its options", "encoder.layers.1"),
    ("encoder_attention_heads", 3, "do not fit its options", "divisible by num_heads"),
    ("layernorm_embedding", True, "do not fit its options", "layernorm_embedding"),
    # They ask for more than there is.
    ("encoder_layers", 32, "is damaged", "say encoder_layers 32, its weights"),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: f"{case[0]}={case[1]}")
def test_options_without_counterpart_or_against_the_weights(vanilla, convert, tmp_path, case):
    name, value, *fragments = case
    path = edited(vanilla("shared"), tmp_path / "in.pt", with_option(name, value))
    failing(lambda: convert(path), "in.pt", *fragments)
    assert not (tmp_path / "stream.pt").exists()


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
    assert "compared on 20 sentences" in convert(path, "--verify")[1]


def test_no_moving_average(vanilla, convert):
    failing(lambda: convert(vanilla("plain"), "--ema"), "leave out --ema")


@pytest.mark.parametrize(
    "options, fragments",
    [
        (("--actual", "z"), ("'z' is no symbol", "matches a b c d e; change --actual")),
        (("--placeholder", "a"), ("both are 'a'", "change --actual or --placeholder")),
        (("--symbols", "one=[a-c]", "two=[de]"), ("a is not one=TOKEN two=TOKEN", "--actual")),
        (("--actual", "a", "--actual", "c"), ("--actual",)),
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
