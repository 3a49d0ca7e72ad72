"""The data of ``stream_translation``: what is loaded, in which batches, and what is typed."""

import logging
from copy import deepcopy
from typing import Any, Callable, List, Optional, Sequence

import torch
from fairseq.data import LanguagePairDataset
from fairseq.dataclass.utils import merge_with_parent
from fairseq.tasks.translation import TranslationTask
from omegaconf import DictConfig
from torch import Tensor

from sit_fairseq.data.binarised_files import check_binarised
from sit_fairseq.data.length_ramp import LengthRamp
from sit_fairseq.data.sentence_checks import SentenceChecker
from sit_fairseq.data.stream_pairs import StreamPairDataset
from sit_fairseq.data.training_batches import TrainingBatchIterator
from sit_fairseq.errors import UnansweredError, UserError
from sit_fairseq.logic.syntax import read_sentences
from sit_fairseq.symbols.stream_dictionary import StreamDictionary
from sit_fairseq.tasks import refusals
from sit_fairseq.tasks.options import StreamTranslationConfig
from sit_fairseq.tasks.verification import ExpectedEpochs, Verification

logger = logging.getLogger(__name__)


class StreamDataTask(TranslationTask):
    """Dictionaries, splits, batches and typed lines of ``stream_translation``.

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
        self._has_unread = False
        self._logged_dictionary = False
        self.verification = Verification(self)
        self._length_ramp = LengthRamp.from_options(cfg.length_ramp_updates, cfg.length_ramp_start)

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
    ) -> "StreamDataTask":
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
