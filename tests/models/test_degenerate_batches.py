"""Batches that hold next to nothing obey the laws of all others."""

import pytest
import torch
from conftest import encode, make_dictionary, make_sample
from searches import build, generate

from sit_fairseq.models.config import SYMBOL_EMBEDDINGS

PATTERNS = {"one": "[a-h]", "two": "x=[a-d]\ny=[e-h]", "three": "x=[a-d]\ny=[e-h]\nz=[A-Z]"}
FRESH = {"one": "2", "two": "x=1,y=2", "three": "z=1"}
MODELS = [(kind, sorts, "0") for kind in SYMBOL_EMBEDDINGS for sorts in PATTERNS]
MODELS = [model for model in MODELS if model[:2] not in (("random", "two"), ("random", "three"))]
MODELS += [("streams", sorts, FRESH[sorts]) for sorts in PATTERNS]
BATCHES = {
    "no symbols": (["0"], ["1"]),
    "no symbols twice": (["! 1 &", "0"], ["", "1 0 1"]),
    "some without symbols": (["0", "& a e", "1 1"], ["1", "e a", ""]),
    "the first sort alone": (["a b a"], ["b"]),
    "the second sort alone": (["e f", "0"], ["f e", ""]),
    "empty": (["", ""], ["", ""]),
    "one is empty": (["", "a 0"], ["0", "a"]),
}


def built(kind, sorts, fresh):
    pattern = "EP-DP-EA-DA-CP" if kind == "streams" else "EP-DP-CP"
    options = dict(symbol_embedding=kind, stream_attention=pattern, encoder_positions="rope")
    dictionary = make_dictionary(pattern=PATTERNS[sorts])
    return build(dictionary, fresh_symbols=fresh, **options), dictionary


@pytest.mark.parametrize("left_pad", [False, True])
@pytest.mark.parametrize("kind, sorts, fresh", MODELS)
@pytest.mark.parametrize("name", BATCHES)
def test_a_batch_is_its_sentences_and_has_gradients(kind, sorts, fresh, name, left_pad):
    model, dictionary = built(kind, sorts, fresh)
    sources, targets = BATCHES[name]
    sample = make_sample(dictionary, sources, targets, left_pad)
    found, _ = model(**sample["net_input"])
    for row, pair in zip(found, zip(sources, targets)):
        single = make_sample(dictionary, *([side] for side in pair))
        alone, _ = model(**single["net_input"])
        columns = [row[: alone.size(1), : alone.size(2)], alone[0]]
        finite = columns[1].isfinite()
        assert torch.equal(columns[0].isfinite(), finite)
        torch.testing.assert_close(*(part[finite] for part in columns), rtol=0, atol=1e-10)
    found[found.isfinite()].sum().backward()
    assert all(p.grad is None or bool(p.grad.isfinite().all()) for p in model.parameters())


@pytest.mark.parametrize("kind, sorts, fresh", MODELS)
@pytest.mark.parametrize("name", BATCHES)
def test_answers_have_the_scores_of_teacher_forcing(kind, sorts, fresh, name):
    model, dictionary = built(kind, sorts, fresh)
    sources = BATCHES[name][0]
    net_input = {"src_tokens": encode(dictionary, sources)}
    answers = generate([model], dictionary, {"net_input": net_input}, beam_size=3, max_len_b=4)
    for source, nbest in zip(sources, answers):
        assert len(nbest) == 3
        for found in nbest:
            text = dictionary.string(found["tokens"])
            if "<unk>" in text:  # a canonical symbol that the source has no name for
                assert kind == "canonical"
                continue
            sample = make_sample(dictionary, [source], [text])
            output = model(**sample["net_input"])
            targets = model.get_targets(sample, output)
            forced = model.get_normalized_probs(output, True).gather(2, targets.unsqueeze(2))
            scores = found["positional_scores"]
            torch.testing.assert_close(scores, forced[0, :, 0], rtol=0, atol=1e-9)
