"""Small untrained checkpoints."""

from pathlib import Path

import torch
from command_line import ROOT
from conftest import make_model, redraw, small


def save_checkpoint(path: Path, dictionary=None, **options) -> Path:
    """Writes the checkpoint of a model of one layer that was never trained, with the options of
    the shipped one and those given."""
    options = {"encoder_layers": 1, **options}
    options = small(max_source_positions=60, max_target_positions=50, **options)
    state = torch.load(ROOT / "checkpoints" / "prop" / "model.pt", weights_only=True)
    model = redraw(make_model(dictionary, **options))
    state["cfg"]["model"].update(options)
    state["cfg"]["task"]["symbols"] = model.vocabulary.dictionary.pattern
    state["model"] = model.state_dict()
    torch.save(state, path)
    return path
