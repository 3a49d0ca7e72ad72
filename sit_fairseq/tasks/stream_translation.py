"""Translation between sequences that share interchangeable tokens."""

import logging
from copy import deepcopy
from typing import Any, Callable, List, Optional, Sequence

import torch
from fairseq import utils
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.data import LanguagePairDataset
from fairseq.dataclass.utils import merge_with_parent
from fairseq.tasks import register_task
from fairseq.tasks.translation import TranslationTask
from omegaconf import DictConfig
from torch import Tensor

from sit_fairseq.copies import log_copy
from sit_fairseq.criterions.label_smoothing import StreamLabelSmoothedCrossEntropyCriterion
from sit_fairseq.data.alpha_renaming import AlphaRenaming
from sit_fairseq.data.binarised_files import check_binarised
from sit_fairseq.data.length_ramp import LengthRamp
from sit_fairseq.data.sentence_checks import SentenceChecker, refuse_operators_as_symbols
from sit_fairseq.data.stream_pairs import StreamPairDataset
from sit_fairseq.data.training_batches import TrainingBatchIterator
from sit_fairseq.errors import UnansweredError, UserError
from sit_fairseq.interactive import answer_every_line
from sit_fairseq.logic.syntax import read_sentences
from sit_fairseq.models.symbol_invariant_transformer import (
    SymbolInvariantTransformerModel,
    add_newer_options,
)
from sit_fairseq.modules.tree_positions import TreePositions
from sit_fairseq.optim.parameter_groups import mark_embeddings
from sit_fairseq.precision import autocast, criterion_in_precision
from sit_fairseq.slot_generation import StreamSequenceGenerator, StreamSequenceScorer
from sit_fairseq.symbols.stream_dictionary import StreamDictionary
from sit_fairseq.tasks import generation_run, refusals, unread
from sit_fairseq.tasks.judged_validation import JudgedValidation, generation_options, log_verdicts
from sit_fairseq.tasks.options import StreamTranslationConfig
from sit_fairseq.tasks.verification import ExpectedEpochs, Verification, print_verdicts
from sit_fairseq.transfers import fetch_numbers

logger = logging.getLogger(__name__)


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
        self._checker: Optional[SentenceChecker] = None
        self._has_unread = False
        self._one_stream = False
        self._fresh_symbols = 0
        self._trains = False
        self._logged_dictionary = False
        self._judged: Optional[JudgedValidation] = None
        self._run: Optional[generation_run.GenerationRun] = None
        self.verification = Verification(self)
        self._renaming = AlphaRenaming(src_dict, cfg.seed) if cfg.alpha_renaming else None
        self._epoch = 1
        self._length_ramp = LengthRamp.from_options(cfg.length_ramp_updates, cfg.length_ramp_start)

    # Dictionaries and data.

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
        log_copy()
        answer_every_line()
        print_verdicts()
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

    def load_dataset(self, split: str, epoch: int = 1, combine: bool = False, **kwargs) -> None:
        """Loads a split and checks every sentence of it."""
        for prefix in refusals.binarised_prefixes(self.cfg, split):
            check_binarised(prefix)
        try:
            super().load_dataset(split, epoch=epoch, combine=combine, **kwargs)
        except FileNotFoundError as error:
            raise UserError(
                f"{error}; run fairseq-preprocess with --{split}pref, or name another split"
            )
        except AssertionError as error:  # fairseq's, the first to compare the two sides
            raise UserError(
                f"the {split} split of {self.cfg.data}: {error}; give fairseq-preprocess files "
                "whose lines belong together, with Unix or Windows line ends"
            )
        except UnicodeDecodeError as error:  # of --dataset-impl raw
            raise UserError(
                f"the {split} split of {self.cfg.data} is no text in UTF-8 ({error}); run "
                "fairseq-preprocess again"
            )
        dataset = StreamPairDataset(
            self.datasets[split], f"{split} source", self._one_stream, self._fresh_symbols
        )
        self.datasets[split] = dataset
        if len(dataset) == 0:
            raise UserError(f"the {split} split of {self.cfg.data} has no sentences")
        if self._checker is not None:
            deep = self._checker.check_split(split, dataset.src, dataset.tgt)
            self._has_unread = self._has_unread or deep > 0

    def get_batch_iterator(self, dataset, *args, **kwargs):
        """As in fairseq, but no sentence is lost: the last batch is not dropped for not being
        a multiple of 8, and a resumed training has the batches of an uninterrupted one, which
        keeps those of its first epoch. Those of training follow ``--length-ramp-updates``.
        ``--skip-invalid-size-inputs-valid-test`` goes for ``--max-tokens`` too, but fairseq
        passes it for training whatever is asked. With ``--verify`` several come together."""
        batches = self._batch_iterator(dataset, *args, **kwargs)
        if self.cfg.verify and not self._trains and dataset in self.datasets.values():
            return ExpectedEpochs(batches, self.verification)
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

    def eval_lm_dataloader(self, *args, **kwargs):
        """fairseq-eval-lm asks for it.

        Raises:
            UserError: always, as the models of this task are no language models.
        """
        raise UserError(
            "fairseq-eval-lm is for language models, but --task stream_translation has pairs of "
            "sentences; use fairseq-validate, or fairseq-generate --score-reference"
        )

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
        return StreamPairDataset(pairs, "input", self._one_stream, self._fresh_symbols)

    def too_deep(self, sentences: List[Tensor]) -> List[int]:
        """The indices of encoded sentences, all of them formulas, that the model cannot read."""
        if self._checker is None:
            return []
        lengths = torch.tensor([sentence.numel() for sentence in sentences])
        return list(self._checker.too_deep(torch.cat(sentences), lengths))

    def refusal(
        self,
        line: str,
        encode_fn: Callable[[str], str],
        max_positions: Sequence[int],
        max_tokens: Optional[int],
    ) -> Optional[UnansweredError]:
        """Why a typed line cannot be answered.

        Args:
            line: the line.
            encode_fn: splits it into tokens.
            max_positions: lengths with ``</s>`` of the longest source and target.
            max_tokens: most stream tokens of a batch, None for no limit.

        Returns:
            The reason, or None if the line can be answered. The dictionary has learnt the
            names of such a line only.
        """
        size = len(self.src_dict)
        try:
            sentences, lengths = self.get_interactive_tokens_and_lengths([line], encode_fn)
            dataset = self.build_dataset_for_inference(sentences, lengths)
            reason = refusals.limit_exceeded(dataset, max_positions[0], max_tokens)
            if reason is None and self._checker is None and len(self.src_dict) > size:
                name = self.src_dict[size]
                reason = f"the sentence holds {name!r}, which the model has no embedding for"
            error = None if reason is None else UnansweredError(reason, line)
        except UnansweredError as refused:
            error = UnansweredError(refused.reason, line)
        except UserError as refused:
            error = UnansweredError(str(refused), line)
        if error is not None:
            self.src_dict.forget_after(size)
        return error

    def can_reuse_epoch_itr(self, dataset) -> bool:
        """fairseq-interactive would otherwise keep one iterator per line for ever."""
        return dataset in self.datasets.values() and super().can_reuse_epoch_itr(dataset)

    def _log_dictionary(self) -> None:
        """Says what --symbols matches, once: a wrong pattern would lose the method silently."""
        if not self._logged_dictionary:
            logger.info("dictionary: %s", self.src_dict.summary())
        self._logged_dictionary = True

    # Model and training.

    def build_model(self, cfg, from_checkpoint: bool = False):
        """Builds the model and, with ``--validate-semantics``, what judges its answers."""
        if from_checkpoint:
            add_newer_options(cfg)
        self._trains = not from_checkpoint
        model = super().build_model(cfg, from_checkpoint)
        mark_embeddings(model)
        self._one_stream = True
        if isinstance(model, SymbolInvariantTransformerModel):
            self._one_stream = model.vocabulary.one_stream
            self._fresh_symbols = model.vocabulary.fresh_symbols
            refusals.check_fresh_names(self.cfg, self._fresh_symbols)
            if self._trains:
                refusals.require_symbols(self.src_dict, self.cfg.data)
            positions, depth = model.encoder.embed_positions, None
            if isinstance(positions, TreePositions):
                refuse_operators_as_symbols(self.src_dict)
                depth = positions.depth
            self._checker = SentenceChecker(model.vocabulary, depth, self._trains)
        if self._trains:
            self._log_dictionary()
        if self.cfg.validate_semantics:
            # fairseq later moves this very model to its device.
            try:
                options = generation_options(self.cfg.validate_args)
                generator = self._generator(options, [model], None, None, None)
            except AssertionError as error:  # fairseq's, on options that contradict each other
                raise UserError(f"--validate-args: {error}")
            self._judged = JudgedValidation(self.cfg, generator, self.tgt_dict)
            if self._trains:
                self._judged.require_judge()
        return model

    def build_criterion(self, cfg, **kwargs):
        """Builds the criterion; label smoothing must respect streams."""
        if self._trains:
            refusals.check_metric(self.cfg, cfg)
        if cfg._name == "label_smoothed_cross_entropy":
            if cfg.ignore_prefix_size:
                raise UserError("--ignore-prefix-size is not supported by stream_translation")
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
        # The gradients are computed outside of it, as PyTorch recommends.
        criterion = criterion_in_precision(self.cfg, criterion)
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

    # Validation and generation.

    def valid_step(self, sample, model, criterion):
        """Computes the loss and, if asked, judges generated answers."""
        criterion = criterion_in_precision(self.cfg, criterion)
        ids, keep = None, self._readable(sample)
        if keep is not None:
            ids = sample["id"]
            sample = unread.part_of(sample, keep, self.tgt_dict.pad())
        if keep is None or bool(keep.any()):
            loss, sample_size, logging_output = super().valid_step(sample, model, criterion)
        else:
            loss, sample_size, logging_output = 0.0, 0, dict.fromkeys(unread.NO_LOSS, 0)
        if self._judged is not None:
            logging_output.update(self._judged.judge(sample, model, ids))
        return loss, sample_size, logging_output

    def _readable(self, sample) -> Optional[Tensor]:
        """(B,) which sources the model can read; None if all."""
        if not self._has_unread:
            return None
        keep = unread.readable(sample, self._checker)
        return None if bool(keep.all()) else keep

    def reduce_metrics(self, logging_outputs, criterion) -> None:
        """As in fairseq, with percentages of judged sentences: correct, exact, each other
        verdict."""
        logging_outputs = fetch_numbers(logging_outputs)
        # Of a batch that the model cannot read there is no loss.
        with_loss = [log for log in logging_outputs if log.get("nsentences") != 0]
        if with_loss:
            super().reduce_metrics(with_loss, criterion)
        log_verdicts(logging_outputs)

    def build_generator(
        self,
        models,
        args,
        seq_gen_cls=None,
        extra_gen_cls_kwargs=None,
        prefix_allowed_tokens_fn=None,
    ):
        """Builds a generator in slot space, or fairseq's own for other architectures."""
        # Only a command that prints answers has this option, not a validation.
        if hasattr(args, "print_step"):
            self._run = generation_run.begin(args, self.tgt_dict)
            self._log_dictionary()  # a model that was loaded has brought its pattern
        given = (models, seq_gen_cls, extra_gen_cls_kwargs, prefix_allowed_tokens_fn)
        return self.verification.generator(args, lambda args: self._generator(args, *given))

    def _generator(self, args, models, seq_gen_cls, extra_gen_cls_kwargs, prefix_allowed_tokens_fn):
        """Builds one generator, see :meth:`build_generator`."""
        if all(isinstance(model, SymbolInvariantTransformerModel) for model in models):
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
        return super().build_generator(
            models, args, seq_gen_cls, extra_gen_cls_kwargs, prefix_allowed_tokens_fn
        )

    def inference_step(self, generator, models, sample, prefix_tokens=None, constraints=None):
        """As in fairseq; with ``--verify`` the answers are verified, and with ``--scoring
        semantic`` each hypothesis gets its verdict."""
        given = {"prefix_tokens": prefix_tokens, "constraints": constraints}
        verified = getattr(generator, "verified", None)
        if verified is None:
            hypotheses = self._search(generator, models, sample, **given)
        elif any(value is not None for value in given.values()):
            raise refusals.unsupported("a prefix or a constraint with --verify")
        else:
            device = sample["net_input"]["src_tokens"].device
            hypotheses = self.verification.answer(
                verified,
                sample,
                lambda generator, sample: self._search(generator, models, sample),
                lambda sample: utils.apply_to_sample(lambda tensor: tensor.to(device), sample),
            )
        if self._run is not None:
            self._run.judge(sample, hypotheses)
        return hypotheses

    def _search(self, generator, models, sample, prefix_tokens=None, constraints=None):
        """Hypotheses of the sentences of a batch; those that the model cannot read are marked."""
        keep = self._readable(sample)
        part = sample if keep is None else unread.part_of(sample, keep, self.tgt_dict.pad())
        if keep is not None and prefix_tokens is not None:
            prefix_tokens = prefix_tokens[keep]
        hypotheses = []
        if keep is None or bool(keep.any()):
            with autocast(self.cfg, part):
                hypotheses = super().inference_step(
                    generator, models, part, prefix_tokens=prefix_tokens, constraints=constraints
                )
        if keep is not None:
            hypotheses = unread.with_unread(hypotheses, keep, self.tgt_dict.eos())
        return hypotheses


def _output_scale(model):
    """The AdaCos scale of a model, wrapped or not; None without a cosine head."""
    return getattr(getattr(model, "decoder", None), "output_scale", None)
