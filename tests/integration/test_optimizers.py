"""``--optimizer muon`` and ``adamw`` in fairseq's commands."""

import pytest
import torch
from command_line import UNVALIDATED, train

MUON = ("--optimizer", "muon", "--weight-decay", 0.1)
# Dropout masks differ after a restart.
QUIET = (*UNVALIDATED, "--dropout", 0)


def load(path) -> dict:
    """Reads a checkpoint the strict way."""
    return torch.load(path, weights_only=True)


def same(first: dict, second: dict) -> bool:
    """Whether two states, of nested dicts and lists, are equal bit by bit."""
    if isinstance(first, torch.Tensor):
        return torch.equal(first, second)
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[k], second[k]) for k in first)
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(same, first, second))
    return first == second


@pytest.mark.parametrize(
    "options",
    [
        ("--optimizer", "adamw", "--weight-decay", 0.1),
        (*MUON, "--update-freq", 2, "--lr-scheduler", "cosine", "--warmup-updates", 4),
        (*MUON, "--store-ema", "--ema-decay", 0.9),
    ],
)
def test_resuming_is_bit_equal(prop, tmp_path, options):
    options = (*options, *QUIET, *("--lr-period-updates", 12) * ("cosine" in options))
    whole = load(train(prop.data, tmp_path / "whole", *options, "--max-update", 8))
    train(prop.data, tmp_path / "parts", *options, "--max-update", 3)
    parts = load(train(prop.data, tmp_path / "parts", *options, "--max-update", 8))
    assert parts["optimizer_history"][-1]["num_updates"] == 8
    for key in ("model", "last_optimizer_state"):
        assert same(whole[key], parts[key]), key
    if "--store-ema" in options:
        assert same(whole["extra_state"]["ema"], parts["extra_state"]["ema"])
        assert not same(whole["extra_state"]["ema"], whole["model"])


def test_matrices_have_momentum_and_the_rest_averages(prop, tmp_path):
    options = (*MUON, *QUIET, "--tree-depth", 40, "--max-update", 2)
    state = load(train(prop.data, tmp_path, *options))
    groups = state["last_optimizer_state"]["param_groups"]
    saved = state["last_optimizer_state"]["state"]
    kinds = [{kind for number in group["params"] for kind in saved[number]} for group in groups]
    averages = {"step", "exp_avg", "exp_avg_sq"}
    assert kinds == [{"momentum_buffer"}, averages, averages]
    assert [group["weight_decay"] for group in groups] == [0.1, 0.1, 0.0]
    # No matrices for Muon are the tied one, of 13 rows, and that of the steps of trees, large
    # as it is.
    tables = {name for name in state["model"] if "embed" in name and name.endswith("weight")}
    assert len(groups[1]["params"]) == 2 and tables == {
        "encoder.embed_tokens.weight",
        "decoder.embed_tokens.weight",
        "encoder.embed_positions.projection.weight",
    }


def test_a_trained_model_is_finetuned_with_another_optimizer(prop, tmp_path):
    tuned = ("--finetune-from-model", prop.trained)
    restored = ("--restore-file", prop.trained, "--reset-optimizer", "--reset-lr-scheduler")
    restored += ("--reset-meters", "--reset-dataloader")
    before = load(prop.trained)
    weight = "decoder.layers.0.fc1.weight"
    for number, options in enumerate((tuned, restored)):
        directory = tmp_path / str(number)
        after = load(train(prop.data, directory, *MUON, *QUIET, *options, "--max-update", 1))
        assert after["optimizer_history"][-1]["optimizer_name"] == "FairseqMuon"
        # One update of Muon changes a weight by about 0.2 of the learning rate.
        change = (after["model"][weight] - before["model"][weight]).square().mean().sqrt()
        assert 0 < change < 0.003
