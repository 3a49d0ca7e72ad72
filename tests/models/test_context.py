"""A decoder without a source, in which every symbol is fresh."""

from dataclasses import replace
from functools import partial

import pytest
import torch
from conftest import encode, make_dictionary, make_model, redraw, shift

from sit_fairseq.models.config import AttentionPattern
from sit_fairseq.models.context import Context
from sit_fairseq.models.stacks import Decoder
from sit_fairseq.models.transformer import MEMORIES
from sit_fairseq.symbols.slots import Slots

LINES = ["& a b | a c 0", "! d & d d", "1 0 a b c"]
RENAMED = ["& h e | h b 0", "! a & a a", "1 0 g c d"]


@pytest.fixture(params=["DP-DA", "DP", "DA"])
def decoder(request):
    """Of one pattern of attentions, whose cross-attentions were left out."""
    letters = request.param
    model = make_model(make_dictionary(), fresh_symbols=3)
    pattern = AttentionPattern(tuple(letters.split("-")), ())
    cfg = replace(model.decoder.cfg, pattern=pattern)
    return redraw(Decoder(model.encoder.embed_tokens, cfg)).double().eval()


@pytest.fixture(params=MEMORIES.values(), ids=MEMORIES)
def memory(request, decoder):
    """Makes the memory of a batch."""
    return partial(request.param, decoder)


def read(decoder, lines):
    """Canonical ids of lines, each after ``</s>``, and their context."""
    vocabulary, table = decoder.embed_tokens.vocabulary, decoder.embed_tokens.table()
    tokens = encode(vocabulary.dictionary, lines)
    slots = Slots(vocabulary, tokens.new_empty(len(lines), 0))
    tokens = shift(vocabulary.dictionary, tokens)
    return slots.encode(tokens), Context(slots, slots.streams(), table, table)


def test_renamed_lines_have_equal_logits(decoder, memory):
    read_lines = [read(decoder, lines) for lines in (LINES, RENAMED)]
    found = [decoder(canonical, memory(context, keeps=False)) for canonical, context in read_lines]
    assert torch.equal(*found) and bool(found[0].isfinite().any())


def test_no_later_token_changes_a_logit(decoder, memory):
    """Not even a new symbol."""
    canonical, context = read(decoder, LINES)
    whole = decoder(canonical, memory(context, keeps=False))
    for length in range(1, canonical.size(1)):
        part = decoder(canonical[:, :length], memory(context, keeps=False))
        torch.testing.assert_close(part, whole[:, :length], rtol=1e-12, atol=1e-12)


@torch.no_grad()
def test_steps_equal_teacher_forcing(decoder, memory):
    canonical, context = read(decoder, LINES)
    whole, kept = decoder(canonical, memory(context, keeps=False)), memory(context)
    for start, end in ((0, 3), (3, 4), (4, 6)):
        found = decoder(canonical[:, :end], kept)
        torch.testing.assert_close(found, whole[:, start:end], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("places", ["all", "own"])
def test_a_batch_equals_itself_alone(places):
    """Tensors have no truth value, so that what holds them cannot be compared by its parts."""
    model = make_model(make_dictionary(), stream_places=places, encoder_positions="rope")
    first, second = (model.encode(encode(model.vocabulary.dictionary, LINES)) for _ in range(2))
    for one, other in (
        (first, second),
        (first.slots, second.slots),
        (first.streams, second.streams),
    ):
        assert one == one and one != other
