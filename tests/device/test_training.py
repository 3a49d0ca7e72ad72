"""Training steps on the pretended device: the CPU's numbers, and few waits."""

import pytest
import torch
from conftest import make_dictionary, make_sample, redraw
from fairseq import options, tasks
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.logging import metrics
from fairseq.trainer import Trainer
from literal import PATTERNS
from pretended_device import table

# fairseq's trainer alone waits five times.
MOST_WAITS = 8
SIZES = [
    *("--arch", "symbol_invariant_transformer", "--encoder-layers", 2, "--dropout", 0),
    *("--encoder-embed-dim", 24, "--encoder-ffn-embed-dim", 40, "--encoder-attention-heads", 3),
]


@pytest.fixture
def make_trainer(tmp_path):
    """Makes fairseq's trainer of a small model, always with the same weights."""
    dictionary = make_dictionary()
    for side in ("src", "tgt"):
        dictionary.save(str(tmp_path / f"dict.{side}.txt"))

    def make(device, *arguments) -> Trainer:
        given = [tmp_path, "--task", "stream_translation", "-s", "src", "-t", "tgt"]
        given += ["--symbols", "[a-z]", "--optimizer", "sgd", "--lr", 0.1, "--clip-norm", 1]
        parser = options.get_training_parser()
        args = options.parse_args_and_arch(parser, [str(x) for x in (*given, *SIZES, *arguments)])
        cfg = convert_namespace_to_omegaconf(args)
        task = tasks.setup_task(cfg.task)
        torch.manual_seed(1)
        model = task.build_model(cfg.model)
        redraw(model)
        cfg.common.cpu = True  # or it would look for CUDA itself
        trainer = Trainer(cfg, task, model, task.build_criterion(cfg.criterion))
        if device is not None:
            trainer.cuda, trainer.device = True, torch.device(device.name)
            model.to(trainer.device)
        return trainer

    return make


def batches(dictionary):
    """As different in their sizes as in their symbols."""
    return [
        make_sample(dictionary),
        make_sample(dictionary, ["! 0", "& 1 0"], ["0", "1"]),
        make_sample(dictionary, ["| a b", "& c d"], ["a 1", "c 1 d 1"]),
        make_sample(dictionary, left_pad=True),
    ]


def check_steps(device, as_gpu, make_trainer, *arguments):
    """The same steps on both give the same weights and logs, and few waits."""
    host, here = make_trainer(None, *arguments), make_trainer(device, *arguments)
    samples = batches(host.task.source_dictionary)
    metrics.reset()
    expected = [host.train_step([sample]) for sample in samples]
    metrics.reset()
    for sample, logged in zip(samples, expected):
        with as_gpu(), device.counting() as waits:
            found = here.train_step([sample])
        assert len(waits) <= MOST_WAITS, table(waits)
        assert found == pytest.approx(logged, rel=1e-5)
    for (name, expected), found in zip(host.model.named_parameters(), here.model.parameters()):
        torch.testing.assert_close(
            found.cpu(), expected, rtol=0, atol=1e-5, msg=lambda text: f"{name}: {text}"
        )


@pytest.mark.parametrize("pattern", PATTERNS)
def test_all_patterns(device, as_gpu, make_trainer, pattern):
    check_steps(
        device, as_gpu, make_trainer, "--stream-attention", pattern, "--criterion", "adacos"
    )
