"""Small untrained checkpoints."""

from pathlib import Path

import torch
from command_line import ROOT
from conftest import make_model, redraw

SIZES = dict(
    encoder_embed_dim=24,
    encoder_ffn_embed_dim=32,
    encoder_layers=1,
    encoder_attention_heads=2,
    decoder_embed_dim=24,
    decoder_ffn_embed_dim=32,
    decoder_layers=1,
    decoder_attention_heads=2,
    max_source_positions=60,
    max_target_positions=50,
)


def save_checkpoint(path: Path, **options) -> Path:
    """Writes the checkpoint of a model that was never trained, with the options of the shipped
    one and those given."""
    state = torch.load(ROOT / "checkpoints" / "prop" / "model.pt", weights_only=True)
    model = make_model(**SIZES, **options)
    redraw(model)
    state["cfg"]["model"].update(SIZES, **options)
    state["model"] = model.state_dict()
    torch.save(state, path)
    return path
