"""The models that the benchmark compares, each with fairseq's own trainer and generator."""

from argparse import Namespace
from dataclasses import dataclass
from typing import Any, Dict, List, Sequence

import torch
from fairseq import options, tasks, utils
from fairseq.data import LanguagePairDataset
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
from fairseq.trainer import Trainer

from sit_fairseq.benchmark.literal_model import LiteralModel

Sample = Dict[str, Any]

# Table "Hyperparameter choices": the paper's baselines, as fairseq's transformer takes them.
_STOCK = {
    "prop": dict(dim=132, ffn=512, layers=6, heads=6),
    "ltl": dict(dim=128, ffn=1024, layers=8, heads=8),
}
KINDS = ("package", "literal", "stock")


def _training_options(kind: str, recipe: str) -> List[str]:
    if kind != "stock":
        criterion = "adacos" if kind == "package" else "cross_entropy"
        architecture = f"symbol_invariant_transformer_{recipe}"
        task = ["--task", "stream_translation", "--symbols", "[a-z][0-9]*"]
        # Formulas of 35 tokens are up to 34 deep, more than the 64 channels of ltl hold.
        depth = ["--tree-depth", "40"] if recipe == "ltl" else []
        return [*task, "--arch", architecture, "--criterion", criterion, *depth]
    size = _STOCK[recipe]
    return [
        *("--task", "translation", "--arch", "transformer", "--share-all-embeddings"),
        *("--criterion", "cross_entropy", "--dropout", "0.1"),
        *(
            f"--{side}-{name}={size[key]}"
            for side in ("encoder", "decoder")
            for name, key in (
                ("embed-dim", "dim"),
                ("ffn-embed-dim", "ffn"),
                ("layers", "layers"),
                ("attention-heads", "heads"),
            )
        ),
    ]


@dataclass
class Subject:
    """A model under fairseq's trainer.

    Attributes:
        task: the fairseq task.
        trainer: takes training steps; knows the model.
        device: where it computes.
    """

    task: Any
    trainer: Trainer
    device: torch.device

    @classmethod
    def build(cls, kind: str, recipe: str, data: str, device: str, dtype: str) -> "Subject":
        """Builds a model with random weights.

        Args:
            kind: ``package``; ``literal``, the paper's algorithms as they are written; or
                ``stock``, fairseq's transformer with the size of the paper's baselines.
            recipe: whose sizes, ``prop`` or ``ltl``.
            data: a directory of fairseq-preprocess.
            device: ``cpu`` or ``cuda``.
            dtype: ``float32``; ``float16``, as fairseq trains in it; or ``bfloat16``, by
                ``--autocast``, which fairseq's own task does not have.
        """
        torch.manual_seed(1)
        arguments = [data, *_training_options(kind, recipe), "--seed", "1", "--batch-size", "64"]
        arguments += ["--optimizer", "adam", "--lr", "0.0001", "--clip-norm", "1.0"]
        arguments += ["--source-lang", "src", "--target-lang", "tgt", "--num-workers", "0"]
        arguments += ["--fp16"] if dtype == "float16" else []
        if dtype == "bfloat16" and kind != "stock":
            arguments += ["--autocast", dtype]
        arguments += ["--cpu"] if device == "cpu" else []
        parser = options.get_training_parser()
        cfg = convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, arguments))
        task = tasks.setup_task(cfg.task)
        if kind == "literal":
            model = LiteralModel(cfg.model, task.source_dictionary)
        else:
            model = task.build_model(cfg.model)
        if dtype == "bfloat16" and kind == "stock":
            for part in (model.encoder, model.decoder):
                part.forward = torch.autocast(device, torch.bfloat16)(part.forward)
        trainer = Trainer(cfg, task, model, task.build_criterion(cfg.criterion))
        return cls(task, trainer, torch.device(device))

    @property
    def model(self):
        """The model, on its device and in its dtype."""
        return self.trainer.model

    def batches(self, split: str, size: int, count: int) -> List[Sample]:
        """Batches of sentences of similar length, as in training, evenly spaced by length."""
        self.task.load_dataset(split)
        dataset = self.task.dataset(split)
        order = dataset.ordered_indices()
        order = order[dataset.sizes[order, 0].argsort(kind="stable")]
        starts = [(2 * i + 1) * len(order) // (2 * count) - size // 2 for i in range(count)]
        return [
            self._collate(dataset, order[start : start + size])
            for start in (min(max(start, 0), max(len(order) - size, 0)) for start in starts)
        ]

    def sentences(self, pairs: Sequence) -> Sample:
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

    def save(self, path: str) -> None:
        """Writes a checkpoint that fairseq-generate can read."""
        self.trainer.consolidate_optimizer()
        self.trainer.save_checkpoint(path, {"train_iterator": {"epoch": 1}})


def training_case(
    kind: str, recipe: str, data: str, split: str, size: int, count: int, device: str, dtype: str
):
    """A case for ``peak_memory``: training steps, after one on a few sentences."""
    subject = Subject.build(kind, recipe, data, device, dtype)
    subject.train(subject.batches(split, 2, 1))
    batches = subject.batches(split, size, count)
    return lambda: subject.train(batches), subject.device
