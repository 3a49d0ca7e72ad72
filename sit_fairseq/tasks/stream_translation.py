"""Translation between sequences that share interchangeable tokens."""

import logging
import os
import struct
from contextlib import nullcontext
from copy import deepcopy
from functools import partial
from typing import Any, Callable, ContextManager, Dict, List, Optional, Sequence

import torch
from fairseq import utils
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.data import LanguagePairDataset, data_utils
from fairseq.dataclass.utils import merge_with_parent
from fairseq.tasks import register_task
from fairseq.tasks.translation import TranslationTask
from omegaconf import DictConfig

from sit_fairseq.datasets.options import JoinLines
from sit_fairseq.errors import UnansweredError, UserError
from sit_fairseq.models.transformer import SymbolInvariantTransformer
from sit_fairseq.search.fairseq_generator import StreamSequenceGenerator, StreamSequenceScorer
from sit_fairseq.search.grammar import Grammar
from sit_fairseq.storage.files import read_sentences
from sit_fairseq.tasks import options
from sit_fairseq.tasks.fairseq_patches import ending, patch_command, patch_fairseq
from sit_fairseq.tasks.options import StreamTranslationConfig, refuse_given, unsupported
from sit_fairseq.tasks.run import Run
from sit_fairseq.tasks.scoring import (
    JudgedValidation,
    fetch_numbers,
    generation_options,
    log_verdicts,
)
from sit_fairseq.tasks.sentences import Sentences, lost_names
from sit_fairseq.tasks.stream_dictionary import StreamDictionary

# Imported for their registration: fairseq finds only tasks and models itself.
from sit_fairseq.training import optimizers  # noqa: F401
from sit_fairseq.training.alpha_renaming import AlphaRenaming
from sit_fairseq.training.criterions import StreamLabelSmoothedCrossEntropyCriterion
from sit_fairseq.training.muon import mark_embeddings
from sit_fairseq.training.pace import Pace
from sit_fairseq.training.position_gaps import PositionGaps
from sit_fairseq.training.training_batches import LengthRamp, TrainingBatchIterator

logger = logging.getLogger(__name__)

patch_fairseq()


@register_task("stream_translation", dataclass=StreamTranslationConfig)
class StreamTranslationTask(TranslationTask):
    """fairseq's translation task for models that keep one stream per symbol.

    Source and target share one :class:`StreamDictionary`, of plain ``fairseq-preprocess
    --joined-dictionary``. ``--max-tokens`` counts a sentence once for each of its streams.
    """

    cfg: StreamTranslationConfig

    def __init__(self, cfg: StreamTranslationConfig, src_dict, tgt_dict) -> None:
        options.check(cfg)
        super().__init__(cfg, src_dict, tgt_dict)
        self._sentences = Sentences(src_dict, cfg.max_source_positions)
        self._trains = False
        self._logged_dictionary = False
        self._judged: Optional[JudgedValidation] = None
        self._run: Optional[Run] = None
        self._renaming = AlphaRenaming(src_dict, cfg.seed) if cfg.alpha_renaming else None
        self._gaps = PositionGaps(src_dict, cfg.seed)
        self._length_ramp = LengthRamp.from_options(cfg.length_ramp_updates, cfg.length_ramp_start)
        self._epoch = 1
        self._pace: Optional[Pace] = None

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

    @classmethod
    def setup_task(cls, cfg: StreamTranslationConfig, **kwargs):
        """Loads the dictionary; a UserError without ``fairseq-preprocess --joined-dictionary``."""
        patch_command()
        folder = utils.split_paths(cfg.data or "")[0]
        if not os.path.isdir(folder):
            raise UserError(
                f"{folder!r} is not a directory written by fairseq-preprocess; name one"
            )
        if cfg.source_lang is None or cfg.target_lang is None:
            cfg.source_lang, cfg.target_lang = data_utils.infer_language_pair(folder)
        if cfg.source_lang is None:
            raise UserError(
                f"{folder} holds no binarised data to tell the source language from the target "
                "language",
                "source_lang target_lang",
            )
        files = [f"{folder}/dict.{side}.txt" for side in (cfg.source_lang, cfg.target_lang)]
        dictionary, of_targets = map(cls.load_dictionary, files)
        if dictionary != of_targets:
            raise UserError(
                f"{files[0]} and {files[1]} differ, but a symbol of the source must be the same "
                "token in the target; run fairseq-preprocess again with --joined-dictionary"
            )
        if cfg.symbols is not None:
            dictionary.set_pattern(cfg.symbols)
        return cls(cfg, dictionary, dictionary)

    @classmethod
    def from_vocabulary(
        cls, cfg: Any, base_tokens: Sequence[str] = (), symbols: Optional[str] = None
    ) -> "StreamTranslationTask":
        """A task without a data directory, to load a model with streams into.

        ``cfg`` may be of an older checkpoint; a model that is loaded adds its base tokens, and by
        default its pattern.
        """
        if isinstance(cfg, DictConfig):
            # As fairseq completes them; it would take the superfluous ones from the caller.
            cfg = merge_with_parent(StreamTranslationConfig(), deepcopy(cfg), remove_missing=True)
        dictionary = StreamDictionary()
        for token in base_tokens:
            dictionary.add_symbol(token)
        if symbols is not None:
            dictionary.set_pattern(symbols)
        return cls(cfg, dictionary, dictionary)

    def build_model(self, cfg, from_checkpoint: bool = False):
        """Builds the model and, with ``--validate-semantics``, what judges its answers."""
        self._trains = not from_checkpoint
        model = super().build_model(cfg, from_checkpoint)
        mark_embeddings(model)
        self._sentences = Sentences(self.src_dict, self._sentences.longest, model)
        if self._trains:
            self._log_dictionary()
            self._sentences.require_symbols()
        if self.cfg.validate_semantics:
            self._judged = JudgedValidation(self.cfg, self.tgt_dict, required=self._trains)
            # fairseq later moves this very model to its device.
            generator = self.generator([model], generation_options(self.cfg.validate_args))
            self._answer = partial(self.inference_step, generator, [model])
        return model

    def build_criterion(self, cfg, **kwargs):
        """Builds the criterion; label smoothing must respect streams."""
        if cfg._name == "label_smoothed_cross_entropy":
            return StreamLabelSmoothedCrossEntropyCriterion.build_criterion(cfg, self)
        criterion = super().build_criterion(cfg, **kwargs)
        if isinstance(criterion, LabelSmoothedCrossEntropyCriterion):
            # It would smooth over columns that a sentence does not have.
            raise unsupported(f"--criterion {cfg._name}")
        return criterion

    @property
    def domain(self) -> Optional[str]:
        """The domain of the sentences: the option's, or else the loaded checkpoint's."""
        return self.cfg.domain or self.state.state_dict.get("domain")

    # Data.

    def load_dataset(self, split: str, epoch: int = 1, combine: bool = False, **kwargs) -> None:
        """Loads a split and checks every sentence of it; a UserError if one is at fault."""
        try:
            super().load_dataset(split, epoch=epoch, combine=combine, **kwargs)
            self.datasets[split] = self._sentences.split(self.datasets[split], split)
        except (AssertionError, KeyError, OSError, ValueError, struct.error) as error:
            raise UserError(
                f"the {split} split of {self.cfg.data} cannot be read ({error}); run "
                f"fairseq-preprocess again, with --{split}pref, or name another split"
            ) from error
        if self._judged is not None and split != self.cfg.train_subset:
            self._refuse_lost_names("--validate-semantics")
        if self._trains and split == self.cfg.train_subset:
            pairs = self.datasets[split]
            self._pace = Pace(pairs.num_streams, pairs.src_sizes, pairs.tgt_sizes)
            if self._sentences.fresh_symbols and not pairs.most_fresh:
                logger.warning(
                    "--fresh-symbols %d cost time and learn nothing: no target of %s holds a "
                    "symbol that its source lacks; leave them out, or widen --symbols",
                    self._sentences.fresh_symbols,
                    split,
                )

    def _refuse_lost_names(self, option: str) -> None:
        """Raises a UserError if sentences that a judge reads have lost names of symbols."""
        for split, pairs in self.datasets.items():
            unknown = getattr(pairs, "unknown", 0)
            if unknown and split != self.cfg.train_subset and self.src_dict.pattern is not None:
                raise UserError(f"{option} cannot judge: {lost_names(unknown, split)}")

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
            batches = TrainingBatchIterator(batches, self._length_ramp, self.cfg.update_freq)
        if kept:
            self.dataset_to_epoch_iter[dataset] = batches
        if self.cfg.verify and dataset in self.datasets.values():
            batches.next_epoch_itr = ending(batches.next_epoch_itr, self.end_run)
        return batches

    def can_reuse_epoch_itr(self, dataset) -> bool:
        """fairseq-interactive would otherwise keep one iterator per line for ever."""
        return dataset in self.datasets.values() and super().can_reuse_epoch_itr(dataset)

    def read(self, lines: Sequence[str], encode: Callable = str, max_tokens: Optional[int] = None):
        """See :meth:`Sentences.read`."""
        return self._sentences.read(lines, encode, max_tokens)

    def build_dataset_for_inference(self, src_tokens, src_lengths, constraints=None):
        """Makes typed sentences a data set; an UnansweredError if the model does not read one."""
        pairs = LanguagePairDataset(
            *(src_tokens, src_lengths, self.src_dict),
            tgt_dict=self.tgt_dict,
            left_pad_source=False,
            constraints=constraints,
        )
        return self._sentences.typed(pairs)

    # Training and validation.

    def begin_epoch(self, epoch: int, model) -> None:
        """Notes the epoch, also when training is resumed in its middle."""
        super().begin_epoch(epoch, model)
        self._epoch = epoch

    def train_step(self, sample, model, criterion, optimizer, update_num, ignore_grad=False):
        """As in fairseq; a dummy batch must not reach the statistics of the scale."""
        if self._renaming is not None:
            sample = self._renaming.rename(sample, self._epoch)
        most = _position_gaps(model)
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
        if self._pace is not None:
            self._pace.note_update()
        scale = _output_scale(model)
        if scale is not None:
            scale.update()

    def valid_step(self, sample, model, criterion):
        result = super().valid_step(sample, model, partial(self._autocast_criterion, criterion))
        if self._judged is not None:
            result[2].update(self._judged.judge(sample, self._answer))
        return result

    def reduce_metrics(self, logging_outputs, criterion) -> None:
        """As in fairseq, with percentages of judged sentences, see :func:`log_verdicts`."""
        logging_outputs = fetch_numbers(logging_outputs)
        super().reduce_metrics(logging_outputs, criterion)
        log_verdicts(logging_outputs)

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

        self._run = Run(args, self.cfg, self.src_dict, _are_ours(models), build, self.domain)
        self._run.check_scored = partial(self._refuse_lost_names, "--scoring semantic")
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
            if prefix_allowed_tokens_fn is not None:
                # It would be given canonical ids and asked for them.
                raise unsupported("prefix_allowed_tokens_fn")
            if getattr(args, "score_reference", False):
                return StreamSequenceScorer(self.target_dictionary)
            if seq_gen_cls is None:
                seq_gen_cls = StreamSequenceGenerator
                added = {"nbest": getattr(args, "nbest", 1), "grammar": grammar}
                extra_gen_cls_kwargs = {**added, **(extra_gen_cls_kwargs or {})}
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
            hypotheses = super().inference_step(
                generator, models, sample, prefix_tokens, constraints
            )
        if ours:
            if self.cfg.strict:
                self._refuse_unanswered(sample, hypotheses)
            self._run.note(sample, hypotheses)
        return hypotheses

    def _refuse_unanswered(self, sample: Dict[str, Any], hypotheses: List[Any]) -> None:
        for source, (best, *_) in zip(sample["net_input"]["src_tokens"], hypotheses):
            if "reason" in best:
                raise UnansweredError(best["reason"], self.src_dict.text(source))

    def end_run(self) -> None:
        """The last batch of a generation has been answered."""
        if self._run is not None:
            self._run.end()

    def _log_dictionary(self) -> None:
        if not self._logged_dictionary:  # a wrong pattern would lose the method silently
            logger.info("dictionary: %s", self.src_dict.summary())
        self._logged_dictionary = True


def _are_ours(models: Sequence[Any]) -> bool:
    """Whether the models are of this package, so that they search in slot space."""
    return all(isinstance(model, SymbolInvariantTransformer) for model in models)


def _position_gaps(model) -> int:
    """The option of a model, wrapped or not; 0 for fairseq's own."""
    side = getattr(getattr(model, "encoder", None), "cfg", None)
    return getattr(getattr(side, "options", None), "position_gaps", 0)


def _output_scale(model):
    """The AdaCos scale of a model, wrapped or not; None without a cosine head."""
    return getattr(getattr(model, "decoder", None), "output_scale", None)
