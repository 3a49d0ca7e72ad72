"""A checkpoint to be changed, and how it is loaded."""

from pathlib import Path

import pytest
import torch
from command_line import UNVALIDATED, preprocess_lines, train
from fairseq import hub_utils


@pytest.fixture(scope="session")
def trained(once):
    """Binarised data and a model of one update."""
    return once("known", make_trained)


def make_trained(root):
    data = preprocess_lines(root, ["& a ! b", "! c"], ["a 1 b 0", "c 0"], split="valid")
    return data, train(data, root / "model", "--max-update", 1, *UNVALIDATED)


@pytest.fixture
def changed(trained, tmp_path):
    """Writes a copy of the checkpoint with other content."""

    def write(change, name="evil.pt") -> Path:
        state = torch.load(trained[1], weights_only=True)
        change(state)
        torch.save(state, tmp_path / name)
        return tmp_path / name

    return write


def options(section, **values):
    """Changes options of a section, whatever it was before."""
    return lambda state: state["cfg"].update(
        {section: {**(state["cfg"].get(section) or {}), **values}}
    )


def load(checkpoint, data, **kwargs):
    """fairseq's own interface in Python."""
    loaded = hub_utils.from_pretrained(str(checkpoint.parent), checkpoint.name, str(data), **kwargs)
    return hub_utils.GeneratorHubInterface(loaded["args"], loaded["task"], loaded["models"])


def set_tensor(tensor, name="encoder.layers.0.fc1.weight"):
    """Changes a weight."""
    return lambda state: state["model"].update({name: tensor})
