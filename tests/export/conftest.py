"""Small untrained checkpoints, and folders for transformers."""

from pathlib import Path

import pytest
import torch
from command_line import ROOT, sit
from conftest import make_dictionary, make_model, redraw, small

UNTRAINED = {
    "fixed": dict(symbol_embedding="fixed", stream_attention="EP-DP-CP"),
    "canonical": dict(symbol_embedding="canonical", stream_attention="EP-DP-CP"),
    "random": dict(symbol_embedding="random", stream_attention="EP-DP-CP"),
    "sorts": dict(encoder_positions="rope"),
    "own places": dict(encoder_positions="rope", stream_places="own", fresh_symbols=3),
    "read places": dict(encoder_positions="rope", stream_places="read", fresh_symbols=3),
    "fresh sorts": dict(encoder_positions="rope", fresh_symbols="low=1,high=2"),
    "sinusoidal": dict(encoder_positions="sinusoidal", decoder_positions="learned"),
}
SORTS = "low=[a-d]\nhigh=[e-z]"


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


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Exports a shipped or an untrained model, once."""
    made = {}

    def export(name):
        if name not in made:
            out = tmp_path_factory.mktemp("folder") / name.replace(" ", "_")
            checkpoint = ROOT / "checkpoints" / name / "model.pt"
            if name in UNTRAINED:
                torch.manual_seed(2)
                dictionary = make_dictionary(pattern=SORTS if "sorts" in name else "[a-z]")
                checkpoint = out.parent / "model.pt"
                save_checkpoint(checkpoint, dictionary, **UNTRAINED[name])
            sit("export", checkpoint, out, "--transformers")
            made[name] = out
        return made[name]

    return export


def load(path, **options):
    """Tokenizer and model of a folder."""
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    trusted = dict(trust_remote_code=True)
    tokenizer = AutoTokenizer.from_pretrained(path, **trusted, **options)
    return tokenizer, AutoModelForSeq2SeqLM.from_pretrained(path, **trusted)
