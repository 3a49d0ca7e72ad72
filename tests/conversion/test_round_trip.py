"""Converted checkpoints go through fairseq's commands."""

import shlex

import fairseq_cli.generate
import fairseq_cli.train
import torch
from command_line import IN_PROCESS, PLUG_IN, UNVALIDATED, generate, interactive, printed, run
from vanilla_models import load

TUNING = [
    *("--criterion", "cross_entropy", "--optimizer", "adam", "--lr", 0.001, "--batch-size", 8),
    *("--no-epoch-checkpoints", *UNVALIDATED, *IN_PROCESS),
]


def tune(data, save_dir, said, *options):
    """Trains with the options that the verb prints for fairseq-train."""
    options = (*shlex.split(said.split("fairseq-train builds this model with\n")[1]), *options)
    run(fairseq_cli.train, data, "--save-dir", save_dir, *PLUG_IN[:2], *TUNING, *options)
    return load(save_dir / "checkpoint_last.pt")


def test_training_goes_on(vanilla, convert, data, tmp_path, capsys):
    out, said = convert(vanilla("separate-everything"), "--add", "EA,DA")
    directory, restored = data.joined, ("--restore-file", out, "--max-update")
    unchanged = tune(directory, tmp_path / "same", said, *restored, 1, "--lr", 0)
    before = load(out)["model"]
    for name, value in unchanged["model"].items():
        assert torch.equal(value, before[name]), name
    tuned = tune(directory, tmp_path / "tuned", said, *restored, 3)
    assert tuned["optimizer_history"][-1]["num_updates"] == 3
    for name in ("encoder.layers.1.fc2.weight", "decoder.layers.0.encoder_attn.0.kv_proj.weight"):
        assert not torch.equal(tuned["model"][name], before[name])
    # Resuming finds an optimizer of the right kind.
    resumed = tune(directory, tmp_path / "tuned", said, "--max-update", 5)
    assert resumed["optimizer_history"][-1]["num_updates"] == 5
    capsys.readouterr()
    generate(directory, tmp_path / "tuned" / "checkpoint_last.pt", "--beam", 2, "--max-len-b", 8)
    assert len(printed(capsys.readouterr().out)) == 20


def test_fairseq_generate_answers_alike(vanilla, convert, data, capsys):
    """A model that learned to answer in base tokens and symbols of the source."""
    common = ("--beam", 1, "--max-len-b", 6, "--required-batch-size-multiple", 1)
    # The fast path that fairseq 0.12.2 takes without it fails with a torch this new.
    slow = ("--model-overrides", "{'checkpoint_activations': True}")
    stock = ("--task", "translation", "--path", vanilla("trained"), *slow)
    capsys.readouterr()
    run(fairseq_cli.generate, data.joined, *stock, *IN_PROCESS, *common)
    expected = printed(capsys.readouterr().out)
    out, _ = convert(vanilla("trained"))
    generate(data.joined, out, *common)
    found = printed(capsys.readouterr().out)
    assert len(expected) == 20 and len({len(one.answers[0]) for one in expected}) > 2
    for ours, theirs in zip(found, expected, strict=True):
        assert (ours.source, ours.answers) == (theirs.source, theirs.answers)


def test_symbols_that_the_original_never_saw(vanilla, convert, data, tmp_path, capsys):
    out, _ = convert(vanilla("tied-learned"))
    capsys.readouterr()
    options = ("--symbols", r"[a-e]|p\d+", "--max-len-b", 5)
    interactive(data.joined, out, ["& c ! p77", "p5 xor p5", "& d ! a"], tmp_path, *options)
    first, _, third = printed(capsys.readouterr().out)
    assert first.source == "& c ! p77"
    # Names do not matter: the third line is the first one, renamed.
    renamed = first.answers[0].replace("c", "d").replace("p77", "a")
    assert third.answers == [renamed] and third.scores == first.scores
