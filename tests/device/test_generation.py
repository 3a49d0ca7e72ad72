"""Beam search and scoring on the pretended device: the CPU's answers, and few waits."""

from unittest import mock

import pytest
import torch
from command_line import ROOT
from conftest import encode, make_dictionary, make_model, make_sample, redraw
from fairseq import search, utils
from literal import PATTERNS
from pretended_device import table
from texts import make_language_model

from sit_fairseq.evaluation.answering import ModelAnswerer
from sit_fairseq.search.hypotheses import SearchOptions
from sit_fairseq.tasks.generators import StreamSequenceGenerator, StreamSequenceScorer

MOST_WAITS = 8


def make_models(device, number=1, **options):
    """The same models here and there."""
    dictionary = make_dictionary()
    host = [make_model(dictionary, **options) for _ in range(number)]
    here = [make_model(dictionary, **options) for _ in range(number)]
    for one, other in zip(host, here):
        redraw(one)
        other.load_state_dict(one.state_dict())
        one.double().eval()
        other.double().eval().to(device.name)
    return dictionary, host, here


def moved(sample, device):
    return utils.apply_to_sample(lambda tensor: tensor.to(device.name), sample)


def check(expected, found):
    """The same hypotheses; those of the device may be on either side."""
    assert len(expected) == len(found)
    for one, other in zip(expected, found):
        assert [h["tokens"].tolist() for h in one] == [h["tokens"].tolist() for h in other]
        for a, b in zip(one, other):
            for key in ("score", "positional_scores"):
                torch.testing.assert_close(b[key].cpu(), a[key], rtol=0, atol=1e-6)


def check_search(device, given=None, prefix=None, left_pad=False, number=1, **model):
    """Searches on both, counting the waits of each step; ``given`` makes their options.

    Returns the number of hypotheses at each step."""
    dictionary, host, here = make_models(device, number, **model)
    sample = make_sample(dictionary, left_pad=left_pad)
    prefix = None if prefix is None else encode(dictionary, prefix)[:, :-1]
    steps, waits, rows = [], [], []

    def answers(models, sample, prefix):
        options = {"beam_size": 3, "max_len_b": 8, **(given(dictionary) if given else {})}
        torch.manual_seed(3)  # for sampling
        generator = StreamSequenceGenerator(models, dictionary, **options)
        step = models[0].step

        def noted_step(tokens, *args):
            steps.append(len(waits))
            rows.append(tokens.size(0))
            return step(tokens, *args)

        with mock.patch.object(models[0], "step", noted_step):
            return generator.generate(models, sample, prefix_tokens=prefix)

    expected = answers(host, sample, prefix)
    with device.counting() as waits:
        steps.clear()
        found = answers(here, *moved((sample, prefix), device))
    check(expected, found)
    assert len(steps) > 4
    for begin, end in zip(steps, [*steps[1:], len(waits)]):
        assert end - begin <= MOST_WAITS, table(waits[begin:end])
    return rows


@pytest.mark.parametrize(
    "options",
    [
        # Each attention, with and without others.
        *(dict(stream_attention=pattern) for pattern in PATTERNS[::18]),
        *(dict(stream_places=places) for places in ("own", "read")),
        *(
            dict(encoder_positions=positions, decoder_positions=positions)
            for positions in ("sinusoidal", "learned")
        ),
        *(
            dict(symbol_embedding=name, stream_attention="EP-DP-CP")
            for name in ("fixed", "canonical", "random")
        ),
    ],
    ids=lambda options: "-".join(options.values()),
)
def test_all_models(device, options):
    check_search(device, **options)


SEARCHES = {
    "greedy": lambda dictionary: {"beam_size": 1},
    "wide": lambda dictionary: {"beam_size": 25},
    "top k": lambda dictionary: {"search_strategy": search.Sampling(dictionary, sampling_topk=4)},
    "top p": lambda dictionary: {"search_strategy": search.Sampling(dictionary, sampling_topp=0.8)},
}


@pytest.mark.parametrize("name", SEARCHES)
def test_all_searches(device, name):
    check_search(device, SEARCHES[name])


def test_prefixes_ensembles_and_padding_on_the_left(device):
    prefix = ["1", "a 0", "d", "h b"]  # of which two end with </s>
    check_search(device, prefix=prefix, left_pad=True, number=2)


@pytest.mark.parametrize("places", ["all", "own", "read"])
def test_language_models_continue_prompts(device, places):
    dictionary = make_dictionary()
    options = dict(stream_places=places, stream_attention="DP-DA")
    host, here = (make_language_model(dictionary, **options) for _ in range(2))
    here.load_state_dict(redraw(host).state_dict())
    host, here = host.double().eval(), here.double().eval().to(device.name)
    sample = {"net_input": {"src_tokens": encode(dictionary, ["& a b", "a"])[:, :-1]}}

    def answers(model, sample):
        generator = StreamSequenceGenerator([model], dictionary, beam_size=3, max_len_b=9)
        return generator.generate([model], sample)

    check(answers(host, sample), answers(here, moved(sample, device)))


def test_sentences_end_at_different_steps(device):
    """Those that are left take their keys and values along."""
    rows = check_search(
        device, lambda dictionary: {"search_strategy": search.Sampling(dictionary), "max_len_b": 40}
    )
    assert len(set(rows)) > 1


def test_references_are_scored(device):
    dictionary, host, here = make_models(device, number=2)
    sample = make_sample(dictionary)
    expected = StreamSequenceScorer(dictionary).generate(host, sample)
    found = StreamSequenceScorer(dictionary).generate(here, moved(sample, device))
    check(expected, found)


def test_autocast_computes_nearly_the_same(device):
    dictionary = make_dictionary()
    model = redraw(make_model(dictionary))
    model.eval().to(device.name)
    sample = moved(make_sample(dictionary), device)
    exact = StreamSequenceScorer(dictionary).generate([model], sample)
    with torch.autocast(device.name, dtype=torch.bfloat16):
        rounded = StreamSequenceScorer(dictionary).generate([model], sample)
        generator = StreamSequenceGenerator([model], dictionary, beam_size=3, max_len_b=8)
        assert all(generator.generate([model], sample))
    for (one,), (other,) in zip(exact, rounded):
        assert one["score"].dtype == other["score"].dtype == torch.float32
        assert float(one["score"]) != float(other["score"])
        assert float(other["score"]) == pytest.approx(float(one["score"]), abs=0.05)


def test_a_shipped_model_answers_the_same(device):
    questions = ["& a ! b", "xor p q", "& | a b ! a", "! 0", "<-> ! a b", "& a & b c"]
    path = str(ROOT / "checkpoints" / "prop" / "model.pt")
    host, here = (
        ModelAnswerer(path, search=SearchOptions(max_len_a=2, max_len_b=20), **options).decode(
            questions
        )
        for options in ({}, {"device": device.name})
    )
    answers = [
        {at: entry.answers for batch in batches for at, entry in batch.items()}
        for batches in (host, here)
    ]
    assert answers[0] == answers[1] and len(answers[0]) == len(questions)
