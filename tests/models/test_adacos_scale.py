"""The adaptive scale, against the published formula worked out by hand; of two processes in
integration/test_distributed.py."""

import math

import pytest
import torch
from conftest import make_model

from sit_fairseq.models.adacos_scale import AdaCosScale


def random_batch(rows, classes=6):
    return torch.rand(rows, classes) * 2 - 1, torch.randint(classes, (rows,))


def observed(scale, *batches):
    """The scale after one update over these micro-batches of (cosines, target)."""
    for cosines, target in batches:
        scale.observe(scale(cosines), target)
    scale.update()
    return float(scale.scale)


def test_initial_scale():
    scale = AdaCosScale(13)
    assert float(scale.scale) == pytest.approx(math.sqrt(2) * math.log(12), rel=1e-6)
    assert scale(torch.tensor([0.5])).item() == pytest.approx(math.log(12) / math.sqrt(2))
    assert all(float(AdaCosScale(few).scale) > 0 for few in (1, 2, 3))


@pytest.mark.parametrize(
    "right, divisor",
    [((0.9, 0.8, 0.95), 0.9), ((0.1, -0.3, 0.9), math.cos(math.pi / 4))],
    ids=["median angle", "angle capped at 45 degrees"],
)
def test_published_formula(right, divisor):
    scale = AdaCosScale(4)
    s = float(scale.scale)
    wrong = [(0.2, -0.1, 0.4), (0.0, 0.3, -0.6), (0.5, 0.1, -0.2)]
    cosines = torch.tensor([[r, *w] for r, w in zip(right, wrong)])
    cosines[1, [0, 2]] = cosines[1, [2, 0]]  # the right column is the target's
    average = sum(math.exp(s * c) for row in wrong for c in row) / 3
    expected = math.log(average) / divisor
    assert observed(scale, (cosines, torch.tensor([0, 2, 0]))) == pytest.approx(expected, rel=1e-5)


def test_columns_that_a_sentence_lacks_do_not_count():
    cosines, target = random_batch(7)
    lacking = torch.cat((cosines, torch.full((7, 3), -math.inf)), dim=1)
    values = {observed(AdaCosScale(6), (c, target)) for c in (cosines, lacking)}
    assert len(values) == 1


def test_micro_batches_are_pooled():
    first, second = random_batch(5), random_batch(8)
    pooled = observed(
        AdaCosScale(6), (torch.cat((first[0], second[0])), torch.cat((first[1], second[1])))
    )
    assert observed(AdaCosScale(6), first, second) == pytest.approx(pooled, rel=1e-6)
    assert observed(AdaCosScale(6), first) != pytest.approx(pooled, rel=1e-3)


def test_scale_holds_until_the_update():
    scale = AdaCosScale(6)
    before = float(scale.scale)
    cosines, target = random_batch(9)
    scale.observe(scale(cosines), target)
    assert float(scale.scale) == before
    scale.update()
    after = float(scale.scale)
    assert after != before
    scale.update()  # nothing was observed since
    assert float(scale.scale) == after


def test_updates_use_the_scale_of_their_logits():
    scale, batch = AdaCosScale(6), random_batch(9)
    first = observed(scale, batch)
    second = observed(scale, batch)
    fresh = AdaCosScale(6)
    fresh.scale.fill_(first)
    assert second == pytest.approx(observed(fresh, batch), rel=1e-6)


@pytest.mark.parametrize("kept", [0, 1], ids=["no batch", "two batches"])
def test_forget_drops_the_last_batch(kept):
    """Criterions other than adacos show the scale none."""
    scale, batches, dummy = AdaCosScale(6), [random_batch(9)][:kept], random_batch(4)
    for cosines, target in [*batches, *[dummy] * kept]:
        scale.observe(scale(cosines), target)
    scale.forget()
    assert observed(scale) == observed(AdaCosScale(6), *batches)


@pytest.mark.parametrize("right, wrong", [(-1, 1), (1, -1), (1, 1), (0, 0.9)])
def test_scale_stays_a_bounded_positive_temperature(right, wrong):
    """Also where the published rule feeds on itself, or takes the logarithm of zero."""
    scale = AdaCosScale(6)
    cosines = torch.full((4, 6), float(wrong))
    cosines[:, 0] = right
    for _ in range(30):
        assert 1 <= observed(scale, (cosines, torch.zeros(4, dtype=torch.long))) <= 30
    impossible = torch.full((4, 6), -math.inf)
    impossible[:, 0] = 1.0
    before = float(scale.scale)
    assert 1 <= observed(scale, (impossible, torch.zeros(4, dtype=torch.long))) <= before


def test_gradient_passes_through_the_cosines_only():
    scale = AdaCosScale(6)
    cosines = torch.rand(2, 6, requires_grad=True)
    scale.observe(scale(cosines), torch.tensor([0, 1]))
    scale(cosines).sum().backward()
    assert torch.allclose(cosines.grad, scale.scale.expand(2, 6)) and not scale.scale.requires_grad


def test_the_scale_keeps_its_precision_wherever_the_model_goes():
    model = make_model()
    model.decoder.output_scale.scale.fill_(7.123456)
    model.half()
    kept = model.decoder.output_scale.scale
    assert kept.dtype == torch.float32 and float(kept) == pytest.approx(7.123456, rel=1e-6)
    assert model.decoder.output_scale(torch.ones(1).half()).dtype == torch.float16
    for moved in (model.double(), model.to("meta")):
        assert moved.decoder.output_scale.scale.dtype == torch.float32
    assert moved.decoder.output_scale.scale.is_meta
