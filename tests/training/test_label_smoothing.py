"""Label smoothing over the columns that each sentence has."""

import math
from types import SimpleNamespace

import pytest
import torch
from conftest import SOURCES, TARGETS, make_dictionary, make_model, make_sample, redraw
from fairseq.criterions.cross_entropy import CrossEntropyCriterion
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion

from sit_fairseq.training.criterions import StreamLabelSmoothedCrossEntropyCriterion


def task(dictionary):
    return SimpleNamespace(target_dictionary=dictionary)


def build(smoothing, **options):
    dictionary = make_dictionary()
    model = make_model(dictionary, dropout=0.0, **options)
    redraw(model)
    criterion = StreamLabelSmoothedCrossEntropyCriterion(task(dictionary), False, smoothing)
    return dictionary, model, criterion


class FixedModel(torch.nn.Module):
    """Outputs the given probabilities; impossible columns have probability zero."""

    def __init__(self, probabilities):
        super().__init__()
        self.logits = torch.tensor(probabilities).log()

    def forward(self, **unused):
        return self.logits, {}

    def get_normalized_probs(self, net_output, log_probs, sample=None):
        return net_output[0].log_softmax(-1)

    def get_targets(self, sample, net_output):
        return sample["target"]


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_probabilities_worked_out_by_hand(smoothing):
    dictionary, _, criterion = build(smoothing)
    probabilities = [[[0.2, 0.1, 0.4, 0.3, 0.0], [0.1, 0.2, 0.3, 0.15, 0.25], [0.2] * 5]]
    target = torch.tensor([[2, 4, dictionary.pad()]])
    sample = {"net_input": {}, "target": target, "ntokens": 2}
    loss, sample_size, log = criterion(FixedModel(probabilities), sample)
    # The first position has four columns, the second five, the third is padding.
    first = -(1 - smoothing) * math.log(0.4) - smoothing / 3 * math.log(0.2 * 0.1 * 0.3)
    rest = math.log(0.1 * 0.2 * 0.3 * 0.15)
    second = -(1 - smoothing) * math.log(0.25) - smoothing / 4 * rest
    assert float(loss) == pytest.approx(first + second, rel=1e-5)
    assert float(log["nll_loss"]) == pytest.approx(-math.log(0.4 * 0.25), rel=1e-5)
    assert sample_size == 2


def test_zero_smoothing_is_cross_entropy():
    dictionary, model, criterion = build(0.0)
    sample = make_sample(dictionary)
    expected = CrossEntropyCriterion(task(dictionary), False)(model, sample)[0]
    loss, _, log = criterion(model, sample)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(log["nll_loss"], expected.detach())


def test_equal_numbers_of_symbols_give_the_loss_of_fairseq():
    dictionary, model, criterion = build(0.2)
    model.vocabulary.source_only = None  # fairseq's would smooth over what cannot be produced
    sample = make_sample(dictionary, ["& a b", "| c ! d"], ["a 1", "d 0 c 1"])
    stock = LabelSmoothedCrossEntropyCriterion(task(dictionary), False, 0.2)
    torch.testing.assert_close(criterion(model, sample)[0], stock(model, sample)[0])


@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_padding_adds_nothing(smoothing):
    dictionary, model, criterion = build(smoothing)
    together = criterion(model, make_sample(dictionary))[2]
    alone = [
        criterion(model, make_sample(dictionary, [source], [target]))[2]
        for source, target in zip(SOURCES, TARGETS)
    ]
    for key in ("loss", "nll_loss"):
        torch.testing.assert_close(together[key], sum(log[key] for log in alone))


def test_reduced_is_the_sum_of_unreduced():
    dictionary, model, criterion = build(0.3)
    sample = make_sample(dictionary)
    _, _, reduced = criterion(model, sample)
    _, _, unreduced = criterion(model, sample, reduce=False)
    padding = sample["target"].eq(dictionary.pad()).flatten()
    for key in ("loss", "nll_loss"):
        assert unreduced[key].numel() == padding.numel()
        assert not unreduced[key][padding].any() and unreduced[key][~padding].all()
        torch.testing.assert_close(unreduced[key].sum(), reduced[key])


@pytest.mark.parametrize("head", ["cosine", "linear"])
def test_ragged_batch_gives_finite_loss_and_gradients(head):
    dictionary, model, criterion = build(0.3, output_head=head)
    sample = make_sample(dictionary)
    # The stock criterion sums the columns that a sentence does not have.
    stock = LabelSmoothedCrossEntropyCriterion(task(dictionary), False, 0.3)
    assert not stock(model, sample)[0].isfinite()
    loss = criterion(model, sample)[0]
    loss.backward()
    assert loss.isfinite() and all(p.grad.isfinite().all() for p in model.parameters())


def test_smoothing_prefers_less_certain_output():
    dictionary, _, criterion = build(0.3)
    target = torch.tensor([[2]])
    sample = {"net_input": {}, "target": target, "ntokens": 1}
    losses = [
        float(criterion(FixedModel([[[(1 - p) / 3, (1 - p) / 3, p, (1 - p) / 3]]]), sample)[0])
        for p in (0.7, 0.5, 0.99)
    ]
    assert losses[0] < losses[1] and losses[0] < losses[2]
