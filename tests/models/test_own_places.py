"""``--stream-places`` ``own`` and ``read`` beside the laws."""

import random

import pytest
import torch
from conftest import SOURCES, encode, make_dictionary, make_sample
from searches import build, generate

from sit_fairseq.models import own_places
from sit_fairseq.testing import assert_symbol_invariant, renaming

MANY = [f"s{number}" for number in range(60)]


@pytest.fixture
def pair():
    """Models with the same weights, of symbols everywhere and at their places."""
    dictionary = make_dictionary()
    models = [build(dictionary, stream_places=places) for places in ("all", "own")]
    models[1].load_state_dict(models[0].state_dict())
    return dictionary, models


def formula(names):
    names = list(names)
    while len(names) > 1:
        names.append(f"| {names.pop(0)} {names.pop(0)}")
    return names[0]


@pytest.mark.parametrize(
    "pattern, places",
    [("EP-DP-EA-DA-CP", "own"), ("EP-DP-DA-CA-CP", "own"), ("EP-DP-EA-DA-CP", "read")],
)
def test_there_may_be_more_symbols_than_in_training(pattern, places):
    """Of any number: answers score as forced, and are renamed with their sentence."""
    dictionary = make_dictionary(symbols=MANY, pattern="s[0-9]+")
    model = build(dictionary, stream_places=places, stream_attention=pattern)
    sources = [formula(MANY[:40]), formula(MANY[:2])]

    def answer(sample):
        found = generate([model], dictionary, sample, beam_size=3, max_len_b=8)
        return {
            f"{name} {row} {rank}": hypothesis[name]
            for row, nbest in enumerate(found)
            for rank, hypothesis in enumerate(nbest)
            for name in ("tokens", "positional_scores")
        }

    sample = {"net_input": {"src_tokens": encode(dictionary, sources)}}
    answers, others = answer(sample), random.Random(1).sample(MANY, 60)
    cases = {"others": renaming(dictionary, dict(zip(MANY, others)))}
    assert_symbol_invariant(answer, sample, cases, tolerance=0.0)
    texts = [dictionary.string(answers[f"tokens {row} 0"]) for row in range(2)]
    forced = make_sample(dictionary, sources, texts)
    output = model(**forced["net_input"])
    targets = model.get_targets(forced, output).unsqueeze(2)
    scores = model.get_normalized_probs(output, True).gather(2, targets)[..., 0]
    for row, one in enumerate(scores):
        found = answers[f"positional_scores {row} 0"]
        torch.testing.assert_close(one[: found.numel()], found, rtol=0, atol=1e-9)


def test_a_step_keeps_two_rows_a_position(pair):
    """Whatever the number of symbols; so do the sources of all layers but the last."""
    dictionary, (_, model) = pair
    encoded = model.encode(encode(dictionary, ["| a | b | c | d | e f", "0"]))
    cache, tokens = model.memory(encoded), torch.full((2, 1), dictionary.eos())
    for _ in range(5):
        best = model.step(tokens, cache)[:, -1].argmax(1)
        tokens = torch.cat((tokens, best.unsqueeze(1)), 1)
    assert cache.own.entries.shape == (2, 2 * 5)
    assert cache.aggregated.entries.shape == (2, 5)
    assert encoded.states.shape[:2] == (2, 12 + 6)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stream_attention": "EA-DA-CA-CP"},
        {"stream_attention": "EA-DA-CA-CP", "stream_places": "read"},
        {"stream_attention": "EP-DP-CP", "encoder_normalize_before": True, "fresh_symbols": 2},
    ],
)
@pytest.mark.parametrize("most", [1, 200])
def test_the_last_layer_may_be_computed_in_parts(options, most, monkeypatch):
    """With the same values and gradients, for several hypotheses of each source."""
    dictionary = make_dictionary()
    model = build(dictionary, **{"stream_places": "own", **options})
    whole = values_and_gradients(model)
    monkeypatch.setattr(own_places, "MOST_AT_ONCE", most)
    for one, other in zip(whole, values_and_gradients(model)):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_parts_are_computed_again_with_the_same_dropout(monkeypatch):
    model = build(make_dictionary(), stream_places="own", dropout=0.3).train()
    monkeypatch.setattr(own_places, "MOST_AT_ONCE", 200)
    again, parts = values_and_gradients(model), []

    def kept(of_part, x, part, **options):
        parts.append(part)
        return of_part(x, part)

    monkeypatch.setattr(own_places, "checkpoint", kept)
    for one, other in zip(again, values_and_gradients(model)):
        assert torch.equal(one, other)
    assert len(parts) > 1


def values_and_gradients(model):
    """Of two targets of each of five sources, with gaps between positions."""
    torch.manual_seed(1)
    dictionary = model.vocabulary.dictionary
    sources = encode(dictionary, [*SOURCES, "| a | b | c | d | e f"])
    targets = ["0 1 f", "a 0 b", "b 0 d 1", "a", "0 1", "h", "c", "a b", "e", "f"]
    encoded = model.encode(sources).reorder(torch.arange(5).repeat_interleave(2))
    model.zero_grad()
    targets = encode(dictionary, targets)
    position = torch.arange(targets.numel()).view(targets.shape)  # another in each target
    logits = model.decode(targets, encoded, position)
    logits.masked_fill(logits.isinf(), 0.0).square().sum().backward()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    return [logits.detach(), *gradients]


def test_models_answer_together(pair):
    """An ensemble of both scores with the mean of their probabilities."""
    dictionary, models = pair
    sample = {"net_input": {"src_tokens": encode(dictionary, SOURCES)}}
    for source, nbest in zip(SOURCES, generate(models, dictionary, sample, beam_size=2)):
        forced = make_sample(dictionary, [source], [dictionary.string(nbest[0]["tokens"])])
        outputs = [model(**forced["net_input"]) for model in models]
        mean = sum(m.get_normalized_probs(o, False) for m, o in zip(models, outputs)) / 2
        targets = models[0].get_targets(forced, outputs[0]).unsqueeze(2)
        expected = mean.gather(2, targets)[0, :, 0].log()
        torch.testing.assert_close(nbest[0]["positional_scores"], expected, rtol=0, atol=1e-9)
