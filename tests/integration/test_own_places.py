"""``--stream-places own`` and ``read`` on the command lines: training, and what follows."""

import pytest
from command_line import ROOT, UNVALIDATED, hydra_train, train

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


@pytest.mark.parametrize(
    "name, places", [("prop", "own"), ("ltl", "own"), ("copy", "read"), ("tiny", "read")]
)
def test_named_architectures_are_trained_so(name, places, prop, tmp_path):
    words = ("--stream-places", places, "--arch", f"{ARCH}_{name}")
    check(train(prop.data, tmp_path, *BRIEFLY, *words))


def test_a_configuration_is_trained_so(prop, tmp_path):
    given = dict(user_dir=ROOT / "sit_fairseq", data=prop.data, save_dir=tmp_path / "saved")
    (tmp_path / "brief.yaml").write_text(HYDRA.format(**given))
    hydra_train("--config-dir", tmp_path, "--config-name", "brief")
    check(tmp_path / "saved" / "checkpoint_last.pt")


def test_a_baseline_refuses_it(prop, tmp_path):
    with pytest.raises(UserError, match="^models of fixed symbols have one stream everywhere"):
        train(prop.data, tmp_path, *BRIEFLY, *OWN, "--arch", f"{ARCH}_prop_baseline")
