"""Translation between sequences that share interchangeable tokens."""

import functools
import json
import logging
import os
import weakref
from argparse import Namespace
from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional

from fairseq import utils
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.data import LanguagePairDataset, data_utils
from fairseq.logging import metrics
from fairseq.tasks import register_task
from fairseq.tasks.translation import TranslationConfig, TranslationTask
from omegaconf import II
from torch.nn.parallel import DistributedDataParallel

from sit_fairseq.criterions.label_smoothing import StreamLabelSmoothedCrossEntropyCriterion
from sit_fairseq.data.alpha_renaming import AlphaRenaming
from sit_fairseq.data.length_ramp import LengthRamp
from sit_fairseq.data.sentence_checks import SentenceChecker, refuse_operators_as_symbols
from sit_fairseq.data.stream_pairs import StreamPairDataset
from sit_fairseq.data.training_batches import TrainingBatchIterator
from sit_fairseq.errors import UserError
from sit_fairseq.judging.judge import make_judge
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.logic.syntax import read_sentences
from sit_fairseq.models.symbol_invariant_transformer import (
    SymbolInvariantTransformerModel,
    add_newer_options,
)
from sit_fairseq.modules.tree_positions import TreePositions
from sit_fairseq.optim.parameter_groups import mark_embeddings
from sit_fairseq.precision import autocast, check_precision
from sit_fairseq.slot_generation import StreamSequenceGenerator, StreamSequenceScorer
from sit_fairseq.symbols.stream_dictionary import StreamDictionary
from sit_fairseq.transfers import fetch_numbers

logger = logging.getLogger(__name__)


@dataclass
class StreamTranslationConfig(TranslationConfig):
    """Options of the task, beside those of fairseq's ``translation``."""

    symbols: Optional[str] = field(
        default=None,
        metadata={
            "help": "regular expression that matches the interchangeable tokens in full; saved "
            "with the model, so that only fairseq-train needs it"
        },
    )
    alpha_renaming: bool = field(
        default=False,
        metadata={
            "help": "in training, rename the symbols of each pair at random among all symbols of "
            "the dictionary, anew in each epoch"
        },
    )
    length_ramp_updates: int = field(
        default=0,
        metadata={
            "help": "in training, draw batches from those whose sources are within a limit that "
            "rises linearly to the longest over that many updates; 0 for no limit"
        },
    )
    length_ramp_start: Optional[int] = field(
        default=None,
        metadata={
            "help": "the limit of --length-ramp-updates at the first update, in tokens with </s> "
            "(default: the length of the shortest batch)"
        },
    )
    update_freq: List[int] = II("optimization.update_freq")
    seed: int = II("common.seed")
    left_pad_source: bool = field(default=False, metadata={"help": "pad the source on the left"})
    validate_semantics: Optional[str] = field(
        default=None,
        metadata={"help": "judge generated answers during validation: prop, ltl, copy"},
    )
    validate_samples: int = field(
        default=1000,
        metadata={"help": "judge the answers to that many sentences, the first of each split"},
    )
    validate_args: str = field(
        default='{"beam": 1, "max_len_a": 2, "max_len_b": 10}',
        metadata={"help": "generation options for --validate-semantics, as JSON"},
    )
    autocast: Optional[str] = field(
        default=None,
        metadata={
            "help": "bfloat16: products of matrices in bfloat16, everything else in float32, on a "
            "CPU or a GPU that knows bfloat16; not saved with the model, each command has its own"
        },
    )
    cpu: bool = II("common.cpu")
    fp16: bool = II("common.fp16")
    bf16: bool = II("common.bf16")
    amp: bool = II("common.amp")
    tpu: bool = II("common.tpu")


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

    # The task that last built a generator in this process: fairseq builds scorers from
    # their options alone, and a judge needs the source.
    generating: Optional["StreamTranslationTask"] = None

    def __init__(self, cfg: StreamTranslationConfig, src_dict, tgt_dict) -> None:
        super().__init__(cfg, src_dict, tgt_dict)
        self._checker: Optional[SentenceChecker] = None
        self._one_stream = False
        self._generation_cfg: Any = None
        self._scorer: Any = None
        self._validation_generator: Any = None
        self._judges: Optional[JudgePool] = None
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
            UserError: if the data directory, ``--symbols`` or ``--autocast`` is unsuitable.
        """
        check_precision(cfg)
        path = utils.split_paths(cfg.data or "")[0]
        if not os.path.isdir(path):
            raise UserError(
                f"{path!r} is not a directory written by fairseq-preprocess; run that first "
                "and name its --destdir"
            )
        if cfg.source_lang is None or cfg.target_lang is None:
            cfg.source_lang, cfg.target_lang = data_utils.infer_language_pair(path)
        if cfg.source_lang is None or cfg.target_lang is None:
            raise UserError(
                f"{path} holds no binarised data to tell the languages from; pass "
                "--source-lang and --target-lang"
            )
        files = [
            os.path.join(path, f"dict.{lang}.txt") for lang in (cfg.source_lang, cfg.target_lang)
        ]
        for file in files:
            if not os.path.isfile(file):
                raise UserError(f"{file} is missing; run fairseq-preprocess --joined-dictionary")
        dictionary, target_dictionary = (cls.load_dictionary(file) for file in files)
        if dictionary != target_dictionary:
            raise UserError(
                f"{files[0]} and {files[1]} differ, but a symbol of the source must be the same "
                "token in the target; run fairseq-preprocess again with --joined-dictionary"
            )
        marked = [token for token in dictionary.symbols if "\ufeff" in token]
        if marked:
            raise UserError(
                f"{files[0]} holds the token {marked[0]!r}, as line 1 of a file given to "
                "fairseq-preprocess begins with a byte order mark; save the files without one and "
                "run it again"
            )
        for option in ("num_batch_buckets", "left_pad_target"):
            if getattr(cfg, option):
                raise _unsupported(_flag(option))
        if cfg.alpha_renaming and cfg.symbols is None:
            raise UserError("--alpha-renaming needs --symbols REGEX, to know what to rename")
        if cfg.symbols is not None:
            dictionary.set_pattern(cfg.symbols)
        logger.info("dictionary: %d tokens", len(dictionary))
        return cls(cfg, dictionary, dictionary)

    def load_dataset(self, split: str, epoch: int = 1, combine: bool = False, **kwargs) -> None:
        """Loads a split and checks every sentence of it."""
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
        dataset = StreamPairDataset(self.datasets[split], f"{split} source", self._one_stream)
        self.datasets[split] = dataset
        if len(dataset) == 0:
            raise UserError(f"the {split} split of {self.cfg.data} has no sentences")
        if self._checker is not None:
            self._checker.check_split(split, dataset.src, dataset.tgt)

    def get_batch_iterator(self, dataset, *args, epoch: int = 1, **kwargs):
        """As in fairseq, but no sentence is lost: the last batch is not dropped for not being
        a multiple of 8, and a resumed training has the batches of an uninterrupted one, which
        keeps those of its first epoch. Those of training follow ``--length-ramp-updates``."""
        kwargs["required_batch_size_multiple"] = 1
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
            UserError: on a token that is neither a base token nor a symbol.
        """
        sentences = []
        for line in lines:
            text = encode_fn(line)
            for token in text.split():
                if token not in self.src_dict and not self.src_dict.is_symbol(token):
                    raise UserError(
                        f"unknown token {token!r} in {line!r}: it is no base token of the model "
                        f"and --symbols {self.src_dict.pattern!r} does not match it"
                    )
            sentences.append(self.src_dict.encode_line(text, add_if_not_exist=False).long())
        return sentences, [sentence.numel() for sentence in sentences]

    def build_dataset_for_inference(self, src_tokens, src_lengths, constraints=None):
        """Wraps sentences typed by a user or given to fairseq's Python interface.

        Raises:
            UserError: on a sentence that the model cannot read.
        """
        if self._checker is not None:
            self._checker.check_input(
                src_tokens, lambda index: repr(self.src_dict.string(src_tokens[index]))
            )
        pairs = LanguagePairDataset(
            src_tokens,
            src_lengths,
            self.source_dictionary,
            tgt_dict=self.target_dictionary,
            left_pad_source=False,
            constraints=constraints,
        )
        return StreamPairDataset(pairs, "input", self._one_stream)

    def can_reuse_epoch_itr(self, dataset) -> bool:
        """fairseq-interactive would otherwise keep one iterator per line for ever."""
        return dataset in self.datasets.values() and super().can_reuse_epoch_itr(dataset)

    # Model and training.

    def build_model(self, cfg, from_checkpoint: bool = False):
        """Builds the model and, with ``--validate-semantics``, what judges its answers."""
        if from_checkpoint:
            add_newer_options(cfg)
        model = super().build_model(cfg, from_checkpoint)
        mark_embeddings(model)
        self._one_stream = True
        if isinstance(model, SymbolInvariantTransformerModel):
            self._one_stream = model.vocabulary.one_stream
            if not from_checkpoint:
                self._require_symbols()
            positions, depth = model.encoder.embed_positions, None
            if isinstance(positions, TreePositions):
                refuse_operators_as_symbols(self.src_dict)
                depth = positions.depth
            self._checker = SentenceChecker(model.vocabulary, depth)
        if self.cfg.validate_semantics:
            # fairseq later moves this very object to its device.
            try:
                args = Namespace(**json.loads(self.cfg.validate_args))
            except (TypeError, ValueError) as error:
                raise UserError(f"--validate-args must be a JSON object: {error}")
            self._validation_generator = self.build_generator([model], args)
            self._judges = JudgePool(make_judge(self.cfg.validate_semantics))
            # fairseq does not say when the last validation is over.
            weakref.finalize(self, self._judges.close)
        return model

    def _require_symbols(self) -> None:
        """In training the data must hold some; a dictionary to answer with need not."""
        pattern = self.src_dict.pattern
        if pattern is None:
            raise UserError(
                "--symbols REGEX is missing: say which tokens are interchangeable, "
                "for example --symbols '[a-z]'"
            )
        if not self.src_dict.known_symbols():
            raise UserError(
                f"--symbols {pattern!r} matches no token of the dictionary in {self.cfg.data}; "
                "choose a regular expression that matches whole tokens"
            )

    def build_criterion(self, cfg, **kwargs):
        """Builds the criterion; label smoothing must respect streams."""
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
        _check_wrapping(model)
        if self._renaming is not None:
            sample = self._renaming.rename(sample, self._epoch)
        # The gradients are computed outside of it, as PyTorch recommends.
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

    def _autocast(self, criterion):
        """The criterion, called in the precision of ``--autocast``."""

        @functools.wraps(criterion)
        def criterion_in_precision(model, sample):
            with autocast(self.cfg, sample):
                return criterion(model, sample)

        return criterion_in_precision

    # Validation and generation.

    def valid_step(self, sample, model, criterion):
        """Computes the loss and, if asked, judges generated answers."""
        criterion = self._autocast(criterion)
        loss, sample_size, logging_output = super().valid_step(sample, model, criterion)
        if self._judges is not None:
            logging_output.update(self._judge_batch(sample, model))
        return loss, sample_size, logging_output

    def _judge_batch(self, sample: Dict[str, Any], model) -> Dict[str, int]:
        counts = {f"_verdict_{verdict.value}": 0 for verdict in Verdict}
        counts["_exact"] = 0
        keep = sample["id"] < self.cfg.validate_samples
        if not bool(keep.any()):
            return counts
        net_input = {name: value[keep] for name, value in sample["net_input"].items()}
        part = {"id": sample["id"][keep], "net_input": net_input}
        with autocast(self.cfg, part):
            hypotheses = super().inference_step(self._validation_generator, [model], part)
        answers = [self._string(hypothesis[0]["tokens"]) for hypothesis in hypotheses]
        sources = [self._string(tokens) for tokens in net_input["src_tokens"]]
        targets = [self._string(tokens) for tokens in sample["target"][keep]]
        for verdict in self._judges.verify_all(list(zip(sources, answers))):
            counts[f"_verdict_{verdict.value}"] += 1
        counts["_exact"] = sum(map(str.__eq__, answers, targets))
        return counts

    def reduce_metrics(self, logging_outputs, criterion) -> None:
        """Logs percentages of judged sentences: correct, exact, each other verdict."""
        logging_outputs = fetch_numbers(logging_outputs)
        super().reduce_metrics(logging_outputs, criterion)
        if not any("_exact" in log for log in logging_outputs):
            return
        keys = {verdict: f"_verdict_{verdict.value}" for verdict in Verdict}
        for key in [*keys.values(), "_exact"]:
            metrics.log_scalar(key, sum(utils.item(log.get(key, 0)) for log in logging_outputs))
        shown = {
            "correct" if verdict is Verdict.satisfied else verdict.value: key
            for verdict, key in keys.items()
        }
        shown["exact"] = "_exact"
        for name, key in shown.items():
            metrics.log_derived(name, _percentage(key, list(keys.values())))

    def build_generator(
        self,
        models,
        args,
        seq_gen_cls=None,
        extra_gen_cls_kwargs=None,
        prefix_allowed_tokens_fn=None,
    ):
        """Builds a generator in slot space, or fairseq's own for other architectures."""
        StreamTranslationTask.generating = self
        self._generation_cfg = args
        if all(isinstance(model, SymbolInvariantTransformerModel) for model in models):
            for option in ("constraints", "print_alignment", "retain_dropout"):
                if getattr(args, option, None):
                    raise _unsupported(_flag(option))
            if prefix_allowed_tokens_fn is not None:
                # It would be given canonical ids and asked for them.
                raise _unsupported("prefix_allowed_tokens_fn")
            if getattr(args, "score_reference", False):
                return StreamSequenceScorer(self.target_dictionary)
            seq_gen_cls = seq_gen_cls or StreamSequenceGenerator
        return super().build_generator(
            models, args, seq_gen_cls, extra_gen_cls_kwargs, prefix_allowed_tokens_fn
        )

    def attach_scorer(self, scorer) -> None:
        """Lets ``--scoring semantic`` see sources; its verdicts go to the ``I-`` lines."""
        self._scorer = scorer
        self._generation_cfg.print_step = True

    def inference_step(self, generator, models, sample, prefix_tokens=None, constraints=None):
        """As in fairseq; with ``--scoring semantic`` each hypothesis gets its verdict."""
        with autocast(self.cfg, sample):
            hypotheses = super().inference_step(
                generator, models, sample, prefix_tokens=prefix_tokens, constraints=constraints
            )
        if self._scorer is not None:
            self._scorer.judge_batch(
                [self._string(tokens) for tokens in sample["net_input"]["src_tokens"]],
                [hypothesis[: self._generation_cfg.nbest] for hypothesis in hypotheses],
                self._string,
            )
        return hypotheses

    def _string(self, tokens) -> str:
        tokens = utils.strip_pad(tokens, self.tgt_dict.pad())
        return self.tgt_dict.string(tokens.int().cpu())


def _flag(option: str) -> str:
    return "--" + option.replace("_", "-")


def _unsupported(what: str) -> UserError:
    return UserError(f"{what} is not supported by stream_translation; leave it out")


def _check_wrapping(model) -> None:
    """PyTorch's wrapper for several ranks is made before fairseq loads a checkpoint, and
    cannot follow when the matrix takes over the checkpoint's number of rows."""
    wrapped = isinstance(getattr(model, "module", None), DistributedDataParallel)
    if wrapped and any(getattr(module, "resized", False) for module in model.modules()):
        raise UserError(
            "the checkpoint has base tokens that the data have not, which --ddp-backend "
            "pytorch_ddp cannot train; pass --ddp-backend legacy_ddp"
        )


def _output_scale(model):
    """The AdaCos scale of a model, wrapped or not; None without a cosine head."""
    return getattr(getattr(model, "decoder", None), "output_scale", None)


def _percentage(key: str, total_keys: List[str]):
    def derive(meters) -> float:
        total = sum(meters[name].sum for name in total_keys)
        return round(100.0 * meters[key].sum / total, 2) if total else 0.0

    return derive
