"""Attention of a decoding step to stored keys and values, against PyTorch's own."""

import pytest
import torch
import torch.nn.functional as F

from sit_fairseq.models import cache as caches
from sit_fairseq.models.cache import CrossAttentionCache, KeyValueCache, SelfAttentionCache
from sit_fairseq.symbols.streams import Streams

HEADS, CHANNELS = 3, 12
CPU = torch.device("cpu")


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


@pytest.mark.parametrize("block", [1, caches._BLOCK])
def test_rows_attend_to_what_they_have_seen(block, monkeypatch):
    """In each layer, as if the keys and values moved at each reordering; rows die, and are
    continued more than once."""
    monkeypatch.setattr(caches, "_BLOCK", block)
    cache = SelfAttentionCache(4, HEADS, CPU)
    layers = [(normal(4, 0, CHANNELS), normal(4, 0, CHANNELS)) for _ in range(2)]
    for order in ([0, 1, 2, 3], [3, 3, 0, 1], [1, 0, 1], [2, 0], [0, 1, 0, 1, 1], [4, 0]):
        order = torch.tensor(order)
        cache.select(order)
        cache.advance(torch.arange(order.numel()), order.numel())
        for layer, (keys, values) in enumerate(layers):
            queries, new_keys, new_values = normal(3, order.numel(), CHANNELS)
            cache.append(layer, new_keys, new_values)
            keys = torch.cat((keys[order], new_keys.unsqueeze(1)), dim=1)
            values = torch.cat((values[order], new_values.unsqueeze(1)), dim=1)
            layers[layer] = keys, values
            assert_close(cache.attend(layer, queries), expected(queries, keys, values))


def test_rows_may_share_an_entry():
    cache = SelfAttentionCache(3, HEADS, CPU)
    cache.advance(torch.tensor([1, 0, 1]), 2)
    keys, values, queries = normal(2, CHANNELS), normal(2, CHANNELS), normal(3, CHANNELS)
    cache.append(0, keys, values)
    found = cache.attend(0, queries)
    assert_close(found, expected(queries, keys[[1, 0, 1], None], values[[1, 0, 1], None]))


def test_entries_count_all_that_was_stored():
    cache = SelfAttentionCache(3, HEADS, CPU)
    cache.advance(torch.arange(3), 3)
    cache.select(torch.tensor([2, 0]))
    cache.advance(torch.arange(2), 2)
    assert cache.entries.tolist() == [[2, 3], [0, 4]]


def test_streams_of_a_hypothesis_share_its_aggregated_entry():
    """Two sentences, of 2 and 1 streams, with two hypotheses each; the first ends."""
    cache = KeyValueCache(
        Streams.of_slots(torch.tensor([2, 1]), hypotheses=2),
        None,
        [],
        (),
        num_heads=HEADS,
        embed_dim=CHANNELS,
    )
    cache.advance()
    assert cache.self_attn.entries.flatten().tolist() == [0, 1, 2, 3, 4, 5]
    assert cache.aggregated_attn.entries.flatten().tolist() == [0, 1, 0, 1, 2, 3]
    cache.reorder(torch.tensor([3, 3]))
    cache.advance()
    assert cache.self_attn.entries.tolist() == [[5, 6], [5, 7]]
    assert cache.aggregated_attn.entries.tolist() == [[3, 4], [3, 5]]
    assert cache.position == 1


@pytest.mark.parametrize("padded", [False, True])
def test_rows_attend_to_views_of_the_source(padded):
    length, view = 5, torch.tensor([1, 0, 1, 1])
    keys, values = normal(2, 2, length, CHANNELS)
    padding = torch.arange(length) >= torch.tensor([[2], [5]]) if padded else None
    cache = CrossAttentionCache(HEADS, CHANNELS // HEADS)
    cache.add_layer(*(t.unflatten(2, (HEADS, -1)).transpose(1, 2) for t in (keys, values)))
    cache.look_up(view, padding[view] if padded else None)
    queries = normal(4, CHANNELS)
    found = cache.attend(0, queries)
    mask = ~padding[view][:, None, None] if padded else None
    assert_close(found, expected(queries, keys[view], values[view], mask))
