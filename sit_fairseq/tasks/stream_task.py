"""The common part of fairseq's tasks whose sentences hold symbols."""

import logging
import struct
from contextlib import nullcontext
from functools import partial
from typing import Any, Callable, ContextManager, Dict, Optional, Sequence

import torch
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion

from sit_fairseq.datasets.options import JoinLines
from sit_fairseq.domains.by_name import of_file
from sit_fairseq.errors import UnansweredError, UserError
from sit_fairseq.models.transformer import SlotSpaceModel
from sit_fairseq.search.grammar import Grammar
from sit_fairseq.storage.files import read_sentences
from sit_fairseq.tasks.fairseq_patches import patch_fairseq
from sit_fairseq.tasks.generators import StreamSequenceGenerator, StreamSequenceScorer
from sit_fairseq.tasks.options import refuse_given, unsupported
from sit_fairseq.tasks.run import Run
from sit_fairseq.tasks.scoring import fetch_numbers
from sit_fairseq.tasks.sentences import Sentences
from sit_fairseq.tasks.stream_dictionary import StreamDictionary

# Imported for their registration: fairseq finds only tasks and models itself.
from sit_fairseq.training import optimizers  # noqa: F401
from sit_fairseq.training.alpha_renaming import rename_at_random
from sit_fairseq.training.criterions import StreamLabelSmoothedCrossEntropyCriterion
from sit_fairseq.training.muon import mark_embeddings
from sit_fairseq.training.position_gaps import PositionGaps
from sit_fairseq.training.training_batches import TrainingBatchIterator

logger = logging.getLogger(__name__)

patch_fairseq()


class StreamTask:
    """A part of a task, beside a class of fairseq's, which comes after it.

    Its dictionary is a :class:`StreamDictionary`. ``--max-tokens`` counts a sentence once for each of
    its streams.
    """

    def domain(self, parameter: str) -> str:
        """The name of the domain of the sentences; a UserError, which names the ``parameter``, if the
        command has none and the checkpoint none of the package."""
        return of_file(None, parameter)

    def begin(self, longest: int) -> None:
        """Begins with no model, which sentences of ``longest`` tokens are for."""
        self._sentences = Sentences(self.source_dictionary, longest)
        self._trains = self._logged_dictionary = False
        self._run: Optional[Run] = None
        self._gaps, self._epoch = PositionGaps(self.source_dictionary, self.cfg.seed), 1

    @classmethod
    def add_args(cls, parser) -> None:
        """As in fairseq, which leaves out an option that is there already."""
        parser.add_argument("--symbols", nargs="+", action=JoinLines, default=None)
        super().add_args(parser)

    # Dictionaries, models and criterions.

    @classmethod
    def load_dictionary(cls, filename: str) -> StreamDictionary:
        """Loads a ``dict.txt``; fairseq-preprocess calls this too."""
        return StreamDictionary.load(filename)

    @classmethod
    def build_dictionary(cls, filenames: Sequence[str], *args: Any, **kwargs: Any):
        """As in fairseq, but a text with a byte order mark or a stray carriage return is refused."""
        for name in filenames:
            read_sentences(name)
        return super().build_dictionary(filenames, *args, **kwargs)

    def build_model(self, cfg, from_checkpoint: bool = False):
        """Builds the model; one that is to be trained has symbols."""
        self._trains = not from_checkpoint
        model = super().build_model(cfg, from_checkpoint)
        self.check_model(model)
        mark_embeddings(model)
        self._sentences = Sentences(self.source_dictionary, self._sentences.longest, model)
        if self._trains:
            self._log_dictionary()
            self._sentences.require_symbols()
        return model

    def check_model(self, model) -> None:
        """Raises a UserError if a model is not for the task, or warns of one that knows no symbols."""
        raise NotImplementedError

    def build_criterion(self, cfg, **kwargs):
        """Builds the criterion; label smoothing must respect streams."""
        if cfg._name == "label_smoothed_cross_entropy":
            return StreamLabelSmoothedCrossEntropyCriterion.build_criterion(cfg, self)
        criterion = super().build_criterion(cfg, **kwargs)
        if isinstance(criterion, LabelSmoothedCrossEntropyCriterion):
            # It would smooth over columns that a sentence does not have.
            raise unsupported(f"--criterion {cfg._name}")
        return criterion

    # Data.

    def load_dataset(self, split: str, epoch: int = 1, combine: bool = False, **kwargs) -> None:
        """Loads a split and checks all of it; a UserError if it is at fault."""
        try:
            super().load_dataset(split, epoch=epoch, combine=combine, **kwargs)
            self.datasets[split] = self.checked(self.datasets[split], split)
        except (AssertionError, LookupError, OSError, ValueError, struct.error) as error:
            raise UserError(
                f"the {split} split of {self.cfg.data} cannot be read ({error}); run "
                f"fairseq-preprocess again, with --{split}pref, or name another split"
            ) from error

    def checked(self, dataset, split: str):
        """The data set that fairseq loaded, checked for the model, with its streams counted."""
        raise NotImplementedError

    def get_batch_iterator(self, dataset, *args, epoch: int = 1, **kwargs):
        """As in fairseq, but the last batch is not dropped for not being a multiple of 8, and a
        resumed training has the batches of an uninterrupted one, those of its first epoch."""
        kwargs["required_batch_size_multiple"] = 1
        anew = kwargs.get("disable_iterator_cache") or kwargs.get("update_epoch_batch_itr")
        kept = not anew and self.can_reuse_epoch_itr(dataset)
        if kept and dataset in self.dataset_to_epoch_iter:
            return self.dataset_to_epoch_iter[dataset]
        if kept and epoch > 1 and kwargs.get("seed", self.cfg.seed) != self.cfg.seed:
            kwargs["seed"] -= epoch - 1  # --update-ordered-indices-seed has added the epoch
        batches = super().get_batch_iterator(dataset, *args, epoch=1 if kept else epoch, **kwargs)
        batches.epoch = epoch
        if dataset is self.datasets.get(self.cfg.train_subset):
            batches = TrainingBatchIterator(batches)
        if kept:
            self.dataset_to_epoch_iter[dataset] = batches
        return batches

    def filter_indices_by_size(self, indices, dataset, *args, **kwargs):
        """As in fairseq; a UserError if no sentence is left."""
        left = super().filter_indices_by_size(indices, dataset, *args, **kwargs)
        if len(indices) and not len(left):
            raise UserError(
                f"each {dataset.unit} of the {dataset.name} is too long for the model or the task",
                "max_source_positions max_target_positions",
            )
        return left

    def can_reuse_epoch_itr(self, dataset) -> bool:
        """fairseq-interactive would otherwise keep one iterator per line for ever."""
        return dataset in self.datasets.values() and super().can_reuse_epoch_itr(dataset)

    def read(self, lines: Sequence[str], encode: Callable = str, max_tokens: Optional[int] = None):
        """See :meth:`Sentences.read`."""
        return self._sentences.read(lines, encode, max_tokens)

    # Training and validation.

    def begin_epoch(self, epoch: int, model) -> None:
        """Notes the epoch, also when training is resumed in its middle."""
        super().begin_epoch(epoch, model)
        self._epoch = epoch

    def train_step(self, sample, model, criterion, optimizer, update_num, ignore_grad=False):
        """As in fairseq; a dummy batch must not reach the statistics of the scale."""
        if self.cfg.alpha_renaming:
            drawn = self.source_dictionary, self.cfg.seed, self._epoch
            sample = rename_at_random(sample, *drawn)
        # Of the model, wrapped or not; fairseq's own have none.
        side = getattr(getattr(model, "decoder", None), "cfg", None)
        most = getattr(getattr(side, "options", None), "position_gaps", 0)
        if most:
            sample = self._gaps.spread(sample, update_num, most, model.max_positions())
        criterion = partial(self._autocast_criterion, criterion)
        result = super().train_step(sample, model, criterion, optimizer, update_num, ignore_grad)
        scale = _output_scale(model)
        if ignore_grad and scale is not None:
            scale.forget()
        return result

    def optimizer_step(self, optimizer, model, update_num) -> None:
        """As in fairseq; then the scale of the cosines follows, on every rank."""
        super().optimizer_step(optimizer, model, update_num)
        scale = _output_scale(model)
        if scale is not None:
            scale.update()

    def valid_step(self, sample, model, criterion):
        """As in fairseq, in the precision of training."""
        return super().valid_step(sample, model, partial(self._autocast_criterion, criterion))

    def reduce_metrics(self, logging_outputs, criterion) -> None:
        """As in fairseq, waiting for a GPU once."""
        super().reduce_metrics(fetch_numbers(logging_outputs), criterion)

    def _autocast_criterion(self, criterion: Callable, model, sample: Dict[str, Any]):
        # The gradients are computed outside of autocast, as PyTorch recommends.
        with self._autocast(sample):
            return criterion(model, sample)

    def _autocast(self, sample: Dict[str, Any]) -> ContextManager:
        device = sample["net_input"]["src_tokens"].device.type
        return torch.autocast(device, torch.bfloat16) if self.cfg.autocast else nullcontext()

    # Generation.

    def build_generator(self, models, args, *given, **more):
        """Begins a run, which searches in slot space, or as fairseq does for other models."""
        self._log_dictionary()  # a model that was loaded has brought its pattern

        def build(args, grammar):
            return self.generator(models, args, *given, grammar=grammar, **more)

        dictionary = self.source_dictionary
        self._run = Run(args, self.cfg, dictionary, _are_ours(models), build, self.domain)
        return self._run.generator

    def generator(
        self,
        models,
        args,
        seq_gen_cls=None,
        extra_gen_cls_kwargs=None,
        prefix_allowed_tokens_fn=None,
        grammar: Optional[Grammar] = None,
    ):
        """Makes what searches for answers, see :meth:`build_generator`; ``grammar`` is theirs."""
        if _are_ours(models):
            refuse_given(args, "constraints", "print_alignment", "replace_unk", "retain_dropout")
            refuse_given(args, "diverse_beam_groups", "diversity_rate", "no_repeat_ngram_size")
            refuse_given(args, "retain_iter_history")
            if prefix_allowed_tokens_fn is not None:
                # It would be given canonical ids and asked for them.
                raise unsupported("prefix_allowed_tokens_fn")
            if getattr(args, "score_reference", False):
                return StreamSequenceScorer(self.target_dictionary)
            if seq_gen_cls is None:
                seq_gen_cls = StreamSequenceGenerator
                added = {"nbest": getattr(args, "nbest", 1), "grammar": grammar}
                extra_gen_cls_kwargs = {**added, **(extra_gen_cls_kwargs or {})}
        elif any(isinstance(model, SlotSpaceModel) for model in models):
            raise UserError("models of this package and of fairseq's cannot vote together", "path")
        elif grammar is not None:
            raise unsupported("--constrained for fairseq's own models")
        try:
            return super().build_generator(
                models, args, seq_gen_cls, extra_gen_cls_kwargs, prefix_allowed_tokens_fn
            )
        except (AssertionError, ValueError) as error:  # fairseq's
            raise UserError(f"options of the search contradict each other: {error}")

    def inference_step(self, generator, models, sample, prefix_tokens=None, constraints=None):
        """As in fairseq; answers of a run may be verified or scored."""
        ours = self._run is not None and generator is self._run.generator
        if ours and self._run.lines:
            sample["lines"] = self._run.lines
        with self._autocast(sample):
            hypotheses = self.search(generator, models, sample, prefix_tokens, constraints)
        if ours:
            for source, (best, *_) in zip(sample["net_input"]["src_tokens"], hypotheses):
                if self.cfg.strict and "reason" in best:
                    raise UnansweredError(best["reason"], self.source_dictionary.text(source))
            self._run.note(sample, hypotheses)
        return hypotheses

    def search(self, generator, models, sample: Dict[str, Any], prefix_tokens, constraints):
        """The hypotheses of a batch, as in fairseq."""
        return super().inference_step(generator, models, sample, prefix_tokens, constraints)

    def _log_dictionary(self) -> None:
        if not self._logged_dictionary:  # a wrong pattern would lose the method silently
            logger.info("dictionary: %s", self.source_dictionary.summary())
        self._logged_dictionary = True


def _are_ours(models: Sequence[Any]) -> bool:
    """Whether the models are of this package, so that they search in slot space."""
    return all(isinstance(model, SlotSpaceModel) for model in models)


def _output_scale(model):
    """The AdaCos scale of a model, wrapped or not; None without a cosine head."""
    return getattr(getattr(model, "decoder", None), "output_scale", None)
