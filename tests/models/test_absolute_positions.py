"""Positions of fairseq's transformer, counted as fairseq counts them."""

import math

import pytest
import torch
from conftest import encode, make_dictionary, make_model

from sit_fairseq.symbols.streams import Streams

LINES = ["& a b", "! c"]


def added(model, tokens):
    """What the encoder adds to the embeddings of left-aligned tokens."""
    canonical, _ = model.vocabulary.canonicalise(tokens)
    return model.encoder.embed_positions(canonical)


def test_sinusoidal_positions_start_after_the_index_of_padding():
    dictionary = make_dictionary()
    found = added(make_model(dictionary, encoder_positions="sinusoidal"), encode(dictionary, LINES))
    # Half of the 24 channels are sines, half cosines; the slowest turns 1e-4 as fast.
    for token in range(4):
        for pair in range(12):
            angle = (2 + token) * 10000 ** (-pair / 11)
            expected = [math.sin(angle), math.cos(angle)]
            assert found[0, token, [pair, pair + 12]].tolist() == pytest.approx(expected, abs=1e-6)
    assert torch.equal(found[1, :3], found[0, :3])
    assert not found[1, 3].any()  # padding


def test_learned_positions_are_rows_of_a_table():
    dictionary = make_dictionary()
    model = make_model(dictionary, encoder_positions="learned", max_source_positions=7)
    table = model.encoder.embed_positions.weight
    assert table.shape == (7 + 2, 24)
    found = added(model, encode(dictionary, LINES))
    assert torch.equal(found[0], table[2:6])
    assert torch.equal(found[1], table[[2, 3, 4, 1]])
    assert model.max_positions() == (7, 200)


@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
def test_decoder_counts_like_the_encoder(positions):
    dictionary = make_dictionary()
    model = make_model(dictionary, encoder_positions=positions, decoder_positions=positions)
    model.decoder.embed_positions = model.encoder.embed_positions
    tokens = encode(dictionary, LINES)
    canonical, _ = model.vocabulary.canonicalise(tokens)
    streams = Streams.of_slots(torch.tensor([2, 1]))
    whole = model.decoder._positions(canonical, streams, None)
    assert torch.equal(whole, added(model, tokens)[[0, 0, 1]])
    for step in range(4):
        last = model.decoder._positions(canonical[:, : step + 1], streams, {})
        assert torch.equal(last[0, 0], whole[0, step])


@pytest.mark.parametrize("side", ["encoder", "decoder"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "none"])
def test_nothing_rotates(side, positions):
    kinds = {"encoder_positions": "rope", f"{side}_positions": positions}
    model = make_model(stream_attention="EP-DP-EA-DA-CP-CA", **kinds)
    rotating = {
        name.split(".")[0]
        for name, module in model.named_modules()
        if getattr(module, "rotary", None) is not None
    }
    assert rotating == {"encoder", "decoder"} - {side}
