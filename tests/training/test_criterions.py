"""Cross-entropies over the columns of each sentence, and a scale that follows training only."""

import math
from types import SimpleNamespace

import pytest
import torch
from conftest import (
    make_dictionary,
    make_model,
    make_sample,
    make_task,
    redraw,
)
from fairseq.criterions.cross_entropy import CrossEntropyCriterion
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion

from sit_fairseq.models.adacos_scale import AdaCosScale
from sit_fairseq.training.criterions import (
    AdaCosCriterion,
    StreamLabelSmoothedCrossEntropyCriterion,
)


def smoothed(smoothing):
    return lambda task: StreamLabelSmoothedCrossEntropyCriterion(task, False, smoothing)


def adacos(task):
    return AdaCosCriterion(task, sentence_avg=False)


def build(make=adacos, **options):
    dictionary = make_dictionary()
    model = redraw(make_model(dictionary, dropout=0.0, **options))
    return dictionary, model, make(SimpleNamespace(target_dictionary=dictionary))


@pytest.mark.parametrize("make", [adacos, smoothed(0.3)], ids=["adacos", "smoothed"])
def test_reduced_is_the_sum_of_unreduced(make):
    dictionary, model, criterion = build(make)
    sample = make_sample(dictionary)
    reduced, unreduced = (criterion(model, sample, reduce=reduce)[0] for reduce in (True, False))
    padding = sample["target"].eq(dictionary.pad()).flatten()
    assert unreduced.numel() == padding.numel()
    assert not unreduced.flatten()[padding].any() and bool(
        (unreduced.flatten()[~padding] > 0).all()
    )
    torch.testing.assert_close(unreduced.sum(), reduced)


# AdaCos.


def test_loss_is_the_cross_entropy_of_scaled_cosines():
    dictionary, model, criterion = build()
    sample = make_sample(dictionary, ["& c a"], ["a 1"])
    loss, sample_size, log = criterion(model, sample)
    logits = model(**sample["net_input"])[0][0].detach().double()
    base = model.vocabulary.num_base
    # A symbol is right in its own slot, not in the column of its dictionary index.
    one = 4 + sorted(["!", "&", "|", "<->", "xor", "0", "1"]).index("1")
    expected = sum(
        math.log(sum(math.exp(x) for x in row)) - row[column]
        for row, column in zip(logits.tolist(), [base + 1, one, 2])
    )
    assert float(loss.detach()) == pytest.approx(expected, rel=1e-5)
    assert sample_size == log["ntokens"] == 3 and log["nsentences"] == 1
    cosines = logits / model.decoder.output_scale.scale
    assert cosines[cosines.isfinite()].abs().max() <= 1 + 1e-6


def test_scale_follows_the_training_batch():
    dictionary, model, criterion = build()
    sample, scale = make_sample(dictionary), model.decoder.output_scale
    s = float(scale.scale)
    _, _, log = criterion(model, sample)
    assert float(scale.scale) == s
    alone, (logits, _) = AdaCosScale(model.encoder.embed_tokens.num_classes), model(
        **sample["net_input"]
    )
    real = sample["target"].ne(dictionary.pad())
    target = model.get_targets(sample, model(**sample["net_input"]))
    alone.observe(logits[real], target[real])
    for observing in (scale, alone):
        observing.update()
    assert float(scale.scale) == pytest.approx(float(alone.scale), rel=1e-4) != s
    assert float(log["scale"]) == s  # what is logged is what the loss was computed with
    model.eval()
    criterion(model, sample)
    scale.update()
    assert float(scale.scale) == pytest.approx(float(alone.scale), rel=1e-4)


@pytest.mark.parametrize("least", [1.0, 3.0, 10.0])
def test_scale_is_never_below_the_option(least):
    dictionary, model, criterion = build(lambda task: AdaCosCriterion(task, False, least))
    sample, scale = make_sample(dictionary), model.decoder.output_scale
    published = float(AdaCosScale(model.encoder.embed_tokens.num_classes).scale)
    _, _, log = criterion(model, sample)
    assert float(log["scale"]) == pytest.approx(max(least, published))
    scale.update()
    unbounded = float(scale.scale)
    assert unbounded == pytest.approx(least) if least == 10 else unbounded > least
    # A model that is right with certainty asks for no scale at all.
    scale.observe(torch.tensor([[10.0, -10.0]]), torch.tensor([0]))
    scale.update()
    assert float(scale.scale) == least


@pytest.mark.parametrize("name", ["adacos", "cross_entropy"])
def test_dummy_batch_leaves_no_trace(name):
    """fairseq gives one to a rank that has no batch left, so that ranks stay in step."""
    dictionary, model, criterion = build()
    task = make_task(dictionary)
    if name == "cross_entropy":
        criterion = CrossEntropyCriterion(task, sentence_avg=False)
    optimizer = SimpleNamespace(backward=lambda loss: loss.backward())
    scale = model.decoder.output_scale
    before = float(scale.scale)
    task.train_step(make_sample(dictionary), model, criterion, optimizer, 0, ignore_grad=True)
    scale.update()
    assert float(scale.scale) == before
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    assert gradients and not any(bool(gradient.any()) for gradient in gradients)


# Label smoothing.


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
    dictionary, _, criterion = build(smoothed(smoothing))
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


def test_equal_numbers_of_symbols_give_the_loss_of_fairseq():
    dictionary, model, criterion = build(smoothed(0.2))
    model.vocabulary.source_only = None  # fairseq's would smooth over what cannot be produced
    stock = LabelSmoothedCrossEntropyCriterion(criterion.task, False, 0.2)
    sample = make_sample(dictionary, ["& a b", "| c ! d"], ["a 1", "d 0 c 1"])
    torch.testing.assert_close(criterion(model, sample)[0], stock(model, sample)[0])
    # The stock criterion sums the columns that a sentence does not have.
    assert not stock(model, make_sample(dictionary))[0].isfinite()
