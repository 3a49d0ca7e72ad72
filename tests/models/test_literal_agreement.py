"""The package computes what the paper's algorithms say, values and gradients."""

import itertools
from pathlib import Path

import literal
import pytest
import torch
import torch.nn.functional as F
from conftest import TARGETS, make_dictionary, make_model, make_sample
from literal import PATTERNS
from omegaconf import OmegaConf
from searches import build

from sit_fairseq.domains.formulas.syntax import ARITY

VARIANTS = list(itertools.product(("tree", "rope"), (False, True), ("cosine", "linear")))
# Every variant for one pattern, every pattern in one variant or another.
CASES = [("EP-DP-EA-DA-CP", *variant) for variant in VARIANTS] + [
    (pattern, *variant)
    for pattern, variant in zip([*PATTERNS, "EP-DP-EA-DA-CA-CP"], itertools.cycle(VARIANTS))
]
# What fairseq's transformer offers, as models converted from it have it.
ABSOLUTE = [
    {"encoder_positions": "none", "decoder_positions": "none", "share_embeddings": "decoder"},
    {"encoder_positions": "sinusoidal", "decoder_positions": "learned", "output_head": "linear"},
    {
        "encoder_positions": "learned",
        "decoder_positions": "sinusoidal",
        "share_embeddings": "none",
        "decoder_embed_dim": 30,
        "layernorm_embedding": True,
        "no_scale_embedding": True,
        "output_head": "linear",
    },
    {
        "encoder_positions": "sinusoidal",
        "decoder_positions": "rope",
        "share_embeddings": "none",
        "encoder_normalize_before": True,
        "decoder_normalize_before": True,
        "no_encoder_final_norm": True,
    },
    {
        "encoder_positions": "rope",
        "decoder_positions": "sinusoidal",
        "encoder_normalize_before": True,
        "decoder_normalize_before": True,
        "no_decoder_final_norm": True,
        "layernorm_embedding": True,
    },
    {"aggregated_normalize_before": True, "decoder_positions": "learned"},
    {
        "layer_norm_eps": 0.1,
        "encoder_normalize_before": True,
        "decoder_normalize_before": True,
        "layernorm_embedding": True,
    },
]


# Of the sources' own 0, 1, 2 and 4 symbols, and fresh ones: as many as there are slots, none, and
# some that come first, last, again, and between symbols of the source.
RESERVED = 3
FRESH_TARGETS = ["e 1 b e 0 a", "a 1", "h g 0 d a g", "a f 1 c f e b"]


def package_logits(model, sample):
    """Logits without the scale that AdaCos adds to the paper's cosines."""
    logits = model(**sample["net_input"])[0]
    scale = model.decoder.output_scale
    return logits if scale is None else logits / scale.scale.double()


def literal_logits(model, sample, **options):
    """The oracle's logits, a (T, V_n + k) tensor per sentence; reserved streams are written out
    one by one."""
    vocabulary, dictionary = model.vocabulary, model.vocabulary.dictionary
    pad, numbers = dictionary.pad(), [] if vocabulary.fresh is None else vocabulary.fresh.numbers
    reserved = [sort for sort, number in enumerate(numbers) for _ in range(number)]
    weights = model.state_dict(keep_vars=True)
    if model.decoder.output_projection is None:
        weights["decoder.output_projection.weight"] = weights["decoder.embed_tokens.weight"]
    positions = {}
    for side in ("encoder", "decoder"):
        table = getattr(model, side).embed_positions
        positions[side] = options.get(f"{side}_positions", "tree" if side == "encoder" else "rope")
        if positions[side] == "sinusoidal":
            # Beneath two rows that no position has.
            weights[f"{side}.embed_positions.weight"] = F.pad(table.table, (0, 0, 2, 0))
        if positions[side] in ("sinusoidal", "learned"):
            positions[side] = "table"
    config = literal.LiteralConfig(
        pattern=options.get("stream_attention", "EP-DP-EA-DA-CP"),
        layers=len(model.encoder.layers),
        heads=3,
        eps=options.get("layer_norm_eps", 1e-5),
        normalize_before=options.get("encoder_normalize_before", False),
        cosine_head=options.get("output_head", "cosine") == "cosine",
        scale_embedding=not options.get("no_scale_embedding", False),
        encoder_positions=positions["encoder"],
        decoder_positions=positions["decoder"],
        aggregated_normalize_before=options.get("aggregated_normalize_before", False),
        num_sorts=vocabulary.num_sorts,
    )
    source = sample["net_input"]["src_tokens"]
    canonical, all_slots = model.read(source)
    names = all_slots.names
    previous = all_slots.encode(sample["net_input"]["prev_output_tokens"])
    arities = [ARITY.get(token, 0) for token in vocabulary.row_tokens] + [0] * names.size(1)
    logits = []
    for x, y, slots in zip(canonical.tolist(), previous.tolist(), names):
        x, y = ([token for token in tokens if token != pad] for tokens in (x, y))
        formula = [arities[token] for token in x[:-1]]
        sorts = [dictionary.sort(dictionary[index]) for index in slots.tolist() if index != pad]
        first = vocabulary.num_base + len(sorts)
        sorts = sorts + reserved
        found = literal.forward(weights, config, x, y, len(sorts), formula, sorts)
        logits.append(literal.close_reserved(found, y, first, reserved))
    return logits


def assert_agreement(options, targets=TARGETS, pattern="[a-z]"):
    """Compares values, and the gradients of a random function of them."""
    dictionary = make_dictionary(pattern=pattern)
    model, sample = build(dictionary, **options), make_sample(dictionary, targets=targets)
    found = package_logits(model, sample)
    expected = literal_logits(model, sample, **options)
    total_found = total_expected = 0.0
    for logits, truth in zip(found, expected):
        length, width = truth.shape
        torch.testing.assert_close(logits[:length, :width], truth, rtol=1e-10, atol=1e-10)
        assert bool((logits[:, width:] == -float("inf")).all())
        exists = truth.isfinite()
        weight = torch.randn_like(truth)[exists]
        total_found = total_found + (weight * logits[:length, :width][exists]).sum()
        total_expected = total_expected + (weight * truth[exists]).sum()
    names, parameters = zip(*model.named_parameters())
    gradients = torch.autograd.grad(total_found, parameters)
    truths = torch.autograd.grad(total_expected, parameters)
    for name, gradient, truth in zip(names, gradients, truths):
        torch.testing.assert_close(
            gradient, truth, rtol=1e-10, atol=1e-10, msg=lambda text: f"{name}: {text}"
        )
        assert truth.abs().max() > 1e-6, f"{name} does not take part"


def test_patterns_are_those_of_the_ablation():
    paper = OmegaConf.load(Path(__file__).parents[2] / "examples/paper/logic.yaml")
    models = paper.tables.ablation.models
    assert sorted(PATTERNS) == sorted(models) and len(models) == 19
    for pattern, overrides in models.items():
        assert overrides == f"model.stream_attention={pattern}"


def test_batch_covers_the_numbers_of_symbols():
    dictionary = make_dictionary()
    slots = make_model(dictionary).read(make_sample(dictionary)["net_input"]["src_tokens"])[1]
    assert slots.num_slots.tolist() == [0, 1, 2, 4]


SORTS = "odd=[aceg]\neven=[bdfh]"
# What there is beside the source's own symbols: number of fresh symbols, targets, pattern of symbols.
KINDS = {
    "own": (0, TARGETS, "[a-z]"),
    "fresh": (RESERVED, FRESH_TARGETS, "[a-z]"),
    "sorts": (0, TARGETS, SORTS),
    "fresh of both sorts": (
        "odd=1,even=2",
        ["e 1 b e 0 f", "a 1", "h g 0 d f g", "a f 1 c d f b"],
        SORTS,
    ),
    "fresh of one sort": ("even=3", ["d 1 b d 0 f", "a 1", "h f 0 d f b", "a f 1 c d f b"], SORTS),
}


@pytest.mark.parametrize(
    "case, kind",
    [(case, kind) for kind in KINDS for case in (CASES[::2] if SORTS in KINDS[kind] else CASES)],
    ids=lambda part: part if isinstance(part, str) else "-".join(map(str, part)),
)
def test_values_and_gradients_agree(case, kind):
    """The oracle has a stream for each reserved slot: it does not know that they are equal until
    they are taken."""
    pattern, positions, pre_norm, head = case
    fresh, targets, symbols = KINDS[kind]
    options = {
        "fresh_symbols": fresh,
        "stream_attention": pattern,
        "encoder_positions": positions,
        "encoder_normalize_before": pre_norm,
        "decoder_normalize_before": pre_norm,
        "output_head": head,
    }
    assert_agreement(options, targets=targets, pattern=symbols)


def test_reserved_slots_count_in_every_mean():
    """One representative that counts once is not what the oracle computes."""
    dictionary = make_dictionary()
    model = build(dictionary, fresh_symbols=RESERVED)
    sample = make_sample(dictionary, targets=FRESH_TARGETS)
    fewer = build(dictionary, fresh_symbols=RESERVED - 1)
    fewer.load_state_dict(model.state_dict())
    known = [2, *range(4, model.vocabulary.num_base)]
    found, other = (package_logits(m, sample)[:, 0, known] for m in (model, fewer))
    difference = (found - other).abs().amax(1)
    # Without symbols all streams are equal, whatever they count.
    assert difference[0] < 1e-12 and difference[1:].min() > 1e-6


@pytest.mark.parametrize("options", ABSOLUTE, ids=lambda options: "-".join(map(str, options)))
def test_options_of_vanilla_transformers_agree(options):
    assert_agreement(options)


def test_order_of_cross_attentions_matters():
    dictionary = make_dictionary()
    first = build(dictionary, stream_attention="EP-DP-EA-DA-CP-CA")
    second = build(dictionary, stream_attention="EP-DP-EA-DA-CA-CP")
    second.load_state_dict(first.state_dict())
    sample = make_sample(dictionary)
    base = [2, *range(4, first.vocabulary.num_base)]
    found = [package_logits(model, sample)[:, 0, base] for model in (first, second)]
    difference = (found[0] - found[1]).abs().amax(1)
    # With at most one symbol the aggregated view is the only stream.
    assert difference[:2].max() < 1e-12 and difference[2:].min() > 1e-3
