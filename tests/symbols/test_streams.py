"""Packing of ragged streams, against loops."""

import literal
import pytest
import torch

from sit_fairseq.models.all_places import AllPlaces
from sit_fairseq.symbols.streams import Streams

SLOTS = torch.tensor([2, 0, 1, 3])


def test_one_stream_per_symbol_and_one_for_none():
    streams = Streams.of_slots(SLOTS)
    assert streams.sentence.tolist() == [0, 0, 1, 2, 3, 3, 3]
    assert streams.slot.tolist() == [0, 1, 0, 0, 0, 1, 2]
    assert streams.first.tolist() == [0, 2, 3, 4]
    assert streams.num_streams.tolist() == [2, 1, 1, 3]


@pytest.mark.parametrize("hypotheses", [1, 2])
def test_expand_and_mean(hypotheses):
    streams = Streams.of_slots(SLOTS, hypotheses)
    x = torch.randn(4 * hypotheses, 3, 5, dtype=torch.float64)
    expanded = streams.expand(x)
    h = torch.randn(7 * hypotheses, 3, 5, dtype=torch.float64)
    mean = streams.mean(h)
    assert expanded.shape == h.shape and mean.shape == x.shape
    for sentence in range(4):
        own = [n for n in range(7) if streams.sentence[n] == sentence]
        for k in range(hypotheses):
            for n in own:
                row = n * hypotheses + k
                assert torch.equal(expanded[row], x[sentence * hypotheses + k])
            average = sum(h[n * hypotheses + k] for n in own) / len(own)
            torch.testing.assert_close(mean[sentence * hypotheses + k], average)


def test_row_of_existing_and_missing_slots():
    streams = Streams.of_slots(SLOTS, hypotheses=2)
    slot = torch.tensor([[0, 1, 5], [1, -3, 0], [9, 0, 0], [0, 0, 0]] * 2)
    rows = streams.row_of(slot)
    assert rows[:2].tolist() == [[0, 2, 2], [3, 1, 1]]
    # Whatever the slot, the row belongs to the hypothesis' own sentence.
    sentence = torch.arange(8).unsqueeze(1) // 2
    assert torch.equal(streams.sentence[rows // 2], sentence.expand(8, 3))
    assert torch.equal(rows % 2, (torch.arange(8).unsqueeze(1) % 2).expand(8, 3))


@pytest.mark.parametrize("hypotheses", [1, 2])
def test_aggregate_equals_algorithm_2(hypotheses):
    num_base = 6
    streams = Streams.of_slots(SLOTS, hypotheses)
    slots = SLOTS.repeat_interleave(hypotheses)
    canonical = torch.stack([torch.randint(num_base + int(s), (9,)) for s in slots])
    canonical[0, 0], canonical[-1, 4] = num_base + 40, num_base + 3  # no such streams
    hidden = torch.randn(7 * hypotheses, 9, 5, dtype=torch.float64)
    found = AllPlaces(canonical, num_base, streams).aggregate(hidden)
    for row in range(4 * hypotheses):
        sentence, k = divmod(row, hypotheses)
        own = [n * hypotheses + k for n in range(7) if streams.sentence[n] == sentence]
        masks = [
            canonical[row].eq(num_base + slot).double() * (slot < SLOTS[sentence])
            for slot in range(len(own))
        ]
        expected = literal.aggregate(hidden[own], torch.stack(masks))
        torch.testing.assert_close(found[row], expected)


@pytest.mark.parametrize("order", [[5, 4, 1, 0], [5, 4, 1], [2, 2, 2, 7, 7, 7], [6, 0, 6, 7, 7]])
def test_reorder_takes_every_stream_along(order):
    """Whatever the layout becomes, each new row over streams continues the right old one."""
    streams = Streams.of_slots(SLOTS, hypotheses=2)
    label = torch.arange(8).unsqueeze(1) * 10
    over_streams = streams.expand(label) + streams.slot.repeat_interleave(2).unsqueeze(1)
    to = streams.reorder(torch.tensor(order))
    new = to.streams
    moved = new.expand(label[order]) + new.slot.repeat_interleave(new.hypotheses).unsqueeze(1)
    assert torch.equal(over_streams[to.rows], moved)


@pytest.mark.parametrize("hypotheses", [1, 2])
def test_the_stream_of_reserved_slots_counts_as_often_as_they_are(hypotheses):
    reserved = torch.tensor([3, 2, 0, 1])
    streams = Streams.of_slots(SLOTS, hypotheses, reserved)
    assert streams.slot.tolist() == [0, 1, 2, 0, 0, 1, 0, 1, 2, 3]
    assert streams.num_streams.tolist() == [3, 1, 2, 4] and streams.most_slots == 5
    h = torch.randn(10 * hypotheses, 5, dtype=torch.float64, requires_grad=True)
    mean = streams.mean(h)
    for sentence, (own, count) in enumerate(zip(SLOTS.tolist(), reserved.tolist())):
        rows = [n for n in range(10) if streams.sentence[n] == sentence]
        rows += [rows[-1]] * (count - 1) if count else []
        rows = rows if count else rows[:-1]
        assert len(rows) == own + count
        for k in range(hypotheses):
            average = sum(h[n * hypotheses + k] for n in rows) / len(rows)
            torch.testing.assert_close(mean[sentence * hypotheses + k], average)
    assert torch.autograd.gradcheck(streams.mean, h)


def test_streams_of_their_own_continue_the_one_that_stood_for_them():
    streams = Streams.of_slots(torch.tensor([2, 0]), 2, torch.tensor([2, 3]))
    to = streams.with_own_streams(torch.tensor([3, 2]))
    new = to.streams
    assert new.num_slots.tolist() == [3, 2] and new.reserved.tolist() == [1, 1]
    assert (new.hypotheses, new.most_slots) == (2, streams.most_slots)
    assert to.same_sentences and to.rows_of_streams.tolist() == [0, 1, 2, 2, 3, 3, 3]
    assert to.rows.view(-1, 2).tolist() == [[2 * n, 2 * n + 1] for n in to.rows_of_streams]
    to = new.reorder(torch.tensor([3, 2, 0, 0]))
    moved = to.streams
    assert moved.num_slots.tolist() == [2, 3] and moved.reserved.tolist() == [1, 1]
    assert to.rows_of_streams.tolist() == [4, 5, 6, 0, 1, 2, 3]
