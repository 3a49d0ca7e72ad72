"""Beam search and scoring in slot space."""

import math
import re

import pytest
import torch
from conftest import SOURCES, encode, make_dictionary, make_sample
from fairseq.search import Sampling
from searches import build, generate

from sit_fairseq.tasks.generators import StreamSequenceScorer


def score(models, dictionary, sample, row, tokens):
    """The scorer's view of one produced sentence."""
    source, answer = map(dictionary.text, (sample["net_input"]["src_tokens"][row], tokens))
    one = make_sample(dictionary, [source], [answer])
    return StreamSequenceScorer(dictionary).generate(models, one)[0][0]


def test_each_part_of_a_model_gets_its_own_mode_back():
    dictionary = make_dictionary()
    model = build(dictionary, dropout=0.5)
    expected = generate([model], dictionary, make_sample(dictionary))
    model.decoder.train()
    found = generate([model], dictionary, make_sample(dictionary))
    assert [h["tokens"].tolist() for one in found for h in one] == [
        h["tokens"].tolist() for one in expected for h in one
    ]
    assert model.decoder.training and not (model.training or model.encoder.training)


@pytest.mark.parametrize("beam, members, fresh", [(1, 1, 3), (3, 2, 0), (25, 1, 0), (25, 2, 3)])
def test_scores_are_those_of_the_scorer(beam, members, fresh):
    """25 beams are more than the 13 to 17 columns; all of them are returned."""
    dictionary = make_dictionary()
    models = [build(dictionary, fresh_symbols=fresh) for _ in range(members)]
    sample = make_sample(dictionary)
    finished = generate(models, dictionary, sample, beam_size=beam, unk_penalty=0.0)
    assert len(finished) == len(SOURCES)
    for row, hypotheses in enumerate(finished):
        assert len(hypotheses) == beam
        assert len({tuple(h["tokens"].tolist()) for h in hypotheses}) == beam
        scores = [float(h["score"]) for h in hypotheses]
        assert scores == sorted(scores, reverse=True) and math.isfinite(scores[-1])
        for hypothesis in hypotheses[:4]:
            tokens = hypothesis["tokens"]
            scored = score(models, dictionary, sample, row, tokens)
            assert torch.equal(scored["tokens"], tokens)
            for key in ("positional_scores", "score"):
                torch.testing.assert_close(hypothesis[key], scored[key], rtol=0, atol=1e-6)


def fresh_of(dictionary, source, tokens):
    """The symbols of an answer that its source lacks, in order of first appearance."""
    own, answer = source.split(), dictionary.string(tokens).split()
    return [t for t in dict.fromkeys(answer) if dictionary.is_symbol(t) and t not in own]


def draw(models, dictionary, sample, prefix=None):
    """40 answers to each sentence, at random."""
    options = {"beam_size": 40, "max_len_b": 15, "search_strategy": Sampling(dictionary)}
    return generate(models, dictionary, sample, prefix, **options)


def test_fresh_symbols_have_the_first_names_that_the_source_lacks():
    dictionary = make_dictionary()
    model, sample = build(dictionary, fresh_symbols=3), make_sample(dictionary)
    counts = set()
    for source, hypotheses in zip(SOURCES, draw([model], dictionary, sample)):
        names = [name for name in "abcdefgh" if name not in source.split()]
        for hypothesis in hypotheses:
            fresh = fresh_of(dictionary, source, hypothesis["tokens"])
            assert fresh == names[: len(fresh)]
            counts.add((source, len(fresh)))
    # Also where the source has no symbol.
    assert {(source, number) for source in SOURCES for number in range(4)} <= counts


@pytest.mark.slow
def test_a_prefix_may_introduce_fresh_symbols():
    """Beside those of the source. They keep their names, no other gets one of these, and scoring
    agrees."""
    dictionary = make_dictionary()
    model, sample = build(dictionary, fresh_symbols=3), make_sample(dictionary)
    prefix = encode(dictionary, ["h 1 h", "c", "b", "e h f e"])
    prefix = prefix.masked_fill(prefix.eq(dictionary.eos()), dictionary.pad())
    finished = draw([model], dictionary, sample, prefix)
    more = 0
    for row, hypotheses in enumerate(finished):
        given = prefix[row][prefix[row].ne(dictionary.pad())]
        own = set(SOURCES[row].split()) | set(dictionary.string(given).split())
        free = [name for name in "abcdefgh" if name not in own]
        for number, hypothesis in enumerate(hypotheses):
            tokens = hypothesis["tokens"]
            assert torch.equal(tokens[: given.numel()], given)
            new = fresh_of(dictionary, " ".join(own), tokens)
            assert new == free[: len(new)]
            more += len(new)
            if number > 4:
                continue
            scored = score([model], dictionary, sample, row, tokens)
            assert torch.equal(scored["tokens"], tokens)
            assert torch.allclose(hypothesis["positional_scores"], scored["positional_scores"])
    assert more > 0


@pytest.mark.parametrize(
    "start, fresh, reason", [("h", 0, "'h'"), ("e f g", 2, "'g'.* nor a fresh one")]
)
def test_a_prefix_of_symbols_without_a_slot_is_refused(start, fresh, reason):
    """Those of another sentence, or more fresh ones than there are."""
    dictionary = make_dictionary()
    prefix = encode(dictionary, [start] * len(SOURCES))[:, :-1]
    model = build(dictionary, fresh_symbols=fresh)
    found = generate([model], dictionary, make_sample(dictionary), prefix)
    assert [h["score"] for nbest in found[:3] for h in nbest] == [-math.inf] * 3
    assert all(re.search(f"cannot begin with {reason}", nbest[0]["reason"]) for nbest in found[:3])


def test_a_source_that_is_too_long_to_be_matched_is_one_sentence():
    dictionary = make_dictionary()
    model, sources = build(dictionary, max_target_positions=5), ["& a b", "& a & b c"]
    options = dict(match_source_len=True, beam_size=2)
    short, long = generate(
        [model], dictionary, make_sample(dictionary, sources, sources), **options
    )
    assert len(short) == 2 and "reason" not in short[0]
    assert "has 6 tokens, but the model writes at most 4" in long[0]["reason"]


def test_special_tokens_are_no_answers_in_a_new_model():
    """An older one, whose checkpoint says nothing, may still produce them."""
    dictionary = make_dictionary()
    model, sample = build(dictionary), make_sample(dictionary)
    specials = [dictionary.bos(), dictionary.pad(), dictionary.unk()]
    output = model(**sample["net_input"])
    assert not model.get_normalized_probs(output, False)[..., specials].any()
    state = {name: v for name, v in model.state_dict().items() if "source_only" not in name}
    model.load_state_dict(state)
    assert bool(model(**sample["net_input"])[0][..., specials].isfinite().all())
    assert not any("source_only" in name for name in model.state_dict())


def test_unknown_target_tokens_count_for_no_loss():
    dictionary = make_dictionary()
    model, sample = build(dictionary), make_sample(dictionary)
    sample["target"][1, 0] = dictionary.unk()
    target = model.get_targets(sample, model(**sample["net_input"]))
    assert int(target[1, 0]) == dictionary.pad() and int(target[1, 1]) != dictionary.pad()
