"""Beam search and scoring in slot space."""

import math

import pytest
import torch
from conftest import SOURCES, encode, make_dictionary, make_model, make_sample, redraw
from fairseq import ngram_repeat_block
from fairseq.search import BeamSearch, DiverseBeamSearch, DiverseSiblingsSearch
from fairseq.sequence_generator import SequenceGenerator

from sit_fairseq.errors import UserError
from sit_fairseq.slot_generation import StreamSequenceGenerator, StreamSequenceScorer


def build(dictionary, **options):
    model = make_model(dictionary, **options)
    redraw(model)
    return model.double().eval()


def generate(models, dictionary, sample, prefix_tokens=None, **options):
    options = {"max_len_b": 6, "unk_penalty": 100.0, **options}
    generator = StreamSequenceGenerator(models, dictionary, **options)
    return generator.generate(models, sample, prefix_tokens=prefix_tokens)


def score(models, dictionary, sample, row, tokens):
    """The scorer's view of one produced sentence."""
    source = sample["net_input"]["src_tokens"][row : row + 1]
    previous = torch.cat((tokens.new_tensor([dictionary.eos()]), tokens[:-1]))
    one = {
        "net_input": {
            "src_tokens": source,
            "src_lengths": source.ne(dictionary.pad()).sum(1),
            "prev_output_tokens": previous.unsqueeze(0),
        },
        "target": tokens.unsqueeze(0),
    }
    return StreamSequenceScorer(dictionary).generate(models, one)[0][0]


@pytest.mark.parametrize("beam", [1, 3, 25])
@pytest.mark.parametrize("members", [1, 2])
def test_scores_are_those_of_the_scorer(beam, members):
    """25 beams are more than the 13 to 17 columns; all of them are returned."""
    dictionary = make_dictionary()
    models = [build(dictionary) for _ in range(members)]
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


def test_ensemble_averages_probabilities():
    dictionary = make_dictionary()
    models = [build(dictionary) for _ in range(2)]
    sample = make_sample(dictionary)
    tokens = generate(models, dictionary, sample, beam_size=2)[3][0]["tokens"]
    alone = [score([model], dictionary, sample, 3, tokens)["positional_scores"] for model in models]
    together = score(models, dictionary, sample, 3, tokens)["positional_scores"]
    mean = torch.stack(alone).exp().mean(0).log()
    torch.testing.assert_close(together, mean)
    assert (alone[0] - alone[1]).abs().max() > 1e-3


def test_ensemble_of_different_base_tokens_is_refused():
    models = [build(make_dictionary()), build(make_dictionary(base=("!", "&", "0")))]
    with pytest.raises(UserError, match="different base tokens"):
        StreamSequenceGenerator(models, make_dictionary())
    with pytest.raises(UserError, match="different base tokens"):
        StreamSequenceScorer(make_dictionary()).generate(models, make_sample(make_dictionary()))


def test_only_tokens_of_the_sentence_are_produced():
    dictionary = make_dictionary()
    finished = generate([build(dictionary)], dictionary, make_sample(dictionary), beam_size=25)
    for source, hypotheses in zip(SOURCES, finished):
        own = {token for token in source.split() if dictionary.is_symbol(token)}
        produced = " ".join(dictionary.string(h["tokens"]) for h in hypotheses).split()
        symbols = {token for token in produced if dictionary.is_symbol(token)}
        # 25 hypotheses of an untrained model leave no slot out.
        assert symbols == own


def test_sentences_without_symbols():
    dictionary = make_dictionary()
    sample = make_sample(dictionary, ["! 0", "& 1 0"], ["0", "1"])
    finished = generate([build(dictionary)], dictionary, sample, beam_size=3)
    assert [len(hypotheses) for hypotheses in finished] == [3, 3]


def test_symbols_beyond_the_trained_dictionary():
    dictionary = make_dictionary()
    model = build(dictionary)
    known = len(dictionary)
    sources = ["<-> | yy b & b ! yy".replace("yy", name) for name in ("d", "z")]
    old, new = (
        generate([model], dictionary, make_sample(dictionary, [source], ["1"]), beam_size=25)[0]
        for source in sources
    )
    assert dictionary.index("z") >= known
    texts = [[dictionary.string(h["tokens"]) for h in hypotheses] for hypotheses in (old, new)]
    assert [text.replace("d", "z") for text in texts[0]] == texts[1]
    assert any("z" in text for text in texts[1])
    assert [float(h["score"]) for h in old] == [float(h["score"]) for h in new]


def test_prefix_tokens():
    dictionary = make_dictionary()
    model, sample = build(dictionary), make_sample(dictionary)
    prefix = encode(dictionary, ["0", "a 1", "b", "h a c"])
    prefix = prefix.masked_fill(prefix.eq(dictionary.eos()), dictionary.pad())
    finished = generate([model], dictionary, sample, prefix, beam_size=3)
    for row, hypotheses in enumerate(finished):
        given = prefix[row][prefix[row].ne(dictionary.pad())]
        for hypothesis in hypotheses:
            assert torch.equal(hypothesis["tokens"][: given.numel()], given)
            scored = score([model], dictionary, sample, row, hypothesis["tokens"])
            assert torch.allclose(hypothesis["positional_scores"], scored["positional_scores"])


def test_prefix_with_a_symbol_of_another_sentence_is_refused():
    dictionary = make_dictionary()
    prefix = torch.tensor([[dictionary.index("h")]] * len(SOURCES))
    with pytest.raises(UserError, match="cannot begin with 'h'.*--prefix-size"):
        generate([build(dictionary)], dictionary, make_sample(dictionary), prefix)


def test_prefix_may_be_shorter_in_some_sentences():
    dictionary = make_dictionary()
    prefix = torch.tensor([[dictionary.pad()]] * 3 + [[dictionary.index("h")]])
    finished = generate([build(dictionary)], dictionary, make_sample(dictionary), prefix)
    assert int(finished[3][0]["tokens"][0]) == dictionary.index("h")


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


def test_padding_side_does_not_matter():
    dictionary = make_dictionary()
    model = build(dictionary)
    right, left = (
        generate([model], dictionary, make_sample(dictionary, left_pad=left_pad), beam_size=3)
        for left_pad in (False, True)
    )
    for one, other in zip(right, left):
        for a, b in zip(one, other):
            assert torch.equal(a["tokens"], b["tokens"]) and a["score"] == b["score"]


def test_scorer_gives_each_target_token_its_log_probability():
    dictionary = make_dictionary()
    model, sample = build(dictionary), make_sample(dictionary)
    given = sample["target"].clone()
    scored = StreamSequenceScorer(dictionary).generate([model], sample)
    output = model(**sample["net_input"])
    log_probs = model.get_normalized_probs(output, log_probs=True)
    canonical = model.get_targets(sample, output)
    for row, (hypothesis,) in enumerate(scored):
        length = hypothesis["tokens"].numel()
        assert torch.equal(hypothesis["tokens"], given[row, :length])
        expected = log_probs[row, range(length), canonical[row, :length]]
        torch.testing.assert_close(hypothesis["positional_scores"], expected)
    assert torch.equal(sample["target"], given)


@pytest.mark.parametrize(
    "options", [{"lm_model": object()}, {"tokens_to_suppress": ("0",)}], ids=["lm", "suppress"]
)
def test_unsupported_options_are_refused(options):
    dictionary = make_dictionary()
    with pytest.raises(UserError, match="not supported with streams"):
        StreamSequenceGenerator([build(dictionary)], dictionary, **options)


def test_constraints_are_refused():
    dictionary = make_dictionary()
    model, sample = build(dictionary), make_sample(dictionary)
    generator = StreamSequenceGenerator([model], dictionary)
    with pytest.raises(NotImplementedError, match="constraints"):
        generator.generate([model], sample, constraints=torch.ones(4, 1))


class _StockEnding(StreamSequenceGenerator):
    """Ends a sentence when fairseq would."""

    is_finished = SequenceGenerator.is_finished
    finalize_hypos = SequenceGenerator.finalize_hypos


@pytest.mark.parametrize("beam", [2, 4])
def test_search_goes_on_while_an_unfinished_hypothesis_is_better(beam):
    dictionary = make_dictionary()
    better = worse = 0
    for seed in range(4):
        torch.manual_seed(seed)
        model = make_model(dictionary).eval()
        redraw(model)
        sample = {"net_input": {"src_tokens": encode(dictionary, SOURCES)}}
        best = [
            [
                float(hypotheses[0]["score"])
                for hypotheses in kind(
                    [model], dictionary, beam, max_len_b=12, unk_penalty=100.0
                ).generate([model], sample)
            ]
            for kind in (StreamSequenceGenerator, _StockEnding)
        ]
        # The two differ in which sentences share a batch, hence in the last bits.
        better += sum(ours > stock + 1e-5 for ours, stock in zip(*best))
        worse += sum(ours < stock - 1e-5 for ours, stock in zip(*best))
    assert better > 0
    assert worse == 0


class _FullSearch(StreamSequenceGenerator):
    """Never ends before the greatest length.

    Attributes:
        bounds: (step, (B,) best possible scores) whenever a hypothesis finished.
    """

    def _best_possible(self, unfinished, step, max_len):
        self.bounds.append((step, super()._best_possible(unfinished, step, max_len)))
        return torch.full_like(unfinished, math.inf)

    def generate(self, models, sample, **kwargs):
        self.bounds = []
        return super().generate(models, sample, **kwargs)


class _Chain:
    """Stands in for the decoder: what comes next depends on the last token and its place.

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

    def __call__(self, tokens, encoder_out=None, incremental_state=None):
        self.rows += tokens.size(0)
        return self.logits[tokens.size(1) - 1, tokens[:, -1:]], {"attn": [None]}


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
    "no bigram twice": {"no_repeat_ngram_size": 2},
}


@pytest.mark.parametrize("options", SEARCHES.values(), ids=SEARCHES)
def test_answers_are_those_of_the_search_that_never_ends_early(options):
    """The first nbest answers with their scores, bit for bit, and in fewer steps; no finished
    hypothesis beats the bound of any step before."""
    dictionary = make_dictionary()
    sample = {"net_input": {"src_tokens": encode(dictionary, SOURCES[3:] * 2)}}
    model = make_model(dictionary, encoder_layers=1).eval()
    ours = full = 0
    for seed in range(3):
        torch.manual_seed(seed)
        chain = model.decoder.forward = _Chain(1.0 + 4 * seed, (13, 15))
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


@pytest.mark.parametrize("beam", [2, 3, 8])
def test_answers_of_models_are_those_of_the_full_search(beam):
    dictionary = make_dictionary()
    sample = {"net_input": {"src_tokens": encode(dictionary, SOURCES)}}
    differs = 0
    for seed in range(2):
        torch.manual_seed(seed)
        model = build(dictionary)
        best, full, stock = (
            [
                hypotheses[0]["tokens"].tolist()
                for hypotheses in kind([model], dictionary, beam, max_len_b=12).generate(
                    [model], sample
                )
            ]
            for kind in (StreamSequenceGenerator, _FullSearch, _StockEnding)
        )
        assert best == full
        differs += stock != full
    assert differs


def answers(kind, **options):
    """Token by token, of one untrained model."""
    dictionary = make_dictionary()
    torch.manual_seed(2)
    model = make_model(dictionary).eval()
    redraw(model)
    sample = {"net_input": {"src_tokens": encode(dictionary, SOURCES)}}
    generator = kind([model], dictionary, 4, max_len_b=12, unk_penalty=100.0, **options)
    found = generator.generate([model], sample)
    return [[h["tokens"].tolist() for h in hypotheses] for hypotheses in found]


def test_beam_search_goes_on_whoever_names_it():
    """The task hands fairseq's own search over."""
    named = answers(StreamSequenceGenerator, search_strategy=BeamSearch(make_dictionary()))
    assert named == answers(StreamSequenceGenerator)
    assert named != answers(_StockEnding)


class _OtherBeamSearch(BeamSearch):
    """Somebody's own."""


@pytest.mark.parametrize(
    "search",
    [
        _OtherBeamSearch,
        lambda dictionary: DiverseBeamSearch(dictionary, 2, 0.5),
        lambda dictionary: DiverseSiblingsSearch(dictionary, 0.5),
    ],
    ids=["other", "groups", "siblings"],
)
def test_other_searches_end_as_in_fairseq(search):
    ours, stock = (
        answers(kind, search_strategy=search(make_dictionary()))
        for kind in (StreamSequenceGenerator, _StockEnding)
    )
    assert ours == stock


def test_fairseqs_extension_for_gpus_is_not_used(monkeypatch):
    """It blocks repeated n-grams where fairseq's search is; this one is on the CPU."""
    monkeypatch.setattr(ngram_repeat_block, "is_cuda_extension_usable", lambda: True)
    dictionary = make_dictionary()
    options = {"no_repeat_ngram_size": 2, "min_len": 8, "max_len_b": 12}
    for hypotheses in generate([build(dictionary)], dictionary, make_sample(dictionary), **options):
        tokens = hypotheses[0]["tokens"].tolist()
        pairs = list(zip(tokens, tokens[1:]))
        assert len(pairs) > 5 and len(set(pairs)) == len(pairs)


def test_greedy_decoding_ends_where_fairseq_ends_it():
    dictionary = make_dictionary()
    model = make_model(dictionary).eval()
    redraw(model)
    sample = {"net_input": {"src_tokens": encode(dictionary, SOURCES)}}
    ours, stock = (
        kind([model], dictionary, 1, max_len_b=12).generate([model], sample)
        for kind in (StreamSequenceGenerator, _StockEnding)
    )
    for one, other in zip(ours, stock):
        assert torch.equal(one[0]["tokens"], other[0]["tokens"])
        assert one[0]["score"] == other[0]["score"]
