"""The models that the benchmark compares, each with fairseq's own trainer and generator."""

from argparse import Namespace
from typing import Any, Dict, List, Sequence, Tuple

import torch
from fairseq import options, tasks, utils
from fairseq.data import LanguagePairDataset
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.trainer import Trainer
from literal_model import LiteralModel

from sit_fairseq.models import fairseq_adapter  # noqa: F401, registers the model

Sample = Dict[str, Any]

KINDS = ("package", "literal", "stock")
# The places of its streams, for each kind that is the package.
PLACES = {"package": "all", "own places": "own", "read places": "read"}
# Table "Hyperparameter choices": the paper's baselines, as fairseq's transformer takes them.
_STOCK = {
    "prop": {"embed-dim": 132, "ffn-embed-dim": 512, "layers": 6, "attention-heads": 6},
    "ltl": {"embed-dim": 128, "ffn-embed-dim": 1024, "layers": 8, "attention-heads": 8},
}


def _options(kind: str, recipe: str) -> List[str]:
    if kind != "stock":
        words = ["--task", "stream_translation", "--symbols", "[a-z][0-9]*"]
        words += ["--arch", f"symbol_invariant_transformer_{recipe}"]
        # Formulas of 35 tokens are up to 34 deep, more than the 64 channels of ltl hold.
        words += ["--tree-depth", "40"] if recipe == "ltl" else []
        if kind not in PLACES:
            return [*words, "--criterion", "cross_entropy"]
        words += ["--stream-places", PLACES[kind], "--max-source-positions", "4096"]
        return [*words, "--criterion", "adacos"]
    words = ["--task", "translation", "--arch", "transformer", "--share-all-embeddings"]
    for side in ("encoder", "decoder"):
        words += [f"--{side}-{name}={size}" for name, size in _STOCK[recipe].items()]
    return [*words, "--criterion", "cross_entropy", "--dropout", "0.1"]


class Subject:
    """A model with random weights under fairseq's trainer.

    Args:
        kind: ``package``; ``own places`` and ``read places``, the same with such
            ``--stream-places``; ``literal``, the paper's algorithms as they are written; or
            ``stock``, fairseq's transformer with the size of the paper's baselines.
        recipe: whose sizes, ``prop`` or ``ltl``; or ``tiny``, of the package alone.
        data: a folder of fairseq-preprocess.
        device: ``cpu`` or ``cuda``.
        dtype: ``float32``; ``float16``, as fairseq trains in it; or ``bfloat16``, by autocast.

    Attributes:
        device: where it computes.
        task: the fairseq task.
        trainer: takes training steps; knows the model.
    """

    def __init__(self, kind: str, recipe: str, data: str, device: str, dtype: str) -> None:
        torch.manual_seed(1)
        words = [data, *_options(kind, recipe), "--seed", "1", "--batch-size", "64"]
        words += ["--optimizer", "adam", "--lr", "0.0001", "--clip-norm", "1.0"]
        words += ["--source-lang", "src", "--target-lang", "tgt", "--num-workers", "0"]
        words += ["--fp16"] if dtype == "float16" else []
        if dtype == "bfloat16" and kind != "stock":
            words += ["--autocast", dtype]
        words += ["--cpu"] if device == "cpu" else []
        parser = options.get_training_parser()
        cfg = convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, words))
        self.device = torch.device(device)
        self.task = tasks.setup_task(cfg.task)
        if kind == "literal":
            model = LiteralModel(cfg.model, self.task.source_dictionary)
        else:
            model = self.task.build_model(cfg.model)
        if dtype == "bfloat16" and kind == "stock":
            for part in (model.encoder, model.decoder):
                part.forward = torch.autocast(device, torch.bfloat16)(part.forward)
        self.trainer = Trainer(cfg, self.task, model, self.task.build_criterion(cfg.criterion))

    @property
    def model(self):
        """The model, on its device and in its dtype."""
        return self.trainer.model

    def batches(self, size: int, count: int) -> List[Sample]:
        """Batches of training sentences of similar length, evenly spaced by length."""
        self.task.load_dataset("train")
        dataset = self.task.dataset("train")
        order = dataset.ordered_indices()
        order = order[dataset.sizes[order, 0].argsort(kind="stable")]
        starts = [(2 * i + 1) * len(order) // (2 * count) - size // 2 for i in range(count)]
        starts = [min(max(start, 0), max(len(order) - size, 0)) for start in starts]
        return [self._collate(dataset, order[start : start + size]) for start in starts]

    def sentences(self, pairs: Sequence[Tuple[str, str]]) -> Sample:
        """A batch of pairs of sources and targets, as text."""
        dictionary = self.task.source_dictionary
        sides = [
            [dictionary.encode_line(line, add_if_not_exist=False).long() for line in side]
            for side in zip(*pairs)
        ]
        sizes = [[tokens.numel() for tokens in side] for side in sides]
        dataset = LanguagePairDataset(
            sides[0], sizes[0], dictionary, sides[1], sizes[1], dictionary, left_pad_source=False
        )
        return self._collate(dataset, range(len(pairs)))

    def _collate(self, dataset, positions) -> Sample:
        sample = dataset.collater([dataset[int(position)] for position in positions])
        return utils.apply_to_sample(lambda tensor: tensor.to(self.device), sample)

    def train(self, batches: Sequence[Sample]) -> None:
        """One update for each batch."""
        for sample in batches:
            self.trainer.train_step([sample])

    def forward(self, batches: Sequence[Sample]) -> None:
        """The forward passes of training."""
        self.model.train()
        for sample in batches:
            self.model(**sample["net_input"])

    @torch.no_grad()
    def encode(self, batches: Sequence[Sample]) -> None:
        """The encoder alone, without gradients."""
        self.model.eval()
        for sample in batches:
            self.model.encode(sample["net_input"]["src_tokens"])

    def validate(self, batches: Sequence[Sample]) -> None:
        """The teacher-forced loss of each batch."""
        for sample in batches:
            self.trainer.valid_step(sample)

    def generator(self, beam: int, length: int):
        """A search for answers of exactly so many tokens, so that all models do the same."""
        self.model.eval()
        arguments = dict(beam=beam, max_len_a=0, max_len_b=length, min_len=length)
        return self.task.build_generator([self.model], Namespace(**arguments))

    def generate(self, generator, batches: Sequence[Sample]) -> None:
        """Answers batches as fairseq-generate does."""
        self.model.eval()
        for sample in batches:
            self.task.inference_step(generator, [self.model], sample)
