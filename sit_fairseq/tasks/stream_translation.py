"""Translation between sequences that share interchangeable tokens."""

from typing import Optional

from fairseq import utils
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.tasks import register_task
from torch import Tensor

from sit_fairseq.copies import log_copy
from sit_fairseq.criterions.label_smoothing import StreamLabelSmoothedCrossEntropyCriterion
from sit_fairseq.data.alpha_renaming import AlphaRenaming
from sit_fairseq.data.sentence_checks import SentenceChecker, refuse_operators_as_symbols
from sit_fairseq.errors import UserError
from sit_fairseq.interactive import answer_every_line
from sit_fairseq.models.symbol_invariant_transformer import (
    SymbolInvariantTransformerModel,
    add_newer_options,
)
from sit_fairseq.modules.tree_positions import TreePositions
from sit_fairseq.optim.parameter_groups import mark_embeddings
from sit_fairseq.precision import (
    autocast,
    check_training_precision,
    criterion_in_precision,
)
from sit_fairseq.slot_generation import StreamSequenceGenerator, StreamSequenceScorer
from sit_fairseq.tasks import generation_run, refusals, unread
from sit_fairseq.tasks.judged_validation import JudgedValidation, generation_options, log_verdicts
from sit_fairseq.tasks.options import StreamTranslationConfig
from sit_fairseq.tasks.stream_data import StreamDataTask
from sit_fairseq.tasks.verification import print_verdicts
from sit_fairseq.transfers import fetch_numbers


@register_task("stream_translation", dataclass=StreamTranslationConfig)
class StreamTranslationTask(StreamDataTask):
    """fairseq's translation task for models that keep one stream per symbol.

    Its other half, :class:`StreamDataTask`, has the data.

    Args:
        cfg: options.
        src_dict: the dictionary.
        tgt_dict: the same dictionary.
    """

    def __init__(self, cfg: StreamTranslationConfig, src_dict, tgt_dict) -> None:
        super().__init__(cfg, src_dict, tgt_dict)
        self._judged: Optional[JudgedValidation] = None
        self._run: Optional[generation_run.GenerationRun] = None
        self._renaming = AlphaRenaming(src_dict, cfg.seed) if cfg.alpha_renaming else None
        self._epoch = 1

    @classmethod
    def setup_task(cls, cfg: StreamTranslationConfig, **kwargs):
        """Loads the dictionary.

        Raises:
            UserError: if the data directory or an option is unsuitable.
        """
        log_copy()
        answer_every_line()
        print_verdicts()
        return super().setup_task(cfg, **kwargs)

    def build_model(self, cfg, from_checkpoint: bool = False):
        """Builds the model and, with ``--validate-semantics``, what judges its answers."""
        if from_checkpoint:
            add_newer_options(cfg)
        self._trains = not from_checkpoint
        if self._trains:
            refusals.refuse_verified_training(self.cfg)
            check_training_precision(self.cfg)
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
            options = generation_options(self.cfg.validate_args)
            try:
                # fairseq later moves this very model to its device.
                generator = self._generator(options, [model], None, None, None)
            except UserError as error:
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
        pad, eos = self.tgt_dict.pad(), self.tgt_dict.eos()
        keep = self._readable(sample)
        readable = sample if keep is None else unread.part_of(sample, keep, pad)
        if keep is None or bool(keep.any()):
            loss, sample_size, logging_output = super().valid_step(readable, model, criterion)
        else:
            given = unread.stand_in(sample, pad, eos)
            loss, sample_size, logging_output = super().valid_step(given, model, criterion)
            loss, sample_size = 0 * loss, 0 * sample_size
            logging_output = {name: 0 * value for name, value in logging_output.items()}
        if self._judged is not None:
            ids = None if keep is None else sample["id"]
            logging_output.update(self._judged.judge(readable, model, ids))
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
        try:
            return super().build_generator(
                models, args, seq_gen_cls, extra_gen_cls_kwargs, prefix_allowed_tokens_fn
            )
        except AssertionError as error:  # fairseq's, on options that contradict each other
            raise UserError(f"options of the search contradict each other: {error}")

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
