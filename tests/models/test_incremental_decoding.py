"""Decoding step by step computes what teacher forcing computes (see test_laws.py): several tokens at
once, dead beams, and how many streams there are."""

import pytest
import searches
import torch
from conftest import SOURCES, encode, make_dictionary
from searches import SLOTS, Stepwise

places = pytest.mark.parametrize("places", ["all", "own", "read"])


def build(pattern="EP-DP-EA-DA-CP", **options):
    dictionary = make_dictionary()
    return dictionary, searches.build(dictionary, stream_attention=pattern, **options)


@pytest.mark.parametrize("pattern, reserved", [("EP-DP-EA-DA-CP", 0), ("EA-DA-CA-CP", 3)])
@places
def test_a_step_reads_all_tokens_that_are_new(pattern, reserved, places):
    """At first, after other steps, and before hypotheses are told apart."""
    dictionary, model = build(pattern, fresh_symbols=reserved, stream_places=places)
    search = Stepwise(model, 1)
    for length, hypotheses in ((3, 2), (1, 1), (2, 1)):
        for _ in range(length):
            search.append(
                model.decoder(search.tokens, model.memory(search.encoded, keeps=False))[:, -1]
            )
        logits = model.step(search.tokens, search.cache)
        search.check(logits[:, -1])
        forced = model.decoder(search.tokens, model.memory(search.encoded, keeps=False))[
            :, -logits.size(1) :
        ]
        torch.testing.assert_close(logits, forced, rtol=1e-12, atol=1e-12)
        search.reorder(torch.arange(len(search.tokens)).repeat_interleave(hypotheses))


def test_streams_of_reserved_slots_are_made_when_they_are_taken():
    """One stream stands for all that no hypothesis has taken."""
    dictionary, model = build(fresh_symbols=3)
    search = Stepwise(model, 2)
    assert search.encoded.states.size(0) == sum(SLOTS) + len(SLOTS)
    first = model.vocabulary.num_base + torch.tensor(SLOTS)[search.sentence]
    next_tokens = [first, torch.where(torch.arange(8) % 2 == 0, first + 1, first), first]
    for taken, tokens in zip((0, 1, 2, 2), [*next_tokens, first]):
        search.check(search.step())
        assert search.cache.context.streams.num_slots.tolist() == [n + taken for n in SLOTS]
        search.tokens = torch.cat((search.tokens, tokens.unsqueeze(1)), dim=1)


def test_reordering_keeps_one_encoding_per_sentence():
    dictionary, model = build()
    search = Stepwise(model, 3)
    assert search.encoded.states.size(0) == sum(max(s, 1) for s in SLOTS)
    search.reorder(torch.tensor([6, 8, 8]))
    assert search.encoded.states.size(0) == 2
    assert search.encoded.streams.hypotheses == 3


@pytest.mark.parametrize("pattern, reserved", [("EP-DP-EA-DA-CP", 0), ("EP-DA-CA", 2)])
@places
def test_dead_beams_disturb_nobody(pattern, reserved, places):
    """A dead beam may hold any id: no slot, no column, a name of another sentence."""
    dictionary, model = build(pattern, fresh_symbols=reserved, stream_places=places)
    search = Stepwise(model, 3)
    dead = torch.zeros(search.sentence.numel(), dtype=torch.bool)
    dead[[1, 5, 6, 11]] = True
    num_base = model.vocabulary.num_base
    for step in range(4):
        logits = search.step()
        assert not logits.isnan().any()
        search.check(logits, [row for row in range(dead.numel()) if not dead[row]])
        search.append(logits)
        search.tokens[dead, -1] = torch.tensor([num_base + 3, num_base + 4, num_base + 77, 10**6])
        order = torch.arange(dead.numel()).view(-1, 3).flip(1).flatten()
        search.reorder(order)
        dead = dead[order]


def test_padding_on_either_side():
    for encoder_positions in ("tree", "rope", "sinusoidal", "learned", "none"):
        dictionary, model = build(encoder_positions=encoder_positions)
        previous = torch.full((len(SOURCES), 3), dictionary.eos())
        right, left = (
            model(encode(dictionary, SOURCES, left_pad), None, previous)[0]
            for left_pad in (False, True)
        )
        assert torch.equal(left, right)
