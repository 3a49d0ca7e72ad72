"""fairseq-train and fairseq-validate, with the plug-in."""

import re
import shutil

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
from fairseq.file_io import PathManager
from fairseq.logging import progress_bar
from vanilla_models import load

from sit_fairseq.errors import UserError
from sit_fairseq.symbols.saved_tokens import saved_vocabulary


def test_validation_judges_answers_and_picks_the_best_checkpoint(
    prop, tmp_path, caplog, monkeypatch
):
    # fairseq keeps a process's writers, whatever folder they write to.
    monkeypatch.setattr(progress_bar, "_tensorboard_writers", {})
    with caplog.at_level("INFO"):
        train(
            prop.data,
            tmp_path,
            *("--max-update", 20, "--validate-interval-updates", 10),
            *("--validate-semantics", "prop", "--validate-samples", 50),
            *("--best-checkpoint-metric", "correct", "--maximize-best-checkpoint-metric"),
            *("--tensorboard-logdir", tmp_path / "tensorboard"),
        )
    lines = [message for message in caplog.messages if "on 'valid' subset" in message]
    assert len(lines) == 3  # one at the end of an epoch
    names = "correct|violated|vacuous|invalid|timeout|error|unavailable"
    shares = [float(share) for _, share in re.findall(rf"\b({names}) ([\d.]+) ", lines[-1])]
    assert sum(shares) == pytest.approx(100, abs=0.05)
    # Of exactly 50 judged sentences every share is a multiple of 2 %.
    assert all(share % 2 == 0 for share in shares)
    state = load(tmp_path / "checkpoint_best.pt")
    best = [float(re.search(r"correct ([\d.]+)", line).group(1)) for line in lines]
    assert state["extra_state"]["best"] == max(best)
    assert list((tmp_path / "tensorboard" / "valid").iterdir())
    base_tokens = ["!", "&", "0", "1", "<->", "xor", "|"]
    assert saved_vocabulary(state["model"]) == (base_tokens, "[a-z]")
    said = [message for message in caplog.messages if message.startswith("dictionary: ")]
    understood = "symbols '[a-z]': 5 (a, b, c, ...); base tokens: 7 (!, &, 0, ...)"
    assert said == [f"dictionary: {understood}"]


@pytest.mark.parametrize("name, eps", [("", None), ("_prop", 1e-3)])
def test_checkpoint_decides_on_its_layer_norms(prop, tmp_path, name, eps):
    """Those older than the option have the value that was then the only one."""
    state = load(prop.trained)
    state["cfg"]["model"]["_name"] = "symbol_invariant_transformer" + name
    del state["cfg"]["model"]["layer_norm_eps"]
    state["cfg"]["model"].update({} if eps is None else {"layer_norm_eps": eps})
    torch.save(state, tmp_path / "model.pt")
    models, _, _ = checkpoint_utils.load_model_ensemble_and_task([str(tmp_path / "model.pt")])
    norms = [module for module in models[0].modules() if isinstance(module, torch.nn.LayerNorm)]
    assert {norm.eps for norm in norms} == {eps or 1e-5} and len(norms) == 14


def test_a_stock_criterion_trains(prop, tmp_path):
    train(
        *(prop.data, tmp_path, "--max-update", 3, "--output-head", "linear"),
        *("--criterion", "label_smoothed_cross_entropy", "--label-smoothing", 0.1),
        *("--report-accuracy", "--best-checkpoint-metric", "accuracy", "--ignore-prefix-size", 1),
    )
    assert 0 < load(tmp_path / "checkpoint_best.pt")["extra_state"]["val_loss"] < 100


def test_finetuning_on_more_symbols_in_another_order_adds_no_weights(prop, tmp_path):
    names = "z,y,x,w,v,u,t,s,r,q,p,o"
    words = ("--symbols", names, "--max-length", 9, "--workers", 1, "--size", 50)
    sit("generate", "prop", tmp_path / "train", *words)
    data = preprocess(tmp_path / "bin", "--trainpref", tmp_path / "train")
    before = load(prop.trained)["model"]
    words = ("--finetune-from-model", prop.trained, "--lr", 0, "--max-update", 1, *UNVALIDATED)
    after = load(train(data, tmp_path / "tuned", *words))["model"]
    assert before.keys() == after.keys()
    for name, value in before.items():
        if "output_scale" not in name:
            assert torch.equal(after[name], value), name


def test_own_places_are_trained_continued_and_answered_with(prop, tmp_path, capsys):
    """A model with streams everywhere goes on with them at their places; both answer together."""
    words = ("--stream-places", "own", *UNVALIDATED, "--max-update", 1)
    risk = (
        "--criterion",
        "minimum_risk",
        "--risk-semantics",
        "prop",
        "--risk-beam",
        2,
        "--store-ema",
    )
    tuned = train(prop.data, tmp_path, "--finetune-from-model", prop.trained, *words, *risk)
    before, after = load(prop.trained), load(tuned)
    assert after["cfg"]["model"]["stream_places"] == "own"
    assert before["model"].keys() == after["model"].keys()
    both = f"{tuned}:{prop.trained}"
    search = ("--constrained", "prop", "--verify", "prop", "--verify-beams", "1,2")
    generate(prop.data, both, "--beam", 2, "--max-len-b", 8, *search)
    assert capsys.readouterr().out.count("\nH-") == 100
    interactive(prop.data, tuned, prop.lines[:3], tmp_path, "--autocast", "bfloat16")
    assert capsys.readouterr().out.count("\nH-") == 3


def test_averaged_checkpoints_keep_their_vocabulary(prop, tmp_path, capsys):
    """As scripts that average do it; integers among the weights they sum in place and cut off."""
    state = load(prop.trained)
    copies = [load(prop.random)["model"], state["model"], state["model"]]
    average = {name: sum(copy[name].float() for copy in copies) / 3 for name in copies[0]}
    assert all(value.is_floating_point() for value in state["model"].values())
    torch.save({**state, "model": average}, tmp_path / "average.pt")
    generate(prop.data, tmp_path / "average.pt", "--beam", 1, "--max-len-b", 4)
    assert capsys.readouterr().out.count("\nH-") == 100


MUON = ("--optimizer", "muon", "--weight-decay", 0.1)


def test_a_training_that_cannot_go_on_says_why(prop, tmp_path):
    last = train(prop.data, tmp_path, "--max-update", 1, *UNVALIDATED)
    content = last.read_bytes()
    with pytest.raises(SystemExit) as end:  # it is finished
        train(prop.data, tmp_path, "--max-update", 1, *UNVALIDATED)
    assert end.value.code == 0 and last.read_bytes() == content
    for words, sentence in (
        (MUON, f"^the training in {tmp_path} cannot go on: .*[Oo]ptimizer"),
        (("--criterion", "cross_entropy"), "cannot go on: .*[Cc]riterion"),
        (("--bf16",), "^--bf16 needs a TPU; .*--autocast bfloat16$"),
        (("--fp16",), "^--fp16 needs a GPU"),
    ):
        with pytest.raises(UserError, match=sentence) as error:
            train(prop.data, tmp_path, "--max-update", 2, *UNVALIDATED, *words)
        assert "\n" not in str(error.value)


# Precision.


def test_training_in_bfloat16_learns_alike_and_is_used_in_float32(prop, tmp_path, caplog):
    """As fairseq-validate says, too."""
    autocast, words = ("--autocast", "bfloat16"), ("--max-update", 10)
    exact, rounded = (
        load(train(prop.data, tmp_path / str(len(more)), *words, *more)) for more in ((), autocast)
    )
    losses = [state["extra_state"]["val_loss"] for state in (exact, rounded)]
    assert losses[1] == pytest.approx(losses[0], rel=0.05)
    weights = [state["model"]["encoder.layers.0.fc1.weight"] for state in (exact, rounded)]
    assert weights[0].dtype == weights[1].dtype == torch.float32 and not torch.equal(*weights)
    words = ("--path", tmp_path / "2" / "checkpoint_last.pt", "--batch-size", 64)
    with caplog.at_level("INFO"):
        run(fairseq_cli.validate, prop.data, *words, *PLUG_IN, *IN_PROCESS)
    found = float(re.findall(r"loss ([\d.]+)", " ".join(caplog.messages))[-1])
    assert found == pytest.approx(losses[1], rel=0.02)


# Files.


def test_interrupted_copy_leaves_what_was_there(tmp_path, monkeypatch):
    first, last = tmp_path / "checkpoint1.pt", tmp_path / "checkpoint_last.pt"
    first.write_bytes(b"new" * 1000)
    last.write_bytes(b"old")

    def interrupted(source, target):
        with open(target, "wb") as file:
            file.write(b"new")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", interrupted)
        with pytest.raises(KeyboardInterrupt):
            PathManager.copy(str(first), str(last), overwrite=True)
    assert last.read_bytes() == b"old"
    assert PathManager.copy(str(first), str(last), overwrite=True)
    assert last.read_bytes() == first.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [first.name, last.name]


def test_damaged_checkpoint_is_named_and_left_alone(prop, tmp_path):
    broken, content = tmp_path / "checkpoint_last.pt", prop.trained.read_bytes()
    broken.write_bytes(content[: len(content) // 2])
    before = broken.read_bytes()
    for begin in (
        lambda: generate(prop.data, broken),
        lambda: train(prop.data, tmp_path, "--max-update", 1),
    ):
        with pytest.raises(UserError, match=f"{broken} .*--path, --restore-file") as error:
            begin()
        assert "\n" not in str(error.value)
    assert broken.read_bytes() == before
