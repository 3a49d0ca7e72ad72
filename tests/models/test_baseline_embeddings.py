"""Matrices of the baselines, with a row or a code for each symbol."""

import pytest
import torch
from conftest import encode, make_dictionary

from sit_fairseq.errors import UserError
from sit_fairseq.models.baselines import (
    CanonicalVocabulary,
    FixedVocabulary,
    NamedVocabulary,
    OneStreamEmbedding,
    RandomEmbedding,
    random_codes,
    read_slots,
)
from sit_fairseq.symbols.streams import Streams

C, D = 10, 4
PLAIN = [
    (FixedVocabulary, OneStreamEmbedding, 4 + 7 + 8),
    (CanonicalVocabulary, OneStreamEmbedding, 4 + 7 + 8),
]


def dual_part(dictionary=None, *, seed=1, cosine=True, scaled=False):
    vocabulary = NamedVocabulary(dictionary or make_dictionary())
    embedding = RandomEmbedding(vocabulary, C, D, seed, cosine=cosine, scaled=scaled)
    return embedding.double().eval()


def use(embedding, tokens):
    canonical, slots = read_slots(embedding.vocabulary, tokens)
    streams = slots.streams()
    return canonical, embedding.table().embed(canonical, streams), streams


def codes(embedding):
    """The code of each symbol in the vectors of a batch."""
    return embedding.table().matrix[embedding.vocabulary.num_base :, C - D :].sign()


def masked(logits):
    """Those of <s>, <pad> and <unk> are minus infinity."""
    logits[..., [0, 1, 3]] = -float("inf")
    return logits


@pytest.mark.parametrize("vocabulary_class, embedding_class, rows", PLAIN)
@pytest.mark.parametrize("cosine", [True, False])
@pytest.mark.parametrize("scaled", [True, False])
def test_rows_embed_and_project(vocabulary_class, embedding_class, rows, cosine, scaled):
    dictionary = make_dictionary()
    vocabulary = vocabulary_class(dictionary)
    embedding = embedding_class(vocabulary, C, cosine=cosine, scaled=scaled).double()
    assert embedding.weight.shape == (rows, C) and embedding.num_classes == rows
    matrix = embedding.weight / embedding.weight.norm(dim=1, keepdim=True)
    matrix = matrix if cosine else embedding.weight
    canonical, embedded, streams = use(embedding, encode(dictionary, ["& c | a c", "! 0"]))
    torch.testing.assert_close(embedded, matrix[canonical] * (C**0.5 if scaled else 1))
    hidden = torch.randn(2, 3, C, dtype=torch.float64)
    unit = hidden / hidden.norm(dim=2, keepdim=True) if cosine else hidden
    expected = torch.einsum("btc,vc->btv", unit, matrix)
    torch.testing.assert_close(embedding.table().project(hidden, streams), masked(expected))


def test_ids_without_a_vector_read_as_unk():
    embedding = OneStreamEmbedding(FixedVocabulary(make_dictionary()), C, cosine=True, scaled=False)
    streams = Streams.of_slots(torch.tensor([0]))
    found = embedding.table().embed(torch.tensor([[19, 10**6, 3]]), streams)
    assert torch.equal(found[0, 0], found[0, 2]) and torch.equal(found[0, 1], found[0, 2])


def test_dual_part_vectors():
    dictionary = make_dictionary("abc")
    embedding = dual_part(dictionary)
    num_base = embedding.vocabulary.num_base
    assert embedding.weight.shape == (num_base + 1, C - D)
    assert embedding.num_classes == num_base + 3
    canonical, embedded, _ = use(embedding, encode(dictionary, ["& a b"]))
    base, a, b = embedded[0, :3]
    assert not base[C - D :].any()
    torch.testing.assert_close(embedded.norm(dim=2), torch.ones(1, 4, dtype=torch.float64))
    # One shared learnt part, and codes of equal weight at corners of the hypercube.
    assert torch.equal(a[: C - D], b[: C - D])
    shared = embedding.weight[-1] / embedding.weight[-1].norm()
    torch.testing.assert_close(a[: C - D], shared / 2**0.5)
    for symbol in (a, b):
        torch.testing.assert_close(
            symbol[C - D :].abs(), torch.full((D,), (2 * D) ** -0.5).double()
        )
    assert not torch.equal(a, b)


@pytest.mark.parametrize("cosine", [True, False])
def test_dual_part_logits_are_products_with_the_same_vectors(cosine):
    dictionary = make_dictionary("abc")
    embedding = dual_part(dictionary, cosine=cosine)
    every = torch.arange(embedding.num_classes).unsqueeze(0)
    _, _, streams = use(embedding, encode(dictionary, ["a"]))
    hidden = torch.nn.functional.normalize(torch.randn(1, 3, C, dtype=torch.float64), dim=2)
    table = embedding.table()
    expected = hidden @ table.embed(every, streams)[0].t()
    torch.testing.assert_close(table.project(hidden, streams), masked(expected))


def test_codes_are_drawn_per_batch_in_training_and_fixed_in_evaluation():
    embedding = dual_part()
    fixed = codes(embedding)
    assert torch.equal(codes(embedding), fixed)
    embedding.train()
    drawn = []
    for seed in (5, 5, 6):
        torch.manual_seed(seed)
        drawn.append(codes(embedding))
    assert torch.equal(drawn[0], drawn[1])
    assert not torch.equal(drawn[0], drawn[2]) and not torch.equal(drawn[0], fixed)
    assert torch.equal(codes(embedding.eval()), fixed)


def test_codes_belong_to_names():
    """They depend on the seed, not on the order or the size of the dictionary."""
    first = dict(zip("abc", random_codes(list("abc"), 32, 1).tolist()))
    other = dict(zip("cxa", random_codes(list("cxa"), 32, 1).tolist()))
    assert first["a"] == other["a"] and first["c"] == other["c"]
    again = dict(zip("abc", random_codes(list("abc"), 32, 2).tolist()))
    assert first["a"] != again["a"]
    assert len({tuple(code) for code in [*first.values(), *again.values()]}) == 6


def test_codes_are_balanced():
    drawn = random_codes([f"p{index}" for index in range(2000)], 20, 3)
    assert drawn.abs().eq(1).all() and drawn.mean(0).abs().max() < 0.1
    correlation = drawn.t() @ drawn / 2000 - torch.eye(20)
    assert correlation.abs().max() < 0.15


def test_every_corner_is_used_before_any_is_missing():
    names = [f"p{index}" for index in range(9)]
    assert len({tuple(code) for code in random_codes(names[:8], 3, 1).tolist()}) == 8
    with pytest.raises(
        UserError, match="3 channels tell 8 symbols.*are 9, which 4 do; change --symbol-code-dim"
    ):
        random_codes(names, 3, 1)


def test_checkpoint_holds_no_codes():
    embedding = dual_part(make_dictionary("abc"))
    state = embedding.state_dict()
    buffers = {"vocabulary.base_tokens", "vocabulary.symbols", "vocabulary.source_only"}
    assert set(state) == {"weight", *buffers}
    loaded = dual_part(make_dictionary("uvwxyza", ("1",), pattern=None))
    loaded.load_state_dict(state)
    assert torch.equal(loaded.weight, embedding.weight) and codes(loaded).shape == (7, D)
