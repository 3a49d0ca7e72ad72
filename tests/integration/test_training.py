"""fairseq-train, fairseq-validate and resuming, with the plug-in."""

import re

import fairseq_cli.validate
import pytest
import torch
from command_line import (
    IN_PROCESS,
    PLUG_IN,
    UNVALIDATED,
    generate,
    interactive,
    preprocess,
    run,
    sit,
    train,
)
from fairseq import checkpoint_utils

from sit_fairseq.symbols.saved_tokens import buffer_text, saved_vocabulary
from sit_fairseq.tasks.options import StreamTranslationConfig
from sit_fairseq.tasks.stream_translation import StreamTranslationTask


def load(path) -> dict:
    """Reads a checkpoint the strict way."""
    return torch.load(path, weights_only=True)


def test_validation_judges_answers_and_picks_the_best_checkpoint(prop, tmp_path, caplog):
    with caplog.at_level("INFO"):
        train(
            prop.data,
            tmp_path,
            *("--max-update", 20, "--validate-interval-updates", 10),
            *("--validate-semantics", "prop", "--validate-samples", 50),
            *("--best-checkpoint-metric", "correct", "--maximize-best-checkpoint-metric"),
            *("--tensorboard-logdir", tmp_path / "tensorboard"),
        )
    lines = [r.getMessage() for r in caplog.records if "on 'valid' subset" in r.getMessage()]
    assert len(lines) == 2
    shares = {
        name: float(value)
        for name, value in re.findall(r"(\w+) ([\d.]+) ", lines[-1])
        if name
        in (
            "correct",
            "violated",
            "vacuous",
            "invalid",
            "timeout",
            "error",
            "unavailable",
        )
    }
    assert sum(shares.values()) == pytest.approx(100, abs=0.05)
    # Of exactly 50 judged sentences every share is a multiple of 2 %.
    assert all(value % 2 == 0 for value in shares.values())
    best = load(tmp_path / "checkpoint_best.pt")["extra_state"]["best"]
    assert best == max(float(re.search(r"correct ([\d.]+)", line).group(1)) for line in lines)
    assert list((tmp_path / "tensorboard" / "valid").iterdir())


@pytest.mark.parametrize("name", ["tiny", "prop", "ltl", "copy"])
def test_every_architecture_trains(prop, tmp_path, name):
    path = train(
        prop.data,
        tmp_path,
        *("--arch", f"symbol_invariant_transformer_{name}", "--max-update", 1),
        *("--batch-size", 4, *UNVALIDATED),
    )
    state = load(path)
    embedding = state["model"]["encoder.embed_tokens.weight"]
    width = {"tiny": 64, "prop": 96, "ltl": 64, "copy": 128}[name]
    # 4 special tokens, 5 operators, 2 constants; actual and placeholder.
    assert embedding.shape == (13, width)
    assert state["cfg"]["model"]["layer_norm_eps"] == (1e-5 if name == "tiny" else 1e-6)


@pytest.mark.parametrize("name", ["", "_tiny", "_prop"])
@pytest.mark.parametrize("eps", [None, 1e-6, 1e-3])
def test_checkpoint_decides_on_its_layer_norms(prop, tmp_path, name, eps):
    """Those older than the option have the value that was then the only one."""
    state = load(prop.trained)
    options = state["cfg"]["model"]
    options["_name"] = "symbol_invariant_transformer" + name
    del options["layer_norm_eps"]
    options.update({} if eps is None else {"layer_norm_eps": eps})
    torch.save(state, tmp_path / "model.pt")
    models, _, _ = checkpoint_utils.load_model_ensemble_and_task([str(tmp_path / "model.pt")])
    norms = [module for module in models[0].modules() if isinstance(module, torch.nn.LayerNorm)]
    assert {norm.eps for norm in norms} == {1e-5 if eps is None else eps}
    assert len(norms) == 14


@pytest.mark.parametrize("criterion", ["cross_entropy", "label_smoothed_cross_entropy"])
@pytest.mark.parametrize("head", ["cosine", "linear"])
def test_stock_criterions_train(prop, tmp_path, criterion, head):
    smoothing = ("--label-smoothing", 0.1) if criterion.startswith("label") else ()
    options = ("--criterion", criterion, "--output-head", head, *smoothing)
    path = train(prop.data, tmp_path, *options, "--max-update", 3)
    loss = load(path)["extra_state"]["val_loss"]
    assert 0 < loss < 10


def test_resuming_continues_as_if_never_interrupted(prop, tmp_path):
    options = (*UNVALIDATED, "--dropout", 0.1)
    whole = load(train(prop.data, tmp_path / "whole", "--max-update", 12, *options))
    train(prop.data, tmp_path / "parts", "--max-update", 5, *options)
    parts = load(train(prop.data, tmp_path / "parts", "--max-update", 12, *options))
    assert parts["optimizer_history"][-1]["num_updates"] == 12
    scale = "decoder.output_scale.scale"
    assert whole["model"][scale] != load(prop.random)["model"][scale]
    for name, value in whole["model"].items():
        assert torch.equal(parts["model"][name], value), name


def test_finetuning_on_more_symbols_in_another_order_adds_no_weights(prop, tmp_path):
    names = "z,y,x,w,v,u,t,s,r,q,p,o"
    options = ("--symbols", names, "--max-length", 9, "--workers", 1, "--size", 200)
    sit("generate", "prop", tmp_path / "train", *options)
    files = ("--trainpref", tmp_path / "train", "--validpref", tmp_path / "train")
    data = preprocess(tmp_path / "bin", *files)
    before = load(prop.trained)["model"]
    options = ("--finetune-from-model", prop.trained, "--lr", 0, "--max-update", 1)
    after = load(train(data, tmp_path / "tuned", *options))["model"]
    assert before.keys() == after.keys()
    for name, value in before.items():
        if "output_scale" not in name:
            assert torch.equal(after[name], value), name


def test_no_sentence_is_left_out_of_training_and_validation(prop):
    cfg = StreamTranslationConfig(
        data=str(prop.data),
        symbols="[a-z]",
        # What a command would take from its other options.
        train_subset="train",
        dataset_impl="mmap",
        required_seq_len_multiple=1,
    )
    task = StreamTranslationTask.setup_task(cfg)
    for split, count in (("train", 2000), ("valid", 70)):
        task.load_dataset(split)
        batches = task.get_batch_iterator(
            task.dataset(split), max_sentences=64, required_batch_size_multiple=8
        ).next_epoch_itr(shuffle=split == "train")
        seen = torch.cat([batch["id"] for batch in batches])
        assert sorted(seen.tolist()) == list(range(count))


def test_validate_command_needs_no_task_options(prop, capsys, caplog):
    with caplog.at_level("INFO"):
        run(
            fairseq_cli.validate,
            prop.data,
            *("--path", prop.trained, "--valid-subset", "valid", "--batch-size", 64),
            *(*PLUG_IN, *IN_PROCESS),
        )
    logged = load(prop.trained)["extra_state"]["val_loss"]
    printed = " ".join(record.getMessage() for record in caplog.records)
    loss = float(re.findall(r"loss ([\d.]+)", printed)[-1])
    assert loss == pytest.approx(logged, abs=2e-3)


def test_checkpoint_names_base_tokens_and_pattern(prop):
    model = load(prop.trained)["model"]
    assert saved_vocabulary(model) == (["!", "&", "0", "1", "<->", "xor", "|"], "[a-z]")


@pytest.mark.parametrize(
    "model", [(), ("--symbol-embedding", "canonical", "--stream-attention", "EP-DP-CP")]
)
def test_moving_average_of_the_weights(prop, tmp_path, model):
    options = ("--store-ema", "--ema-decay", 0.9, "--max-update", 5, *UNVALIDATED)
    state = load(train(prop.data, tmp_path, *model, *options))
    average = state["extra_state"]["ema"]
    weight = "decoder.layers.0.fc1.weight"
    assert not torch.equal(average[weight], state["model"][weight])
    prefix = "encoder.embed_tokens.vocabulary."
    for name, value in state["model"].items():
        if name.startswith(prefix):
            assert buffer_text(average[name]) == buffer_text(value)
    assert saved_vocabulary(average)[1] == "[a-z]"


def test_averaged_checkpoints_keep_their_vocabulary(prop, tmp_path, capsys):
    """As scripts that average do it; integers among the weights they sum in place and cut off."""
    state = load(prop.trained)
    copies = [load(prop.random)["model"], state["model"], state["model"]]
    average = {name: sum(copy[name].float() for copy in copies) / 3 for name in copies[0]}
    assert all(value.is_floating_point() for value in state["model"].values())
    path = tmp_path / "average.pt"
    torch.save({**state, "model": average}, path)
    generate(prop.data, path, "--max-len-b", 8)
    assert capsys.readouterr().out.count("\nH-") == 400


def test_training_and_generation_say_what_was_understood(prop, tmp_path, caplog):
    """Once each."""
    expected = "dictionary: 5 symbols (a, b, c, ...) and 7 base tokens (!, &, 0, ...)"
    narrow = "dictionary: 1 symbol (b) and 11 base tokens (!, &, 0, ...)"
    once = ("--max-update", 1, *UNVALIDATED, "--validate-semantics", "prop")

    def said(command) -> list:
        caplog.clear()
        with caplog.at_level("INFO"):
            command()
        said = [record.getMessage() for record in caplog.records]
        return [line for line in said if line.startswith("dictionary: ")]

    assert said(lambda: train(prop.data, tmp_path / "a", *once)) == [expected]
    assert said(lambda: train(prop.data, tmp_path / "b", *once, symbols="b")) == [narrow]
    # The pattern comes with the model.
    assert said(lambda: generate(prop.data, prop.trained, "--max-len-b", 3)) == [expected]
    typed = lambda: interactive(prop.data, prop.trained, ["& b b", "! q"], tmp_path)  # noqa: E731
    assert said(typed) == [expected]
