"""Attention of a decoding step to stored keys and values, against PyTorch's own."""

import pytest
import torch
import torch.nn.functional as F

from sit_fairseq.modules import past as past_module
from sit_fairseq.modules.encoder_memory import EncoderLookup, EncoderMemory
from sit_fairseq.modules.past import Lookup, Past, Store

HEADS, CHANNELS = 3, 12


def expected(queries, keys, values, mask=None):
    """(R, C) queries against each row's own (R, T, C) keys and values."""
    q, k, v = (
        t.unflatten(2, (HEADS, -1)).transpose(1, 2) for t in (queries.unsqueeze(1), keys, values)
    )
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(1)


def normal(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def assert_close(one, other):
    torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("block", [1, past_module._BLOCK])
def test_rows_attend_to_what_they_have_seen(block, monkeypatch):
    """As if the keys and values moved at each reordering; rows die, and are continued
    more than once."""
    monkeypatch.setattr(past_module, "_BLOCK", block)
    past, store = Past.empty(4, torch.device("cpu")), Store()
    keys, values = normal(4, 0, CHANNELS), normal(4, 0, CHANNELS)
    for order in ([0, 1, 2, 3], [3, 3, 0, 1], [1, 0, 1], [2, 0], [0, 1, 0, 1, 1], [4, 0]):
        order = torch.tensor(order)
        past, keys, values = past.select(order), keys[order], values[order]
        queries, new_keys, new_values = normal(3, order.numel(), CHANNELS)
        past = past.append()
        store.append(new_keys, new_values)
        keys = torch.cat((keys, new_keys.unsqueeze(1)), dim=1)
        values = torch.cat((values, new_values.unsqueeze(1)), dim=1)
        found = store.attend(queries, Lookup(past.entries, HEADS))
        assert_close(found, expected(queries, keys, values))


def test_entries_count_all_that_was_stored():
    past = Past.empty(3, torch.device("cpu")).append().select(torch.tensor([2, 0])).append()
    assert past.entries.tolist() == [[2, 3], [0, 4]]
    assert past.num_stored == 5


def test_heads_of_entries():
    lookup = Lookup(torch.tensor([[4, 1]]), 3)
    assert lookup.heads.tolist() == [[12, 3], [13, 4], [14, 5]]


@pytest.mark.parametrize("padded", [False, True])
def test_rows_attend_to_views_of_the_source(padded):
    length, view = 5, torch.tensor([1, 0, 1, 1])
    keys, values = normal(2, 2, length, CHANNELS)
    padding = torch.arange(length) >= torch.tensor([[2], [5]]) if padded else None
    heads = (t.unflatten(2, (HEADS, -1)).transpose(1, 2) for t in (keys, values))
    lookup = EncoderLookup(
        view, padding[view] if padded else None, length, HEADS, CHANNELS // HEADS
    )
    queries = normal(4, CHANNELS)
    found = EncoderMemory(*heads).attend(queries, lookup)
    mask = ~padding[view][:, None, None] if padded else None
    assert_close(found, expected(queries, keys[view], values[view], mask))
