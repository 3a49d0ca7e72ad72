"""Decoding step by step computes what teacher forcing computes (see test_laws.py): layouts, orders and
dead beams that a search may meet."""

import pytest
import searches
import torch
from conftest import SOURCES, encode, make_dictionary
from searches import SLOTS, Stepwise, shuffled_beams

from sit_fairseq.models import cache as caches

places = pytest.mark.parametrize("places", ["all", "own", "read"])


def build(pattern="EP-DP-EA-DA-CP", **options):
    dictionary = make_dictionary()
    return dictionary, searches.build(dictionary, stream_attention=pattern, **options)


@pytest.mark.parametrize("hypotheses", [1, 3])
@places
def test_reserved_slots_are_taken_step_by_step(hypotheses, places):
    """Each hypothesis takes its own, in streams that go on from the one that stood for them."""
    dictionary, model = build(fresh_symbols=3, stream_places=places)
    search = Stepwise(model, hypotheses)
    first = model.vocabulary.num_base + torch.tensor(SLOTS)
    seen = set()
    for keep in [{0, 1, 2, 3}] * 4 + [{0, 1, 3}] * 2 + [{0, 1}] * 2:
        logits = search.step()
        search.check(logits)
        search.append(logits)
        search.reorder(shuffled_beams(search, hypotheses, keep))
        taken = (search.tokens.amax(1) - first[search.sentence] + 1).clamp(min=0)
        seen.update(zip(search.sentence.tolist(), taken.tolist()))
    search.check(search.step())
    assert {taken for _, taken in seen} >= {1, 2, 3}


@pytest.mark.parametrize("pattern", ["EP-DP-EA-DA-CP", "EA-DA-CA-CP", "DP-CP-CA"])
@pytest.mark.parametrize("reserved", [0, 3])
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


# Orders of hypotheses, and how many each sentence has at first: runs of unequal length, sentences out
# of order and repeated; hypotheses that became sentences of their own and have hypotheses again.
ORDERS = [
    (2, [[7, 0, 0, 1, 4, 5, 3], [0, 0, 6, 2, 3], [3, 4, 4, 4], [1, 0, 0, 2]]),
    (1, [[3, 3, 3, 2, 2, 2], [2, 0, 1, 5, 5, 4], [0, 3, 4], [0, 0, 1, 1, 2, 2]]),
]


@pytest.mark.parametrize("hypotheses, orders", ORDERS)
@pytest.mark.parametrize("reserved", [0, 3])
@pytest.mark.parametrize("pattern", ["EP-DP-EA-DA-CP", "EP-DP-DA-CA-CP"])
@places
def test_ragged_orders(pattern, reserved, hypotheses, orders, monkeypatch, places):
    """In blocks of one row, as long searches have them, and also before the first step."""
    monkeypatch.setattr(caches, "_BLOCK", 1)
    dictionary, model = build(pattern, fresh_symbols=reserved, stream_places=places)
    search = Stepwise(model, hypotheses)
    if hypotheses == 2:
        search.reorder(torch.tensor([7, 6, 2, 3, 0, 1, 4, 5]))
    for order in orders:
        logits = search.step()
        search.check(logits)
        search.append(logits)
        search.reorder(torch.tensor(order))
    search.check(search.step())


def test_reordering_keeps_one_encoding_per_sentence():
    dictionary, model = build()
    search = Stepwise(model, 3)
    assert search.encoded.states.size(0) == sum(max(s, 1) for s in SLOTS)
    search.reorder(torch.tensor([6, 8, 8]))
    assert search.encoded.states.size(0) == 2
    assert search.encoded.streams.hypotheses == 3


@pytest.mark.parametrize("reserved", [0, 2])
@pytest.mark.parametrize("pattern", ["EP-DP-EA-DA-CP", "EP-DA-CA"])
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
