"""The adacos criterion: cross-entropy, and a scale that follows training only."""

import math
from types import SimpleNamespace

import pytest
import torch
from conftest import (
    SOURCES,
    TARGETS,
    encode,
    make_dictionary,
    make_model,
    make_sample,
    redraw,
    shift,
)
from fairseq.criterions.cross_entropy import CrossEntropyCriterion
from fairseq.distributed import ModuleProxyWrapper
from torch.nn.parallel import DistributedDataParallel

from sit_fairseq.errors import UserError
from sit_fairseq.models.adacos_scale import AdaCosScale
from sit_fairseq.tasks.options import StreamTranslationConfig
from sit_fairseq.tasks.stream_translation import StreamTranslationTask
from sit_fairseq.training.criterions import AdaCosCriterion


def build(**options):
    dictionary = make_dictionary()
    model = make_model(dictionary, dropout=0.0, **options)
    redraw(model)
    criterion = AdaCosCriterion(SimpleNamespace(target_dictionary=dictionary), sentence_avg=False)
    return dictionary, model, criterion


def padded(sample, dictionary, columns=3):
    """The same batch with more padding in the target."""
    target = torch.nn.functional.pad(sample["target"], (0, columns), value=dictionary.pad())
    net_input = {**sample["net_input"], "prev_output_tokens": shift(dictionary, target)}
    return {**sample, "target": target, "net_input": net_input}


def test_loss_is_the_cross_entropy_of_scaled_cosines():
    dictionary, model, criterion = build()
    sample = make_sample(dictionary, ["& a b"], ["a 1"])
    loss, sample_size, log = criterion(model, sample)
    logits = model(**sample["net_input"])[0][0].double()
    vocabulary = model.vocabulary
    target = [
        vocabulary.num_base,
        4 + sorted(["!", "&", "|", "<->", "xor", "0", "1"]).index("1"),
        2,
    ]
    expected = sum(
        math.log(sum(math.exp(x) for x in row)) - float(row[column])
        for row, column in zip(logits.tolist(), target)
    )
    assert float(loss) == pytest.approx(expected, rel=1e-5)
    assert sample_size == log["ntokens"] == 3 and log["nsentences"] == 1
    cosines = logits / model.decoder.output_scale.scale
    assert cosines[cosines.isfinite()].abs().max() <= 1 + 1e-6


def test_padding_adds_nothing():
    dictionary, model, criterion = build()
    sample = make_sample(dictionary)
    scales, losses = [], []
    for batch in (sample, padded(sample, dictionary)):
        model.decoder.output_scale.scale.fill_(4.0)
        losses.append(float(criterion(model, batch)[0]))
        model.decoder.output_scale.update()
        scales.append(float(model.decoder.output_scale.scale))
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    assert scales[0] == pytest.approx(scales[1], rel=1e-6) and scales[0] != 4.0


def test_reduced_is_the_sum_of_unreduced():
    dictionary, model, criterion = build()
    sample = make_sample(dictionary)
    reduced = criterion(model, sample)[0]
    unreduced = criterion(model, sample, reduce=False)[0]
    assert unreduced.numel() == sample["target"].numel()
    padding = sample["target"].eq(dictionary.pad()).flatten()
    assert not unreduced[padding].any() and bool((unreduced[~padding] > 0).all())
    torch.testing.assert_close(unreduced.sum(), reduced)


def test_ragged_batch_gives_finite_loss_and_gradients():
    dictionary, model, criterion = build()
    loss = criterion(model, make_sample(dictionary))[0]
    loss.backward()
    assert loss.isfinite()
    assert all(p.grad.isfinite().all() for p in model.parameters())
    assert model.encoder.embed_tokens.weight.grad.abs().max() > 0


def test_batch_is_the_sum_of_its_sentences():
    """The columns that only other sentences have take no probability."""
    dictionary, model, criterion = build()
    together = criterion(model, make_sample(dictionary))[0]
    alone = sum(
        criterion(model, make_sample(dictionary, [source], [target]))[0]
        for source, target in zip(SOURCES, TARGETS)
    )
    torch.testing.assert_close(together, alone)


def test_scale_follows_the_training_batch():
    dictionary, model, criterion = build()
    sample, scale = make_sample(dictionary), model.decoder.output_scale
    s = float(scale.scale)
    criterion(model, sample)
    assert float(scale.scale) == s
    output = model(**sample["net_input"])
    target = model.get_targets(sample, output)
    angles, others = [], []
    for logits, tokens in zip(output[0].tolist(), target.tolist()):
        for row, column in zip(logits, tokens):
            if column != dictionary.pad():
                angles.append(math.acos(row[column] / s))
                others.append(sum(math.exp(x) for i, x in enumerate(row) if i != column))
    median = sorted(angles)[(len(angles) - 1) // 2]
    expected = math.log(sum(others) / len(others)) / math.cos(min(math.pi / 4, median))
    scale.update()
    assert float(scale.scale) == pytest.approx(expected, rel=1e-4) and expected != s


@pytest.mark.parametrize("least", [1.0, 3.0, 10.0])
def test_scale_is_never_below_the_option(least):
    dictionary, model, _ = build()
    criterion = AdaCosCriterion(
        SimpleNamespace(target_dictionary=dictionary), sentence_avg=False, min_scale=least
    )
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


@pytest.mark.parametrize("least", [0.5, 31.0, float("nan")])
def test_bound_outside_the_range_of_the_scale_is_refused(least):
    task = SimpleNamespace(target_dictionary=make_dictionary())
    with pytest.raises(UserError, match=f"--min-scale {least:g} is not between 1 and 30"):
        AdaCosCriterion(task, sentence_avg=False, min_scale=least)


def test_nothing_changes_in_eval_mode():
    dictionary, model, criterion = build()
    model.eval()
    before = float(model.decoder.output_scale.scale)
    criterion(model, make_sample(dictionary))
    model.decoder.output_scale.update()
    assert float(model.decoder.output_scale.scale) == before


def test_scale_is_logged_as_it_was():
    dictionary, model, criterion = build()
    _, _, log = criterion(model, make_sample(dictionary))
    before = float(model.decoder.output_scale.scale)
    model.decoder.output_scale.update()
    assert float(log["scale"]) == before != float(model.decoder.output_scale.scale)


def test_linear_head_is_refused():
    dictionary, model, criterion = build(output_head="linear")
    with pytest.raises(UserError, match="--output-head linear.*use --output-head cosine, or"):
        criterion(model, make_sample(dictionary))


def test_names_of_the_target_are_those_of_the_source():
    """A symbol is right in its own slot, not in the column of its dictionary index."""
    dictionary, model, criterion = build()
    source, target = encode(dictionary, ["& c a"]), encode(dictionary, ["a c"])
    sample = make_sample(dictionary, ["& c a"], ["a c"])
    output = model(**sample["net_input"])
    slots = model.get_targets(sample, output)[0] - model.vocabulary.num_base
    assert slots[:2].tolist() == [1, 0]
    assert torch.equal(sample["target"], target) and torch.equal(
        sample["net_input"]["src_tokens"], source
    )


@pytest.mark.parametrize("name", ["adacos", "cross_entropy"])
def test_dummy_batch_leaves_no_trace(name):
    """fairseq gives one to a rank that has no batch left, so that ranks stay in step."""
    dictionary, model, criterion = build()
    task = StreamTranslationTask(StreamTranslationConfig(), dictionary, dictionary)
    if name == "cross_entropy":
        criterion = CrossEntropyCriterion(task, sentence_avg=False)
    optimizer = SimpleNamespace(backward=lambda loss: loss.backward())
    scale, sample = model.decoder.output_scale, make_sample(dictionary)
    before = float(scale.scale)
    task.train_step(sample, model, criterion, optimizer, 0, ignore_grad=True)
    scale.update()
    assert float(scale.scale) == before
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    assert gradients and not any(bool(gradient.any()) for gradient in gradients)


def test_wrapped_before_a_checkpoint_changed_the_rows(tmp_path):
    """PyTorch's wrapper for several ranks keeps gradients of the size that it saw."""
    dictionary, model, criterion = build()
    larger = make_model(make_dictionary(base=("&", "!", "|", "<->", "xor", "0", "1", "then")))
    task = StreamTranslationTask(StreamTranslationConfig(), dictionary, dictionary)
    optimizer = SimpleNamespace(backward=lambda loss: loss.backward())
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1
    )
    try:
        wrapped = ModuleProxyWrapper(DistributedDataParallel(model, find_unused_parameters=True))
        task.train_step(make_sample(dictionary), wrapped, criterion, optimizer, 0)
        wrapped.load_state_dict(larger.state_dict())
        with pytest.raises(UserError, match="--ddp-backend legacy_ddp"):
            task.train_step(make_sample(dictionary), wrapped, criterion, optimizer, 0)
    finally:
        torch.distributed.destroy_process_group()
