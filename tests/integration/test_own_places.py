"""``--stream-places own`` on the command lines: training of all architectures, and what follows."""

import json

import pytest
from command_line import ROOT, UNVALIDATED, hydra_train, sit, train
from integration.conftest import same
from vanilla_models import load

from sit_fairseq.errors import UserError
from sit_fairseq.model import Model
from sit_fairseq.models.own_places import OwnMemory

OWN = ("--stream-places", "own")
ARCH = "symbol_invariant_transformer"
BRIEFLY = (*UNVALIDATED, "--max-update", 1, "--batch-size", 8)
HYDRA = """
common: {{user_dir: {user_dir}, cpu: true}}
task: {{_name: stream_translation, data: {data}, symbols: "[a-z]", source_lang: src, target_lang: tgt}}
model: {{_name: symbol_invariant_transformer, stream_places: own, encoder_layers: 1}}
criterion: {{_name: adacos}}
optimizer: {{_name: adam, lr: [0.001]}}
lr_scheduler: {{_name: fixed, lr: [0.001]}}
dataset: {{batch_size: 8, num_workers: 0, disable_validation: true, valid_subset: train}}
optimization: {{max_update: 2}}
checkpoint: {{save_dir: {save_dir}}}
"""


def check(checkpoint):
    """It is read as what it was trained as, and answers."""
    model = Model.load(str(checkpoint))
    assert model.core._memory is OwnMemory
    (answer,) = model.answer(["& a ! b"], max_length=4)
    assert answer.text and answer.score < 0


@pytest.mark.parametrize("name", ["prop", "ltl", "copy", "tiny"])
def test_named_architectures_are_trained_so(name, prop, tmp_path):
    check(train(prop.data, tmp_path, *BRIEFLY, *OWN, "--arch", f"{ARCH}_{name}"))


def test_a_configuration_is_trained_so(prop, tmp_path):
    given = dict(user_dir=ROOT / "sit_fairseq", data=prop.data, save_dir=tmp_path / "saved")
    (tmp_path / "brief.yaml").write_text(HYDRA.format(**given))
    hydra_train("--config-dir", tmp_path, "--config-name", "brief")
    check(tmp_path / "saved" / "checkpoint_last.pt")


def test_a_baseline_refuses_it(prop, tmp_path):
    with pytest.raises(UserError, match="^models of fixed symbols have one stream everywhere"):
        train(prop.data, tmp_path, *BRIEFLY, *OWN, "--arch", f"{ARCH}_prop_baseline")


def test_training_in_bfloat16_learns_alike_and_is_evaluated(prop, tmp_path):
    words = (*OWN, "--max-update", 20)
    exact, rounded = (
        train(prop.data, tmp_path / str(len(more)), *words, *more)
        for more in ((), ("--autocast", "bfloat16"))
    )
    first, second = map(load, (exact, rounded))
    assert not same(first["model"], second["model"])
    loss = first["extra_state"]["val_loss"]
    assert second["extra_state"]["val_loss"] == pytest.approx(loss, rel=0.05)
    result = tmp_path / "result.json"
    sit("evaluate", "prop", prop.root / "test", "--path", rounded, "--result", result)
    found = json.loads(result.read_text())["result"]
    assert sum(found["verdicts"].values()) == found["correct"]["total"] == 100
