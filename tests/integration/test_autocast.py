"""``--autocast bfloat16`` in training, validation and decoding."""

import re

import fairseq_cli.validate
import pytest
import torch
from command_line import (
    IN_PROCESS,
    PLUG_IN,
    ROOT,
    UNVALIDATED,
    generate,
    preprocess,
    run,
    sit,
    train,
)
from generate_output import read_generate_output

from sit_fairseq.tasks import precision

AUTOCAST = ("--autocast", "bfloat16")


@pytest.fixture(autouse=True)
def any_cpu(monkeypatch):
    """Whether products in bfloat16 are fast does not matter here."""
    monkeypatch.setattr(precision, "cpu_knows_bfloat16", lambda: True)


def test_training_learns_as_in_single_precision(prop, tmp_path, caplog):
    options = ("--max-update", 30, "--validate-semantics", "prop", "--validate-samples", 70)
    losses, weights = [], []
    for name, more in (("float32", ()), ("bfloat16", AUTOCAST)):
        caplog.clear()
        with caplog.at_level("INFO"):
            state = torch.load(train(prop.data, tmp_path / name, *options, *more))
        assert any(re.search(r"correct [\d.]+", r.getMessage()) for r in caplog.records)
        losses.append(state["extra_state"]["val_loss"])
        weights.append(state["model"]["encoder.layers.0.fc1.weight"])
    assert losses[1] == pytest.approx(losses[0], rel=0.05)
    assert weights[0].dtype == weights[1].dtype == torch.float32
    assert not torch.equal(*weights)


def validate(prop, checkpoint, caplog, *options) -> float:
    caplog.clear()
    with caplog.at_level("INFO"):
        run(
            fairseq_cli.validate,
            prop.data,
            *("--path", checkpoint, "--valid-subset", "valid", "--batch-size", 64),
            *(*PLUG_IN, *IN_PROCESS, *options),
        )
    printed = " ".join(record.getMessage() for record in caplog.records)
    return float(re.findall(r"loss ([\d.]+)", printed)[-1])


def test_precision_is_not_saved(prop, tmp_path, caplog, monkeypatch):
    """A model trained in bfloat16 is used in float32, also where there is no bfloat16."""
    options = ("--max-update", 5, *UNVALIDATED)
    trained = train(prop.data, tmp_path, *options, *AUTOCAST)
    rounded = validate(prop, trained, caplog, *AUTOCAST)
    monkeypatch.setattr(precision, "cpu_knows_bfloat16", lambda: False)
    exact = validate(prop, trained, caplog)
    assert exact == pytest.approx(rounded, rel=0.02)
    generate(prop.data, trained, "--max-len-b", 8)


@pytest.mark.parametrize("beam", [1, 3])
def test_answers_of_a_trained_model_are_mostly_the_same(tmp_path, capsys, beam):
    """The shipped one; its scores have fewer digits in common."""
    sit("generate", "prop", tmp_path / "text", "--size", 150, "--max-length", 10, "--seed", 5)
    files = ("--trainpref", tmp_path / "text", "--testpref", tmp_path / "text")
    data = preprocess(tmp_path / "bin", *files)
    checkpoint = ROOT / "checkpoints" / "prop" / "model.pt"
    found = []
    for precision_options in ((), AUTOCAST):
        capsys.readouterr()
        generate(data, checkpoint, "--beam", beam, "--max-len-b", 20, *precision_options)
        (tmp_path / "output").write_text(capsys.readouterr().out)
        found.append([s.best for s in read_generate_output(str(tmp_path / "output"))])
    exact, rounded = found
    same = [one.text == other.text for one, other in zip(exact, rounded)]
    assert len(same) == 150 and sum(same) >= 140
    assert [answer.score for answer in exact] != [answer.score for answer in rounded]
