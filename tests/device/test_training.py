"""Steps of fairseq's trainer on the pretended device: the CPU's numbers, and few waits."""

from copy import deepcopy
from functools import cache

import pytest
import torch
from conftest import make_dictionary, make_sample, redraw
from fairseq import options, tasks
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.logging import metrics
from fairseq.trainer import Trainer
from literal import PATTERNS
from pretended_device import table

from sit_fairseq.tasks.scoring import fetch_numbers

MOST_WAITS = 8  # fairseq's trainer alone needs four
ADACOS = ("--criterion", "adacos")
CROSS_ENTROPY = ("--criterion", "cross_entropy", "--sentence-avg")
SMOOTHING = ("--criterion", "label_smoothed_cross_entropy", "--label-smoothing", 0.1)
MODELS = {
    "linear": {"output_head": "linear", "encoder_positions": "rope"},
    "pre-norm": {
        "encoder_normalize_before": True,
        "decoder_normalize_before": True,
        "activation_fn": "gelu",
        "share_embeddings": "none",
        "layernorm_embedding": True,
    },
    "deep trees": {"tree_depth": 30},
    "read places": {"stream_places": "read"},
    "gaps": {
        "encoder_positions": "sinusoidal",
        "decoder_positions": "learned",
        "position_gaps": 20,
    },
    "own places": {"encoder_positions": "rope", "stream_places": "own", "position_gaps": 20},
    **{
        name: {"symbol_embedding": name, "stream_attention": "EP-DP-CP"}
        for name in ("fixed", "canonical", "random")
    },
}


@pytest.fixture(scope="module")
def configuration(tmp_path_factory):
    """fairseq's configuration for options of its command line."""
    folder = tmp_path_factory.mktemp("data")
    for side in ("src", "tgt"):
        make_dictionary().save(str(folder / f"dict.{side}.txt"))

    @cache  # slow to make
    def make(arguments):
        given = [folder, "--task", "stream_translation", "-s", "src", "-t", "tgt", "--cpu"]
        given += ["--symbols", "[a-z]", "--optimizer", "sgd", "--lr", 0.1, "--clip-norm", 1]
        given += ["--arch", "symbol_invariant_transformer", "--encoder-attention-heads", 3]
        given += ["--encoder-embed-dim", 36, "--encoder-ffn-embed-dim", 40, "--dropout", 0]
        parser = options.get_training_parser()
        words = [
            str(word) for word in (*given, "--encoder-layers", 1, "--decoder-layers", 2, *arguments)
        ]
        return convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, words))

    return lambda *arguments: deepcopy(make(arguments))


def make_trainer(cfg, device=None, **model_options) -> Trainer:
    """fairseq's trainer of a small model, always with the same weights."""
    cfg.model.update(model_options)
    task = tasks.setup_task(cfg.task)
    torch.manual_seed(1)
    model = task.build_model(cfg.model)
    redraw(model)
    trainer = Trainer(cfg, task, model, task.build_criterion(cfg.criterion))
    if device is not None:
        trainer.cuda, trainer.device = True, torch.device(device.name)
        model.to(trainer.device)
    metrics.reset()
    return trainer


def batches():
    """As different in their sizes as in their symbols."""
    dictionary = make_dictionary()
    dictionary.set_pattern("[a-z]")
    return [
        make_sample(dictionary),
        make_sample(dictionary, ["! 0", "& 1 0"], ["0", "1"]),
        make_sample(dictionary, ["| a b", "& d c"], ["a 1", "c 1 d 1"], left_pad=True),
    ]


def check_steps(device, as_gpu, cfg, **model_options):
    """The same steps on both give the same weights and logs, and few waits, of which gaps need one."""
    most = MOST_WAITS + ("position_gaps" in model_options)
    host = make_trainer(cfg, **model_options)
    expected = [host.train_step([sample]) for sample in batches()]
    expected.append(host.valid_step(batches()[0]))
    here = make_trainer(cfg, device, **model_options)
    with as_gpu():
        for sample, logged in zip(batches(), expected):
            with device.counting() as waits:
                found = here.train_step([sample])
            assert len(waits) <= most, table(waits)
            assert found == pytest.approx(logged, rel=1e-5)
        assert here.valid_step(batches()[0]) == pytest.approx(expected[-1], rel=1e-5)
    for (name, one), other in zip(host.model.named_parameters(), here.model.parameters()):
        torch.testing.assert_close(
            other.cpu(), one, rtol=0, atol=1e-5, msg=lambda text: f"{name}: {text}"
        )


CASES = {
    # Each attention, with and without others.
    **{pattern: (ADACOS, dict(stream_attention=pattern)) for pattern in PATTERNS[::18]},
    **{name: (ADACOS, options) for name, options in MODELS.items()},
    "cross-entropy": (CROSS_ENTROPY, {}),
    "renaming": ((*ADACOS, "--alpha-renaming"), {}),
    "linear": (SMOOTHING, MODELS["linear"]),
}


@pytest.mark.parametrize("name", CASES)
def test_all_models_and_losses(device, as_gpu, configuration, name):
    criterion, model = CASES[name]
    check_steps(device, as_gpu, configuration(*criterion), **model)


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_optimizers(device, as_gpu, configuration, optimizer):
    """They divide by the size of gradients, and enlarge what rounding leaves of zeros."""
    cfg = configuration(*ADACOS, "--optimizer", optimizer, "--weight-decay", 0.1)
    host = make_trainer(cfg)
    expected = [host.train_step([sample])["loss"] for sample in batches()]
    here = make_trainer(cfg, device)
    for sample, loss in zip(batches(), expected):
        with as_gpu(), device.counting() as waits:
            found = here.train_step([sample])
        assert len(waits) <= MOST_WAITS, table(waits)
        assert found["loss"] == pytest.approx(loss, rel=1e-2)


def first_loss(trainer, device, as_gpu) -> float:
    with as_gpu(), device.counting() as waits:
        loss = trainer.train_step([batches()[0]])["loss"]
    assert len(waits) <= MOST_WAITS, table(waits)
    return loss


def test_dropout(device, as_gpu, configuration):
    rates = {"dropout": 0.3, "attention_dropout": 0.2, "activation_dropout": 0.1}
    exact, dropped = (
        first_loss(make_trainer(configuration(*ADACOS), device, **options), device, as_gpu)
        for options in ({}, rates)
    )
    assert exact != pytest.approx(dropped, rel=1e-3)


def test_autocast(device, as_gpu, configuration):
    exact, rounded = (
        make_trainer(configuration(*ADACOS, "--decoder-layers", 6, *options), device)
        for options in ((), ("--autocast", "bfloat16"))
    )
    losses = [first_loss(trainer, device, as_gpu) for trainer in (exact, rounded)]
    assert losses[0] != losses[1] == pytest.approx(losses[0], rel=0.05)
    assert {parameter.dtype for parameter in rounded.model.parameters()} == {torch.float32}


def test_judged_validation(device, as_gpu, configuration):
    cfg = configuration(*ADACOS, "--validate-semantics", "prop", "--validate-samples", 3)
    host, here = make_trainer(cfg), make_trainer(cfg, device)
    expected = host.valid_step(batches()[0])
    with as_gpu():
        found = here.valid_step(batches()[0])
    assert {"correct", "exact", "invalid"} <= set(expected)
    assert found == pytest.approx(expected, rel=1e-5)


def test_numbers_of_all_batches_are_fetched_with_one_wait(device):
    logs = [
        {"loss": torch.tensor(value, device=device.name), "ntokens": 7, "scale": torch.tensor(2.0)}
        for value in (0.1, 16777217, 1 / 3)
    ]
    with device.counting() as waits:
        found = fetch_numbers(logs)
    assert len(waits) == 1
    for log, one in zip(logs, found):
        assert list(one) == list(log) and one["ntokens"] == 7 and one["scale"] is log["scale"]
        assert one["loss"].dtype == log["loss"].dtype and not one["loss"].is_cuda
        assert one["loss"].item() == log["loss"].item()
