"""The tied matrix, against Algorithms 1 and 5."""

import torch
from conftest import encode, make_dictionary

from sit_fairseq.models.all_places import AllPlaces
from sit_fairseq.models.embedding import TokenEmbedding
from sit_fairseq.symbols.streams import Streams
from sit_fairseq.symbols.vocabulary import Vocabulary

SENTENCES = ["& c | a c", "! 0", "xor b b"]
SLOTS = [2, 0, 1]


def build(cosine, dtype=torch.float64):
    dictionary = make_dictionary()
    vocabulary = Vocabulary(dictionary)
    embedding = TokenEmbedding(vocabulary, 10, cosine=cosine, scaled=not cosine).to(dtype)
    canonical, _ = vocabulary.read(encode(dictionary, SENTENCES))
    return embedding, canonical


def test_initial_logits_of_the_linear_head_are_small():
    embedding, _ = build(cosine=False)
    hidden = torch.nn.functional.layer_norm(torch.randn(500, 4, 10).double(), (10,))
    logits = embedding.table().project(hidden, Streams.of_slots(torch.ones(500, dtype=torch.long)))
    assert 0.5 < logits[logits.isfinite()].std() < 2


def test_half_precision_projects_in_float32():
    embedding, canonical = build(cosine=True, dtype=torch.bfloat16)
    streams = Streams.of_slots(torch.tensor(SLOTS))
    hidden = embedding.table().embed(AllPlaces(canonical, embedding.vocabulary.num_base, streams))
    assert hidden.dtype == torch.bfloat16
    assert embedding.table().project(hidden, streams).dtype == torch.float32


def test_projection_keeps_full_precision_under_autocast():
    embedding, canonical = build(cosine=True, dtype=torch.float32)
    streams = Streams.of_slots(torch.tensor(SLOTS))
    hidden = torch.randn(4, canonical.size(1), 10)
    expected = embedding.table().project(hidden, streams)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = embedding.table().project(hidden, streams)
    assert torch.equal(found, expected)
