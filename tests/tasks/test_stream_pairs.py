"""Batches are bounded by what they cost: streams times the longest sentence."""

import random

import numpy
import pytest
import torch
from conftest import encode, make_dictionary, make_model, random_formula
from fairseq.data import LanguagePairDataset
from fairseq.data.indexed_dataset import MMapIndexedDataset, MMapIndexedDatasetBuilder

from sit_fairseq.errors import UserError
from sit_fairseq.tasks.sentences import Sentences, StreamPairDataset

# Sources of 0, 1, 2, 1 and 4 symbols; the last target is longer than its source.
LINES = [
    ("! 0", "1"),
    ("& a ! a", "a 1"),
    ("xor & b d b", "b 0 d 1"),
    ("h", "h 1"),
    ("& & a b & c d", "a 1 b 1 c 1 d 1 & 1"),
]


def loaded(lines, dictionary=None, with_target=True, shuffle=False):
    """What fairseq makes of pairs of lines."""
    dictionary = dictionary or make_dictionary()
    sides = [[encode(dictionary, [line])[0] for line in side] for side in zip(*lines)]
    arguments = [(side, list(map(len, side)), dictionary) for side in sides[: 1 + with_target]]
    return LanguagePairDataset(*sum(arguments, ()), left_pad_source=False, shuffle=shuffle)


def dataset(lines=LINES, **options):
    pairs = loaded(lines, **options)
    return Sentences(pairs.src_dict, 999).split(pairs, "train")


def many_pairs(number):
    rng = random.Random(1)
    sources = [random_formula(rng, "abcdefgh"[: rng.randint(1, 8)], 5) for _ in range(number)]
    return [(source, " ".join(["1"] * rng.randint(1, 40))) for source in sources]


def cost(pairs, batch, dictionary=make_dictionary()):
    """Rows times columns of the larger side, counted word by word."""
    words = [[dictionary.string(side[i]).split() for i in batch] for side in (pairs.src, pairs.tgt)]
    longest = max(len(sentence) + 1 for side in words for sentence in side)
    return longest * sum(max(1, len({w for w in s if w in "abcdefgh"})) for s in words[0])


def test_all_that_fairseq_has_set_is_taken_over():
    pairs = LanguagePairDataset(
        *([torch.tensor([2])], [1], make_dictionary(), [torch.tensor([2])], [1], make_dictionary()),
        **dict(left_pad_target=True, shuffle=False, append_eos_to_target=True, eos=7),
        pad_to_multiple=5,
    )
    taken = vars(StreamPairDataset(pairs, "x", numpy.array([1])))
    assert all(taken[name] is value for name, value in vars(pairs).items())


@pytest.mark.parametrize("one_by_one", [False, True])
def test_streams_are_those_that_models_compute(tmp_path, monkeypatch, one_by_one):
    """Also of a file that is mapped into memory, which is read whole."""
    dictionary = make_dictionary()
    lines = many_pairs(300)
    pairs = loaded(lines, dictionary)
    builder = MMapIndexedDatasetBuilder(str(tmp_path / "data.bin"), dtype=numpy.uint16)
    for sentence in pairs.src:
        builder.add_item(sentence)
    builder.finalize(str(tmp_path / "data.idx"))
    mapped = MMapIndexedDataset(str(tmp_path / "data"))
    if not one_by_one:
        pairs.src = mapped
        monkeypatch.setattr(MMapIndexedDataset, "__getitem__", None)
    model = make_model(dictionary)
    found = Sentences(dictionary, 999, model).split(pairs, "train").num_streams
    slots = model.read(encode(dictionary, [source for source, _ in lines]))[1]
    assert found.tolist() == slots.streams().num_streams.tolist()
    assert len(set(found.tolist())) > 5
    baseline = make_model(dictionary, symbol_embedding="fixed", stream_attention="EP-DP-CP")
    assert set(Sentences(dictionary, 999, baseline).split(pairs, "x").num_streams.tolist()) == {1}


def test_fresh_symbols_count_as_streams():
    """Those of the target, or all that there may be where it is not known, and one for the rest."""
    dictionary = make_dictionary()
    lines = [("! 0", "e f e"), ("& a ! a", "a"), ("| a & b c", "c d b")]
    sentences = Sentences(dictionary, 999, make_model(dictionary, fresh_symbols=4))
    assert sentences.split(loaded(lines, dictionary), "x").num_streams.tolist() == [3, 2, 5]
    assert sentences.split(loaded(lines, dictionary), "x").most_fresh == {0: 2}
    unknown = loaded(lines, dictionary, with_target=False)
    assert sentences.split(unknown, "x").num_streams.tolist() == [5, 6, 8]


def test_all_reserved_slots_up_to_the_last_one_taken_have_streams():
    sorts = "many=[a-d]\nfew=[e-h]"
    dictionary = make_dictionary(pattern=sorts)
    model = make_model(dictionary, fresh_symbols="many=5,few=2")
    lines = [("! 0", "e"), ("! 0", "a b"), ("! 0", "a f e"), ("! e", "e")]
    pairs = loaded(lines, dictionary)
    found = Sentences(dictionary, 999, model).split(pairs, "x").num_streams.tolist()
    assert found == [1 + 6, 1 + 2, 1 + 7, 1 + 1]


@pytest.mark.parametrize(
    "max_tokens, max_sentences, expected",
    [
        # Lengths with </s> are 3, 5, 6, 3, 11 for the longer side; streams 1, 1, 2, 1, 4.
        (99, None, [[0, 1, 2, 3, 4]]),
        (98, None, [[0, 1, 2, 3], [4]]),
        (98, 2, [[0, 1], [2, 3], [4]]),
    ],
)
def test_batches_by_hand(max_tokens, max_sentences, expected):
    batches = dataset().batch_by_size(numpy.arange(5), max_tokens, max_sentences)
    assert [batch.tolist() for batch in batches] == expected


def test_a_source_without_target_counts_by_itself():
    pairs = dataset(with_target=False)
    # Lengths 3, 5, 6, 2, 8.
    batches = pairs.batch_by_size(numpy.arange(5), 32)
    assert [batch.tolist() for batch in batches] == [[0, 1, 2, 3], [4]]
    assert pairs.batch_by_size(numpy.array([], dtype="int64"), 32) == []


def test_batches_are_full_but_not_too_full():
    pairs, max_tokens = dataset(many_pairs(400), shuffle=True), 500
    order = pairs.ordered_indices()
    batches = pairs.batch_by_size(order, max_tokens)
    assert numpy.concatenate(batches).tolist() == order.tolist()
    for batch, following in zip(batches, batches[1:]):
        assert cost(pairs, batch) <= max_tokens < cost(pairs, [*batch, following[0]])
    assert cost(pairs, batches[-1]) <= max_tokens


def test_one_sentence_too_many():
    with pytest.raises(UserError, match="^line 5 of the train source counts 44 .* --max-tokens"):
        dataset().batch_by_size(numpy.arange(5), 43)
    # A line that is not asked for, as it was found too long, does no harm.
    assert len(dataset().batch_by_size(numpy.arange(4), 43)) == 1


@pytest.mark.parametrize("most", [7, None])
def test_batches_by_sentences_are_those_of_fairseq(most):
    pairs = dataset(many_pairs(100), shuffle=True)
    order = pairs.ordered_indices()
    expected = LanguagePairDataset.batch_by_size(pairs, order, max_sentences=most)
    found = pairs.batch_by_size(order, max_sentences=most)
    assert list(map(list, found)) == list(map(list, expected))


def test_lengths_remain_plain_tokens():
    pairs = dataset()
    assert [pairs.size(4), pairs.num_tokens(4)] == [(8, 11), 11]
    kept, ignored = pairs.filter_indices_by_size(numpy.arange(5), (8, 10))
    assert (kept.tolist(), list(ignored)) == ([0, 1, 2, 3], [4])
    assert torch.equal(pairs[2]["source"], pairs.src[2]) and len(pairs) == 5
