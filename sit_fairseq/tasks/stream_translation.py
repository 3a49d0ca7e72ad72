"""Translation between sequences that share interchangeable tokens."""

import logging
import os
from functools import partial
from typing import Mapping, Optional

from fairseq import utils
from fairseq.data import data_utils
from fairseq.tasks import register_task
from fairseq.tasks.translation import TranslationTask

from sit_fairseq.domains.by_name import (
    arity_of,
    given_arity,
    of_file,
    refuse_other_domain,
)
from sit_fairseq.errors import UserError
from sit_fairseq.models.transformer import SymbolInvariantTransformer
from sit_fairseq.tasks import options
from sit_fairseq.tasks.fairseq_patches import patch_command
from sit_fairseq.tasks.options import StreamTranslationConfig
from sit_fairseq.tasks.scoring import JudgedValidation, generation_options, log_verdicts
from sit_fairseq.tasks.stream_counts import lost_names
from sit_fairseq.tasks.stream_task import StreamTask

logger = logging.getLogger(__name__)


@register_task("stream_translation", dataclass=StreamTranslationConfig)
class StreamTranslationTask(StreamTask, TranslationTask):
    """fairseq's translation task for models that keep one stream per symbol.

    Source and target share one :class:`StreamDictionary`, of plain ``fairseq-preprocess
    --joined-dictionary``.
    """

    cfg: StreamTranslationConfig

    def __init__(self, cfg: StreamTranslationConfig, src_dict, tgt_dict) -> None:
        options.check(cfg)
        super().__init__(cfg, src_dict, tgt_dict)
        self.begin(cfg.max_source_positions)
        self._judged: Optional[JudgedValidation] = None

    # Dictionaries, models and criterions.

    @classmethod
    def setup_task(cls, cfg: StreamTranslationConfig, **kwargs):
        """Loads the dictionary; a UserError without ``fairseq-preprocess --joined-dictionary``."""
        patch_command()
        folder = utils.split_paths(cfg.data or "")[0]
        if not os.path.isdir(folder):
            raise UserError(
                f"{os.path.abspath(folder)!r} is no directory of fairseq-preprocess; name one"
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
        if not os.path.isfile(files[1]):  # fairseq-preprocess --only-source
            del files[1]
        dictionary, *of_targets = map(cls.load_dictionary, files)
        if of_targets not in ([], [dictionary]):
            raise UserError(
                f"{files[0]} and {files[1]} differ, but a symbol of the source must be the same "
                "token in the target; run fairseq-preprocess again with --joined-dictionary"
            )
        if cfg.symbols is not None:
            dictionary.set_pattern(cfg.symbols)
        return cls(cfg, dictionary, dictionary)

    def build_model(self, cfg, from_checkpoint: bool = False):
        """Builds the model and, with ``--validate-semantics``, what judges its answers."""
        model = super().build_model(cfg, from_checkpoint)
        if self.cfg.validate_semantics:
            refuse_other_domain(self.cfg.validate_semantics, self.domain, "validate_semantics")
            self._judged = JudgedValidation(self.cfg, self.tgt_dict, required=self._trains)
            # fairseq later moves this very model to its device.
            generator = self.generator([model], generation_options(self.cfg.validate_args))
            self._answer = partial(self.inference_step, generator, [model])
        return model

    def check_model(self, model) -> None:
        """Warns if a model to be trained is one of fairseq's, as for a comparison."""
        if self._trains and not isinstance(model, SymbolInvariantTransformer):
            logger.warning(
                "%s knows no symbols: its answers depend on what they are called; --arch "
                "symbol_invariant_transformer is the model whose answers do not",
                type(model).__name__,
            )

    def domain(self, parameter: str) -> str:
        """As in :class:`StreamTask`: the option's, or else the loaded checkpoint's."""
        return self.cfg.domain or of_file(self.state.state_dict.get("domain"), parameter)

    @property
    def arity(self) -> Mapping[str, int]:
        """The number of operands of each operator, for positions in trees."""
        if self.cfg.domain:
            return given_arity(self.cfg.domain)
        return arity_of(self.state.state_dict.get("domain"))

    # Data.

    def load_dataset(self, split: str, epoch: int = 1, combine: bool = False, **kwargs) -> None:
        """As in :class:`StreamTask`, with warnings of what makes no sense for its sentences."""
        super().load_dataset(split, epoch=epoch, combine=combine, **kwargs)
        if self._judged is not None and split != self.cfg.train_subset:
            self._refuse_lost_names("--validate-semantics")
        if self._trains and split == self.cfg.train_subset:
            pairs = self.datasets[split]
            if self._sentences.fresh_symbols and not pairs.most_fresh:
                logger.warning(
                    "--fresh-symbols %d cost time and learn nothing: no target of %s holds a "
                    "symbol that its source lacks; leave them out, or widen --symbols",
                    self._sentences.fresh_symbols,
                    split,
                )

    def checked(self, dataset, split: str):
        if self._trains and dataset.tgt is None:
            raise UserError(
                f"the {split} split has no targets; run fairseq-preprocess without --only-source"
            )
        cut = self.cfg.max_source_positions if self.cfg.truncate_source else 0
        return self._sentences.split(dataset, split, cut)

    def _refuse_lost_names(self, option: str) -> None:
        """Raises a UserError if sentences that a judge reads have lost names of symbols."""
        for split, pairs in self.datasets.items():
            unknown = getattr(pairs, "unknown", 0)
            if unknown and split != self.cfg.train_subset and self.src_dict.pattern is not None:
                raise UserError(f"{option} cannot judge: {lost_names(unknown, split)}")

    # Validation and generation.

    def valid_step(self, sample, model, criterion):
        """As in :class:`StreamTask`, with the verdicts on answers."""
        result = super().valid_step(sample, model, criterion)
        if self._judged is not None:
            result[2].update(self._judged.judge(sample, self._answer))
        return result

    def reduce_metrics(self, logging_outputs, criterion) -> None:
        """As in :class:`StreamTask`, with percentages of judged sentences, see :func:`log_verdicts`."""
        super().reduce_metrics(logging_outputs, criterion)
        log_verdicts(logging_outputs)

    def build_generator(self, models, args, *given, **more):
        """Begins a run, whose answers may be scored."""
        generator = super().build_generator(models, args, *given, **more)
        self._run.check_scored = partial(self._refuse_lost_names, "--scoring semantic")
        return generator
