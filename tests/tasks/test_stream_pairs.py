"""Batches are bounded by what they cost: streams times the longest sentence."""

import random

import numpy
import pytest
import torch
from conftest import encode, make_dictionary, random_formula
from fairseq.data import LanguagePairDataset
from fairseq.data.indexed_dataset import MMapIndexedDataset, MMapIndexedDatasetBuilder

from sit_fairseq.errors import UserError
from sit_fairseq.symbols.vocabulary import Vocabulary
from sit_fairseq.tasks import sentence_chunks, stream_pairs
from sit_fairseq.tasks.stream_pairs import StreamPairDataset, count_symbols

# Sources of 0, 1, 2, 1 and 4 symbols; the last target is longer than its source.
LINES = [
    ("! 0", "1"),
    ("& a ! a", "a 1"),
    ("xor & b d b", "b 0 d 1"),
    ("h", "h 1"),
    ("& & a b & c d", "a 1 b 1 c 1 d 1 & 1"),
]


def sentences(dictionary, lines):
    return [encode(dictionary, [line])[0] for line in lines]


def mapped(directory, tokens) -> MMapIndexedDataset:
    """The same sentences, written and opened as fairseq-preprocess and the task do."""
    builder = MMapIndexedDatasetBuilder(str(directory / "data.bin"), dtype=numpy.uint16)
    for sentence in tokens:
        builder.add_item(sentence)
    builder.finalize(str(directory / "data.idx"))
    return MMapIndexedDataset(str(directory / "data"))


def dataset(lines=LINES, one_stream=False, shuffle=False, with_target=True):
    dictionary = make_dictionary()
    sides = [sentences(dictionary, side) for side in zip(*lines)][: 2 if with_target else 1]
    arguments = [x for side in sides for x in (side, list(map(len, side)), dictionary)]
    pairs = LanguagePairDataset(*arguments, left_pad_source=False, shuffle=shuffle)
    return StreamPairDataset(pairs, "train source", one_stream)


def test_all_that_fairseq_has_set_is_taken_over():
    dictionary = make_dictionary()
    sides = [sentences(dictionary, side) for side in zip(*LINES)]
    source, target = ((side, list(map(len, side)), dictionary) for side in sides)
    pairs = LanguagePairDataset(
        *source,
        *target,
        left_pad_target=True,
        shuffle=False,
        input_feeding=False,
        remove_eos_from_source=True,
        append_eos_to_target=True,
        align_dataset=[torch.zeros(1)] * len(LINES),
        constraints=[torch.ones(1)] * len(LINES),
        append_bos=True,
        eos=7,
        src_lang_id=3,
        tgt_lang_id=4,
        pad_to_multiple=5,
    )
    taken = vars(StreamPairDataset(pairs, "train source", False))
    for name, value in vars(pairs).items():
        if isinstance(value, numpy.ndarray):
            assert numpy.array_equal(taken[name], value), name
        else:
            assert taken[name] is value, name


def many_pairs(number):
    rng = random.Random(1)
    names = "abcdefgh"
    sources = [random_formula(rng, names[: rng.randint(1, 8)], 5) for _ in range(number)]
    return [(source, " ".join(["1"] * rng.randint(1, 40))) for source in sources]


def cost(pairs, batch, dictionary=make_dictionary()):
    """Rows times columns of the larger side, counted word by word."""
    words = [[dictionary.string(side[i]).split() for i in batch] for side in (pairs.src, pairs.tgt)]
    longest = max(len(sentence) + 1 for side in words for sentence in side)
    return longest * sum(max(1, len({w for w in s if w in "abcdefgh"})) for s in words[0])


@pytest.mark.parametrize("chunk", [1, 2, 50_000])
def test_distinct_symbols_are_counted(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(sentence_chunks, "_CHUNK", chunk)
    dictionary = make_dictionary()
    tokens = sentences(dictionary, [source for source, _ in LINES])
    expected = [0, 1, 2, 1, 4]
    assert count_symbols(tokens, dictionary).tolist() == expected
    assert count_symbols(mapped(tmp_path, tokens), dictionary).tolist() == expected


def test_both_paths_agree_with_the_streams_of_the_model(tmp_path):
    dictionary = make_dictionary()
    lines = [source for source, _ in many_pairs(300)]
    tokens = sentences(dictionary, lines)
    counts = count_symbols(mapped(tmp_path, tokens), dictionary)
    assert counts.tolist() == count_symbols(tokens, dictionary).tolist()
    vocabulary = Vocabulary(dictionary)
    _, names = vocabulary.canonicalise(encode(dictionary, lines))
    assert vocabulary.streams(names).num_streams.tolist() == counts.clip(min=1).tolist()
    assert len(set(counts.tolist())) > 5


def test_symbols_that_no_file_lists_count():
    dictionary = make_dictionary(symbols=("a",))
    before = len(dictionary)
    tokens = sentences(dictionary, ["& a & y z", "& y y"])
    assert len(dictionary) == before + 2
    assert count_symbols(tokens, dictionary).tolist() == [3, 1]


def test_without_a_pattern_nothing_is_a_symbol():
    tokens = sentences(make_dictionary(), ["& a & b c"])
    assert count_symbols(tokens, make_dictionary(pattern=None)).tolist() == [0]


@pytest.mark.parametrize("one_stream, expected", [(False, [1, 1, 2, 1, 4]), (True, [1] * 5)])
def test_streams_of_a_model(one_stream, expected):
    assert dataset(one_stream=one_stream).num_streams.tolist() == expected


@pytest.mark.parametrize(
    "max_tokens, max_sentences, expected",
    [
        # Lengths with </s> are 3, 5, 6, 3, 11 for the longer side; streams 1, 1, 2, 1, 4.
        (44, None, [[0, 1, 2, 3], [4]]),
        (99, None, [[0, 1, 2, 3, 4]]),
        (98, None, [[0, 1, 2, 3], [4]]),
        (98, 2, [[0, 1], [2, 3], [4]]),
        (98, 1, [[0], [1], [2], [3], [4]]),
    ],
)
def test_batches_by_hand(max_tokens, max_sentences, expected):
    batches = dataset().batch_by_size(numpy.arange(5), max_tokens, max_sentences)
    assert [batch.tolist() for batch in batches] == expected


def test_batches_of_single_sentences_by_hand():
    pairs = dataset(LINES[:4])
    # 12 is what the third alone costs; the first two cost 10, the last 3.
    batches = pairs.batch_by_size(numpy.arange(4), 12)
    assert [batch.tolist() for batch in batches] == [[0, 1], [2], [3]]


def test_a_source_without_target_counts_by_itself():
    pairs = dataset(with_target=False)
    # Lengths 3, 5, 6, 2, 8.
    batches = pairs.batch_by_size(numpy.arange(5), 32)
    assert [batch.tolist() for batch in batches] == [[0, 1, 2, 3], [4]]
    assert pairs.batch_by_size(numpy.array([], dtype="int64"), 32) == []


@pytest.mark.parametrize("max_tokens", [500, 2000])
def test_batches_are_full_but_not_too_full(max_tokens):
    pairs = dataset(many_pairs(400), shuffle=True)
    order = pairs.ordered_indices()
    batches = pairs.batch_by_size(order, max_tokens)
    assert numpy.concatenate(batches).tolist() == order.tolist()
    for batch, following in zip(batches, batches[1:]):
        assert cost(pairs, batch) <= max_tokens
        assert cost(pairs, [*batch, following[0]]) > max_tokens
    assert cost(pairs, batches[-1]) <= max_tokens


def test_long_sentences_of_many_symbols_come_by_fewer():
    long = " ".join(["& " * 7, *"abcdefgh"])
    pairs = dataset([("& a b", "1")] * 100 + [(long, "1")] * 100)
    batches = pairs.batch_by_size(pairs.ordered_indices(), 256)
    assert len(batches[0]) == 256 // (4 * 2) and len(batches[-1]) <= 256 // (16 * 8)


def test_one_sentence_too_many():
    pairs = dataset()
    message = (
        "^line 5 of the train source counts 44 tokens .11 with </s>; streams: 4., more than the "
        "43 of --max-tokens; raise it .in validation --max-tokens-valid. to 44, or remove the line$"
    )
    with pytest.raises(UserError, match=message):
        pairs.batch_by_size(numpy.arange(5), 43)
    # A line that is not asked for, as it was found too long, does no harm.
    assert len(pairs.batch_by_size(numpy.arange(4), 43)) == 1


@pytest.mark.parametrize("options", [{"max_sentences": 7}, {"max_sentences": None}])
def test_batches_by_sentences_are_those_of_fairseq_and_count_nothing(monkeypatch, options):
    monkeypatch.setattr(stream_pairs, "count_symbols", None)
    pairs = dataset(many_pairs(100), shuffle=True)
    order = pairs.ordered_indices()
    expected = LanguagePairDataset.batch_by_size(pairs, order, **options)
    found = pairs.batch_by_size(order, **options)
    assert list(map(list, found)) == list(map(list, expected))


def test_symbols_are_counted_once(monkeypatch):
    pairs = dataset()
    pairs.batch_by_size(numpy.arange(5), 99)
    monkeypatch.setattr(stream_pairs, "count_symbols", None)
    assert len(pairs.batch_by_size(numpy.arange(5), 44)) == 2


def test_lengths_remain_plain_tokens():
    pairs = dataset()
    assert [pairs.size(4), pairs.num_tokens(4)] == [(8, 11), 11]
    kept, ignored = pairs.filter_indices_by_size(numpy.arange(5), (8, 10))
    assert (kept.tolist(), list(ignored)) == ([0, 1, 2, 3], [4])
    assert torch.equal(pairs[2]["source"], pairs.src[2]) and len(pairs) == 5


def test_fresh_symbols_count_as_streams():
    """Those of the target, or all that there may be where it is not known, and one for the rest."""
    dictionary = make_dictionary()
    sources, targets = ["! 0", "& a ! a", "| a & b c"], ["e f e", "a", "c d b"]
    sides = [[dictionary.encode_line(x).long() for x in side] for side in (sources, targets)]
    sizes = [[len(x) for x in side] for side in sides]
    known = LanguagePairDataset(
        sides[0], sizes[0], dictionary, sides[1], sizes[1], dictionary, left_pad_source=False
    )
    unknown = LanguagePairDataset(sides[0], sizes[0], dictionary, left_pad_source=False)
    assert StreamPairDataset(known, "x", False, 4).num_streams.tolist() == [3, 2, 5]
    assert StreamPairDataset(unknown, "x", False, 4).num_streams.tolist() == [5, 6, 8]
    assert StreamPairDataset(known, "x", True, 4).num_streams.tolist() == [1, 1, 1]
    assert StreamPairDataset(known, "x", False).num_streams.tolist() == [1, 1, 3]
