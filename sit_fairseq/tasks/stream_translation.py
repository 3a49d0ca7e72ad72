"""Translation between sequences that share interchangeable tokens."""

import logging
from copy import deepcopy
from typing import Any, Callable, List, Optional, Sequence, Union

from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.data import LanguagePairDataset
from fairseq.dataclass.utils import merge_with_parent
from fairseq.models import ARCH_MODEL_NAME_REGISTRY, MODEL_DATACLASS_REGISTRY
from fairseq.tasks import register_task
from fairseq.tasks.translation import TranslationTask
from omegaconf import DictConfig, open_dict
from torch import Tensor

from sit_fairseq.errors import UnansweredError, UserError
from sit_fairseq.logic.syntax import read_sentences
from sit_fairseq.models.positions import TreePositions
from sit_fairseq.models.transformer import SymbolInvariantTransformer
from sit_fairseq.search.fairseq_generator import StreamSequenceGenerator, StreamSequenceScorer
from sit_fairseq.tasks import refusals, scoring  # noqa: F401
from sit_fairseq.tasks.binarised_files import check_binarised
from sit_fairseq.tasks.fairseq_patches import EndedEpochs, patch_command, patch_fairseq
from sit_fairseq.tasks.judged_validation import JudgedValidation, generation_options, log_verdicts
from sit_fairseq.tasks.options import StreamTranslationConfig
from sit_fairseq.tasks.precision import autocast, check_training_precision
from sit_fairseq.tasks.run import Run
from sit_fairseq.tasks.sentence_checks import SentenceChecker, refuse_operators_as_symbols
from sit_fairseq.tasks.stream_dictionary import StreamDictionary
from sit_fairseq.tasks.stream_pairs import StreamPairDataset
from sit_fairseq.tasks.transfers import fetch_numbers

# Imported for their registration: fairseq finds only tasks and models itself.
from sit_fairseq.training import adacos, adamw, minimum_risk, muon  # noqa: F401
from sit_fairseq.training.alpha_renaming import AlphaRenaming
from sit_fairseq.training.label_smoothing import StreamLabelSmoothedCrossEntropyCriterion
from sit_fairseq.training.length_ramp import LengthRamp
from sit_fairseq.training.parameter_groups import mark_embeddings
from sit_fairseq.training.training_batches import TrainingBatchIterator

MODEL = "symbol_invariant_transformer"

logger = logging.getLogger(__name__)

patch_fairseq()


@register_task("stream_translation", dataclass=StreamTranslationConfig)
class StreamTranslationTask(TranslationTask):
    """fairseq's translation task for models that keep one stream per symbol.

    Source and target share one :class:`StreamDictionary`; plain ``fairseq-preprocess
    --joined-dictionary`` output is all it needs. ``--max-tokens`` counts a sentence once
    for each of its streams (:class:`StreamPairDataset`).

    Args:
        cfg: options.
        src_dict: the dictionary.
        tgt_dict: the same dictionary.
    """

    cfg: StreamTranslationConfig

    def __init__(self, cfg: StreamTranslationConfig, src_dict, tgt_dict) -> None:
        super().__init__(cfg, src_dict, tgt_dict)
        # What a model asks of its data, known once it is built.
        self._checker: Optional[SentenceChecker] = None
        self._one_stream = False
        self._fresh_symbols = 0
        self._trains = False
        self._logged_dictionary = False
        self._judged: Optional[JudgedValidation] = None
        self._run: Optional[Run] = None
        self._ids: Optional[Tensor] = None
        self._renaming = AlphaRenaming(src_dict, cfg.seed) if cfg.alpha_renaming else None
        self._length_ramp = LengthRamp.from_options(cfg.length_ramp_updates, cfg.length_ramp_start)
        self._epoch = 1

    # Dictionaries and models.

    @classmethod
    def load_dictionary(cls, filename: str) -> StreamDictionary:
        """Loads a ``dict.txt``; fairseq-preprocess calls this too."""
        return StreamDictionary.load(filename)

    @classmethod
    def build_dictionary(cls, filenames: List[str], **kwargs):
        """As in fairseq; ``fairseq-preprocess --task stream_translation`` calls this.

        Raises:
            UserError: a file is no text, or its first token would not be what it looks like.
        """
        for filename in filenames:
            read_sentences(filename)
        return super().build_dictionary(filenames, **kwargs)

    @classmethod
    def setup_task(cls, cfg: StreamTranslationConfig, **kwargs):
        """Loads the dictionary.

        Raises:
            UserError: if the data directory or an option is unsuitable.
        """
        patch_command()
        refusals.check_options(cfg)
        files = refusals.dictionary_files(cfg)
        dictionary, of_targets = (cls.load_dictionary(file) for file in files)
        refusals.check_dictionaries(files, (dictionary, of_targets))
        if cfg.symbols is not None:
            dictionary.set_pattern(cfg.symbols)
        return cls(cfg, dictionary, dictionary)

    @classmethod
    def from_vocabulary(
        cls, cfg: Any, base_tokens: Sequence[str] = (), symbols: Optional[str] = None
    ) -> "StreamTranslationTask":
        """A task without a data directory, to load a model with streams into.

        Args:
            cfg: options, or those of a checkpoint, which may be older than some of them.
            base_tokens: the dictionary's. A model that is loaded adds its own.
            symbols: pattern of the symbols; None for that of the model.

        Raises:
            UserError: if an option is unsuitable.
        """
        if isinstance(cfg, DictConfig):
            # As fairseq completes them; it would take the superfluous ones from the caller.
            cfg = merge_with_parent(StreamTranslationConfig(), deepcopy(cfg), remove_missing=True)
        refusals.check_options(cfg)
        dictionary = StreamDictionary()
        for token in base_tokens:
            dictionary.add_symbol(token)
        if symbols is not None:
            dictionary.set_pattern(symbols)
        return cls(cfg, dictionary, dictionary)

    def build_model(self, cfg, from_checkpoint: bool = False):
        """Builds the model and, with ``--validate-semantics``, what judges its answers."""
        self._trains = not from_checkpoint
        if from_checkpoint:
            _add_newer_options(cfg)
        else:
            refusals.refuse_verified_training(self.cfg)
            check_training_precision(self.cfg)
        model = super().build_model(cfg, from_checkpoint)
        mark_embeddings(model)
        self._one_stream = True
        if isinstance(model, SymbolInvariantTransformer):
            self._check_sentences_for(model)
        if self._trains:
            self._log_dictionary()
        if self.cfg.validate_semantics:
            self._judged = JudgedValidation(
                self.cfg, self._validation_generator(model), self.tgt_dict
            )
            if self._trains:
                self._judged.require_judge()
        return model

    def _check_sentences_for(self, model: SymbolInvariantTransformer) -> None:
        """From now on sentences are checked for what the model asks of them."""
        self._one_stream = model.vocabulary.one_stream
        self._fresh_symbols = model.vocabulary.fresh_symbols
        refusals.check_fresh_names(self.cfg, self._fresh_symbols)
        if self._trains:
            refusals.require_symbols(self.src_dict, self.cfg.data)
        positions, arities = model.encoder.embed_positions, None
        if isinstance(positions, TreePositions):
            refuse_operators_as_symbols(self.src_dict)
            arities = positions.arities
        self._checker = SentenceChecker(model.vocabulary, arities)

    def build_criterion(self, cfg, **kwargs):
        """Builds the criterion; label smoothing must respect streams."""
        if self._trains:
            refusals.check_metric(self.cfg, cfg)
        if cfg._name == "label_smoothed_cross_entropy":
            if cfg.ignore_prefix_size:
                raise refusals.unsupported("--ignore-prefix-size")
            return StreamLabelSmoothedCrossEntropyCriterion(
                self, cfg.sentence_avg, cfg.label_smoothing, report_accuracy=cfg.report_accuracy
            )
        criterion = super().build_criterion(cfg, **kwargs)
        if isinstance(criterion, LabelSmoothedCrossEntropyCriterion):
            raise UserError(
                f"--criterion {cfg._name} would smooth over columns that a sentence does not have; "
                "use label_smoothed_cross_entropy"
            )
        return criterion

    # Data.

    def load_dataset(self, split: str, epoch: int = 1, combine: bool = False, **kwargs) -> None:
        """Loads a split and checks every sentence of it."""
        for prefix in refusals.binarised_prefixes(self.cfg, split):
            check_binarised(prefix)
        with refusals.explained_split(split, self.cfg.data):
            super().load_dataset(split, epoch=epoch, combine=combine, **kwargs)
        self.datasets[split] = dataset = self._dataset(self.datasets[split], f"{split} source")
        if len(dataset) == 0:
            raise UserError(f"the {split} split of {self.cfg.data} has no sentences")
        if self._checker is not None:
            fresh = self._checker.check_split(split, dataset.src, dataset.tgt)
            unused = self._fresh_symbols and not fresh
            if unused and self._trains and split == self.cfg.train_subset:
                logger.warning(
                    "--fresh-symbols %d cost time and learn nothing: no target of %s holds a symbol "
                    "that its source lacks; leave them out, or widen --symbols %r",
                    self._fresh_symbols,
                    split,
                    self.cfg.symbols,
                )

    def _dataset(self, pairs: LanguagePairDataset, name: str) -> StreamPairDataset:
        return StreamPairDataset(pairs, name, self._one_stream, self._fresh_symbols)

    def get_batch_iterator(self, dataset, *args, **kwargs):
        """As in fairseq, but no sentence is lost: the last batch is not dropped for not being
        a multiple of 8, and a resumed training has the batches of an uninterrupted one, which
        keeps those of its first epoch. Those of training follow ``--length-ramp-updates``.
        ``--skip-invalid-size-inputs-valid-test`` goes for ``--max-tokens`` too, but fairseq
        passes it for training whatever is asked."""
        batches = self._batch_iterator(dataset, *args, **kwargs)
        if self.cfg.verify and not self._trains and dataset in self.datasets.values():
            return EndedEpochs(batches, self.end_run)
        return batches

    def _batch_iterator(self, dataset, *args, epoch: int = 1, **kwargs):
        kwargs["required_batch_size_multiple"] = 1
        of_training = dataset is self.datasets.get(self.cfg.train_subset)
        dataset.skips_costly = kwargs.get("ignore_invalid_inputs", False) and not of_training
        anew = kwargs.get("disable_iterator_cache") or kwargs.get("update_epoch_batch_itr")
        if anew or not self.can_reuse_epoch_itr(dataset):
            batches = super().get_batch_iterator(dataset, *args, epoch=epoch, **kwargs)
            return self._in_order(dataset, batches)
        if dataset not in self.dataset_to_epoch_iter:
            if epoch > 1 and kwargs.get("seed", self.cfg.seed) != self.cfg.seed:
                kwargs["seed"] -= epoch - 1  # --update-ordered-indices-seed has added the epoch
            batches = super().get_batch_iterator(dataset, *args, epoch=1, **kwargs)
            batches.epoch = epoch
            self.dataset_to_epoch_iter[dataset] = self._in_order(dataset, batches)
        return self.dataset_to_epoch_iter[dataset]

    def _in_order(self, dataset, batches):
        if dataset is not self.datasets.get(self.cfg.train_subset):
            return batches
        if self._length_ramp is None:
            return TrainingBatchIterator(batches)
        return TrainingBatchIterator(batches, self._length_ramp, self.cfg.update_freq)

    def can_reuse_epoch_itr(self, dataset) -> bool:
        """fairseq-interactive would otherwise keep one iterator per line for ever."""
        return dataset in self.datasets.values() and super().can_reuse_epoch_itr(dataset)

    # Typed lines.

    def read(
        self,
        lines: Sequence[str],
        encode_fn: Callable[[str], str],
        max_positions: Sequence[int],
        max_tokens: Optional[int],
        search: Any = None,
    ) -> List[Union[Tensor, UnansweredError]]:
        """Reads sentences of any names.

        Args:
            lines: the sentences.
            encode_fn: splits one into tokens.
            max_positions: lengths with ``</s>`` of the longest source and target.
            max_tokens: most stream tokens of a batch, None for no limit.
            search: options of the generation, None for fairseq's defaults.

        Returns:
            For each sentence its dictionary indices, or why it cannot be answered. The
            dictionary has learnt the names of those that can.
        """
        found: List[Union[Tensor, UnansweredError]] = []
        for line in lines:
            size = len(self.src_dict)
            try:
                refusals.check_text(line)
                tokens, _ = self.get_interactive_tokens_and_lengths([line], encode_fn)
                dataset = self.build_dataset_for_inference(tokens, [tokens[0].numel()])
                reason = refusals.limit_exceeded(dataset, max_positions[0], max_tokens)
                if reason is None:
                    length = tokens[0].numel()
                    reason = refusals.answers_too_short(search, length, max_positions[1])
                if reason is None and self._checker is None and len(self.src_dict) > size:
                    name = self.src_dict[size]
                    reason = f"the sentence holds {name!r}, which the model has no embedding for"
                if reason is not None:
                    raise UnansweredError(reason, line)
                found += tokens
            except UserError as refused:
                reason = getattr(refused, "reason", None) or str(refused)
                found.append(UnansweredError(reason, line))
                self.src_dict.forget_after(size)
        return found

    def get_interactive_tokens_and_lengths(self, lines: List[str], encode_fn):
        """Encodes typed lines; symbols may have any name that the pattern matches.

        Raises:
            UnansweredError: on a token that is neither a base token nor a symbol.
        """
        sentences = []
        for line in lines:
            text = encode_fn(line)
            refusals.check_tokens(text.split(), line, self.src_dict)
            sentences.append(self.src_dict.encode_line(text, add_if_not_exist=False).long())
        return sentences, [sentence.numel() for sentence in sentences]

    def build_dataset_for_inference(self, src_tokens, src_lengths, constraints=None):
        """Wraps sentences typed by a user or given to fairseq's Python interface.

        Raises:
            UnansweredError: on a sentence that the model cannot read.
        """
        if self._checker is not None:
            self._checker.check_input(
                src_tokens, lambda index: self.src_dict.string(src_tokens[index])
            )
        pairs = LanguagePairDataset(
            src_tokens,
            src_lengths,
            self.source_dictionary,
            tgt_dict=self.target_dictionary,
            left_pad_source=False,
            constraints=constraints,
        )
        return self._dataset(pairs, "input")

    def eval_lm_dataloader(self, *args, **kwargs):
        """fairseq-eval-lm asks for it.

        Raises:
            UserError: always, as the models of this task are no language models.
        """
        raise UserError(
            "fairseq-eval-lm is for language models, but --task stream_translation has pairs of "
            "sentences; use fairseq-validate, or fairseq-generate --score-reference"
        )

    # Training and validation.

    def begin_epoch(self, epoch: int, model) -> None:
        """Notes the epoch, also when training is resumed in its middle."""
        super().begin_epoch(epoch, model)
        self._epoch = epoch

    def train_step(self, sample, model, criterion, optimizer, update_num, ignore_grad=False):
        """As in fairseq, on renamed pairs with ``--alpha-renaming``; a dummy batch must not
        reach the statistics of the scale."""
        refusals.check_wrapping(model)
        if self._renaming is not None:
            sample = self._renaming.rename(sample, self._epoch)
        # The gradients are computed outside of autocast, as PyTorch recommends.
        criterion = self._autocast(criterion)
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
        """Computes the loss and, if asked, judges generated answers."""
        result = super().valid_step(sample, model, self._autocast(criterion))
        if self._judged is not None:
            result[2].update(self._judged.judge(sample, model))
        return result

    def _autocast(self, criterion: Callable) -> Callable:
        def call(model, sample):
            with autocast(self.cfg, sample):
                return criterion(model, sample)

        return call

    def reduce_metrics(self, logging_outputs, criterion) -> None:
        """As in fairseq, with percentages of judged sentences: correct, exact, each other
        verdict."""
        logging_outputs = fetch_numbers(logging_outputs)
        super().reduce_metrics(logging_outputs, criterion)
        log_verdicts(logging_outputs)

    # Generation.

    def build_generator(
        self,
        models,
        args,
        seq_gen_cls=None,
        extra_gen_cls_kwargs=None,
        prefix_allowed_tokens_fn=None,
    ):
        """Begins a run, which searches in slot space, or as fairseq does for other models."""
        self._log_dictionary()  # a model that was loaded has brought its pattern
        given = (models, seq_gen_cls, extra_gen_cls_kwargs, prefix_allowed_tokens_fn)
        self._run = Run(args, self.cfg, self.src_dict, lambda args: self.generator(args, *given))
        return self._run.generator

    def generator(
        self,
        args,
        models,
        seq_gen_cls=None,
        extra_gen_cls_kwargs=None,
        prefix_allowed_tokens_fn=None,
    ):
        """Makes what searches for answers, see :meth:`build_generator`."""
        refusals.check_search(args)
        if all(isinstance(model, SymbolInvariantTransformer) for model in models):
            refusals.check_generation(args)
            if prefix_allowed_tokens_fn is not None:
                # It would be given canonical ids and asked for them.
                raise refusals.unsupported("prefix_allowed_tokens_fn")
            if getattr(args, "score_reference", False):
                return StreamSequenceScorer(self.target_dictionary)
            if seq_gen_cls is None:
                seq_gen_cls = StreamSequenceGenerator
                nbest = getattr(args, "nbest", 1)
                extra_gen_cls_kwargs = {"nbest": nbest, **(extra_gen_cls_kwargs or {})}
        try:
            return super().build_generator(
                models, args, seq_gen_cls, extra_gen_cls_kwargs, prefix_allowed_tokens_fn
            )
        except AssertionError as error:  # fairseq's, on options that contradict each other
            raise UserError(f"options of the search contradict each other: {error}")

    def _validation_generator(self, model):
        options = generation_options(self.cfg.validate_args)
        try:
            # fairseq later moves this very model to its device.
            return self.generator(options, [model])
        except UserError as error:
            raise UserError(f"--validate-args: {error}")

    def inference_step(self, generator, models, sample, prefix_tokens=None, constraints=None):
        """As in fairseq; with ``--verify`` the answers are verified, and with ``--scoring
        semantic`` each hypothesis gets its verdict."""

        def search(generator, sample):
            if isinstance(generator, StreamSequenceGenerator):
                width = sample["net_input"]["src_tokens"].size(1)
                longest = models[0].max_decoder_positions()
                reason = refusals.answers_too_short(generator.search.options, width, longest)
                if reason is not None:
                    raise UserError(f"{reason}; lower that, or allow longer answers")
            with autocast(self.cfg, sample):
                return super(StreamTranslationTask, self).inference_step(
                    generator, models, sample, prefix_tokens, constraints
                )

        if self._run is None:
            return search(generator, sample)
        if self._ids is not None:
            sample, self._ids = {**sample, "id": self._ids}, None
        if self._run.verifies and (prefix_tokens is not None or constraints is not None):
            raise refusals.unsupported("a prefix or a constraint with --verify")
        return self._run.answer(sample, search, generator)

    def number_batch(self, ids: Tensor) -> None:
        """Gives the sentences of the next batch their ids, which fairseq-interactive does not."""
        self._ids = ids

    def end_run(self) -> None:
        """The last batch of a generation has been answered."""
        if self._run is not None:
            self._run.end_batches()

    def _log_dictionary(self) -> None:
        """Says what --symbols matches, once: a wrong pattern would lose the method silently."""
        if not self._logged_dictionary:
            logger.info("dictionary: %s", self.src_dict.summary())
        self._logged_dictionary = True


def _add_newer_options(cfg: DictConfig) -> None:
    """Completes the model's options in a checkpoint that is older than some of them.

    Their defaults leave a model as it was, but fairseq would take those of the named architecture,
    which are for new trainings.
    """
    if ARCH_MODEL_NAME_REGISTRY.get(cfg._name) == MODEL:
        with open_dict(cfg):
            cfg.setdefault("fresh_names", None)
            for option, value in vars(MODEL_DATACLASS_REGISTRY[MODEL]()).items():
                cfg.setdefault(option, value)


def _output_scale(model):
    """The AdaCos scale of a model, wrapped or not; None without a cosine head."""
    return getattr(getattr(model, "decoder", None), "output_scale", None)
