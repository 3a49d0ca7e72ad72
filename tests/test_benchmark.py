"""The benchmark: its yardstick computes what the paper's algorithms say, and it measures."""

import json
import logging
import sys
from types import SimpleNamespace

import literal
import pytest
import torch
import torch.nn.functional as F
from command_line import load_script
from conftest import make_dictionary, make_model, make_sample, redraw

from sit_fairseq.domains.formulas.syntax import ARITY

BENCHMARK = load_script("scripts/benchmark/run.py")
MEASURING = sys.modules["measuring"]
LiteralModel = sys.modules["literal_model"].LiteralModel
CPU = torch.device("cpu")
MIB = 2**20


def build(pattern: str, positions: str = "tree"):
    """The yardstick, and a sample for it."""
    dictionary = make_dictionary()
    options = SimpleNamespace(
        encoder_embed_dim=24,
        encoder_ffn_embed_dim=40,
        encoder_layers=2,
        encoder_attention_heads=3,
        encoder_positions=positions,
        tree_depth=0,
        stream_attention=pattern,
        dropout=0.0,
        layer_norm_eps=0.1,
    )
    model = LiteralModel(options, dictionary).double().eval()
    redraw(model)
    return model, make_sample(dictionary)


@pytest.mark.parametrize(
    "pattern, positions",
    [("EP-DP-EA-DA-CP", "tree"), ("EA-DA-CP-CA", "tree"), ("EP-DP-DA-CA", "rope")],
)
def test_logits_are_those_of_the_algorithms(pattern, positions):
    model, sample = build(pattern, positions)
    config = literal.LiteralConfig(
        pattern=pattern, layers=2, heads=3, eps=0.1, encoder_positions=positions
    )
    embedding, dictionary = model.encoder.embed_tokens, model.encoder.dictionary
    weights = model.state_dict()
    weights["decoder.output_projection.weight"] = embedding.weight
    base, symbols = embedding.vocabulary.num_base, embedding.symbols
    columns = torch.cat((embedding.vocabulary.index_of_row, symbols))
    number_of = {index: number for number, index in enumerate(columns.tolist())}
    found = model(**sample["net_input"])[0] / model.decoder.scale
    inputs = sample["net_input"]
    for row, previous, logits in zip(inputs["src_tokens"], inputs["prev_output_tokens"], found):
        x, y = (
            [number_of[token] for token in tokens.tolist() if token != dictionary.pad()]
            for tokens in (row, previous)
        )
        arities = [ARITY.get(token, 0) for token in embedding.vocabulary.row_tokens]
        arities += [0] * symbols.numel()
        formula = [arities[token] for token in x[:-1]] if positions == "tree" else None
        truth = literal.forward(weights, config, x, y, symbols.numel(), formula)
        assert truth.shape[1] == base + symbols.numel()
        torch.testing.assert_close(logits[: len(y)][:, columns], truth, rtol=1e-9, atol=1e-9)


def test_parameters_are_those_of_the_package():
    """So that both are measured with the same amount of work per stream."""
    ours = dict(make_model().named_parameters(remove_duplicate=False))
    theirs = dict(build("EP-DP-EA-DA-CP")[0].named_parameters(remove_duplicate=False))
    assert {k: v.shape for k, v in ours.items()} == {k: v.shape for k, v in theirs.items()}


def test_operations_of_products_and_of_fused_attention():
    args = SimpleNamespace(device="cpu", dtype="float32")
    assert MEASURING.operations(BENCHMARK.matrix_product(3, 5, 7, 11, args)) == 11 * 2 * 3 * 5 * 7
    queries, keys = torch.randn(2, 3, 40, 8), torch.randn(2, 3, 50, 8)
    found = MEASURING.operations(lambda: F.scaled_dot_product_attention(queries, keys, keys))
    assert found == 2 * (2 * 2 * 3 * 40 * 50 * 8)


def allocating(mebibytes: int):
    """Needs that much, after it has had twice as much and given it back."""
    torch.ones(2 * mebibytes * MIB, dtype=torch.uint8)
    return [lambda: torch.ones(mebibytes * MIB, dtype=torch.uint8)] * 2, CPU


@pytest.mark.slow
def test_peak_memory():
    assert MEASURING.peak_memory(allocating, 64) == pytest.approx([64 * MIB] * 2, rel=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("part", ["models", "places", "growth"])
def test_parts_report_what_they_measure(part, tmp_path, monkeypatch):
    """At a size at which figures mean nothing."""
    monkeypatch.setattr(BENCHMARK, "GROWTH", [1, 4])
    monkeypatch.setattr(BENCHMARK, "MOST_EVERYWHERE", 1)
    monkeypatch.setattr(BENCHMARK, "LENGTH", 9)
    monkeypatch.setattr(BENCHMARK, "peak_memory", lambda *arguments: 3 * [MIB])
    words, recipe, _ = BENCHMARK.DATA["prop, 5 symbols"]
    for sets in ("DATA", "PLACED"):
        monkeypatch.setattr(BENCHMARK, sets, {"prop, 5 symbols": (words, recipe, 4)})
    sizes = ["--batch-size", "3", "--repetitions", "1", "--threads", "1"]
    monkeypatch.setattr(sys, "argv", ["run.py", str(tmp_path), "--parts", part, *sizes])
    try:
        BENCHMARK.main()
    finally:
        logging.disable(logging.NOTSET)
    found = json.loads((tmp_path / "benchmark.json").read_text())
    report = (tmp_path / "benchmark.md").read_text()
    assert found["machine"]["torch"] == torch.__version__
    if part == "models":
        own = found["models"]["prop, 5 symbols"]
        assert {"training", "validation", "beam 3", "beam 25"} < own.keys()
        # Every symbol of the dictionary is a stream of the literal algorithms.
        assert own["operations"]["literal"] > own["operations"]["package"] > 0
        assert "| beam 25 " in report
    elif part == "places":
        own = found["places"]["prop, 5 symbols"]
        assert own["training"].keys() == {*BENCHMARK.PLACES, "stock"}
        every, *rows, stock = own["beam 3, operations"].values()
        assert every > max(rows) and min(rows) > stock > 0
    else:
        for job in ("encoder", "training", "beam 3", "memory"):
            assert found["growth"][job]["package"].keys() == {"1"}
            assert found["growth"][job]["own places"].keys() == {"1", "4"}
        assert "One formula of at least 9 tokens" in report
        assert (tmp_path / "growth.png").stat().st_size > 10_000
