"""A search ends when no better answer can come."""

import math

import pytest
import torch
from conftest import SOURCES, encode, make_dictionary, make_model, make_sample
from searches import build, generate

from sit_fairseq.search import beam_search
from sit_fairseq.search.beam_search import best_possible
from sit_fairseq.tasks.generators import StreamSequenceGenerator


class _FullSearch(StreamSequenceGenerator):
    """Never ends before the greatest length.

    Attributes:
        bounds: (step, (B,) best possible scores) after each step.
    """

    def generate(self, models, sample):
        self.bounds = []

        def never(unfinished, step, longest, options):
            self.bounds.append((step, best_possible(unfinished, step, longest, options)))
            return torch.full_like(unfinished, math.inf)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(beam_search, "best_possible", never)
            return super().generate(models, sample)


class _Chain:
    """Stands in for a step of the model: what comes next depends on the last token and its place.

    <unk> is likely, and </s> nearly certain at the greatest length, so that bounds are reached.

    Args:
        sharpness: how far from equal the probabilities are.
        shape: greatest length and number of columns.

    Attributes:
        rows: hypotheses that were asked for, in all steps.
    """

    def __init__(self, sharpness, shape):
        length, columns = shape
        self.logits = sharpness * torch.randn(length, columns, columns)
        self.logits[:, :, 3] += 2 * sharpness
        self.logits[-1, :, 2] += 50 * sharpness
        self.rows = 0

    def __call__(self, tokens, cache):
        self.rows += tokens.size(0)
        return self.logits[tokens.size(1) - 1, tokens[:, -1:]]


SEARCHES = {
    "plain": {},
    "longer is better": {"len_penalty": 2.0},
    "shorter is better": {"len_penalty": 0.3},
    "sums": {"len_penalty": 0.0},
    "negative": {"len_penalty": -1.0},
    "unnormalised": {"normalize_scores": False},
    "least length": {"min_len": 5},
    "negative, least length": {"len_penalty": -0.5, "min_len": 5},
    "bonus": {"unk_penalty": -0.7},
    "temperature": {"temperature": 3.0},
}


@pytest.mark.parametrize("options", SEARCHES.values(), ids=SEARCHES)
def test_answers_are_those_of_the_search_that_never_ends_early(options):
    """The first nbest answers with their scores, bit for bit, and in fewer steps; no finished
    hypothesis beats the bound of any step before."""
    dictionary = make_dictionary()
    sample = {"net_input": {"src_tokens": encode(dictionary, SOURCES[3:] * 2)}}
    model = make_model(dictionary, encoder_layers=1).eval()
    ours = full = 0
    for seed in (0, 2):
        torch.manual_seed(seed)
        chain = model.step = _Chain(1.0 + 4 * seed, (13, 15))
        for beam, nbest in ((2, 1), (3, 3), (9, 4)):
            given = {"max_len_b": 12, **options}
            complete = _FullSearch([model], dictionary, beam, **given)
            chain.rows = 0
            expected = complete.generate([model], sample)
            full += chain.rows
            chain.rows = 0
            found = StreamSequenceGenerator(
                [model], dictionary, beam, nbest=nbest, **given
            ).generate([model], sample)
            ours += chain.rows
            for row, (one, other) in enumerate(zip(found, expected)):
                for mine, theirs in zip(one[:nbest], other[:nbest]):
                    assert torch.equal(mine["tokens"], theirs["tokens"])
                    assert mine["score"] == theirs["score"]
                for step, bound in complete.bounds:
                    later = [h["score"] for h in other if h["tokens"].numel() > step + 1]
                    assert all(score <= bound[row] for score in later)
    assert 0 < ours < full


@pytest.mark.parametrize("prefix", ["", "a 0"])
def test_a_prefix_may_end_an_answer(prefix):
    """A target that is shorter than --prefix-size, and the answers beside it."""
    dictionary = make_dictionary()
    tokens = encode(dictionary, [prefix, "! 0 1"])
    sample = make_sample(dictionary, ["& a b", "! a"], ["a 1", "a 0"])
    ended, longer = generate([build(dictionary)], dictionary, sample, tokens[:, :3], beam_size=3)
    assert [dictionary.string(h["tokens"]) for h in ended] == [prefix]
    assert len(longer) == 3
    assert all(dictionary.string(h["tokens"]).startswith("! 0 1") for h in longer)
