"""Answers of a trained model, in this process and without binarised data."""

import os
from argparse import Namespace
from dataclasses import dataclass
from typing import Any, Collection, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import numpy
import torch
from fairseq import checkpoint_utils, tasks, utils
from torch import Tensor

from sit_fairseq.errors import UnansweredError, UserError
from sit_fairseq.logic.syntax import ARITY
from sit_fairseq.symbols.saved_tokens import saved_vocabulary
from sit_fairseq.tasks.stream_dictionary import StreamDictionary
from sit_fairseq.tasks.stream_translation import StreamTranslationTask

_TASK = "stream_translation"

# The positions of some sentences, and the answers to each of them, best first.
Batch = Tuple[List[int], List[List[str]]]


@dataclass(frozen=True)
class DecodingOptions:
    """How to search for answers; the names and the lengths are fairseq's.

    Attributes:
        beam: hypotheses kept at each step.
        nbest: answers returned for each sentence, at most ``beam``.
        lenpen: exponent of the length by which a score is divided.
        max_len_a: an answer has at most ``max_len_a * source length + max_len_b`` tokens.
        max_len_b: see above.
        batch_size: sentences decoded together.
        max_tokens: stream tokens decoded together, None for no limit.
        device: where to compute, e.g. ``cpu`` or ``cuda``.
        verify: who accepts answers, see ``--verify`` of the task; None for nobody.
        verify_beams: the widths of the beams for that.
        verify_choose: ``shortest`` to take the shortest accepted answer of a beam.
    """

    beam: int = 3
    nbest: int = 1
    lenpen: float = 1.0
    max_len_a: float = 0.0
    max_len_b: int = 200
    batch_size: int = 64
    max_tokens: Optional[int] = None
    device: str = "cpu"
    verify: Optional[str] = None
    verify_beams: Optional[str] = None
    verify_choose: Optional[str] = None

    def check(self) -> None:
        """Refuses values that cannot be used.

        Raises:
            UserError: naming the option.
        """
        for name in ("beam", "batch_size", "max_tokens"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UserError(f"--{name.replace('_', '-')} {value}: it must be at least 1.")
        if self.max_len_a < 0 or self.max_len_b < 0 or self.max_len_a + self.max_len_b < 1:
            raise UserError(
                f"--max-len-a {self.max_len_a} --max-len-b {self.max_len_b}: neither may be "
                "negative, and together they must allow for one token."
            )
        try:
            torch.zeros(1, device=self.device)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).split("\n")[0]
            raise UserError(f"--device {self.device} cannot be used here ({reason}); try cpu.")


class CheckpointDecoder:
    """A checkpoint of fairseq-train that answers sentences.

    A stream model knows its base tokens and which tokens are symbols, so that it needs no
    data directory. Any other model of the ``stream_translation`` task (fairseq's own
    ``transformer``, for example) needs the dictionary it was trained with.

    Args:
        path: the checkpoint.
        options: how to search.
        data: a directory written by fairseq-preprocess.
        symbols: pattern of the symbols, if it is to differ from the one in the checkpoint.
        fresh_names: what answers call symbols that their source lacks, see ``--fresh-names``;
            None for what the checkpoint says.

    Raises:
        UserError: the checkpoint, the directory or an option cannot be used.
    """

    def __init__(
        self,
        path: str,
        options: DecodingOptions,
        *,
        data: Optional[str] = None,
        symbols: Optional[str] = None,
        fresh_names: Optional[str] = None,
    ) -> None:
        options.check()
        if not os.path.isfile(path):
            raise UserError(f"There is no checkpoint {path}; name one of fairseq-train by --path.")
        overrides: Dict[str, Any] = {"validate_semantics": None, "verify": None}
        overrides["verify_beams"] = None
        if data is not None:
            overrides["data"] = data
            if symbols is not None:
                overrides["symbols"] = symbols
        state = checkpoint_utils.load_checkpoint_to_cpu(path, overrides)
        name = state["cfg"]["task"]["_name"]
        if name != _TASK:
            raise UserError(
                f"{path} was trained with --task {name}; only models of --task {_TASK} can be "
                "evaluated."
            )
        vocabulary = saved_vocabulary(state["model"])
        if data is not None:
            self._task = tasks.setup_task(state["cfg"]["task"], from_checkpoint=True)
        elif vocabulary is not None:
            base_tokens, pattern = vocabulary
            self._task = StreamTranslationTask.from_vocabulary(
                state["cfg"]["task"], base_tokens, symbols or pattern
            )
        else:
            raise UserError(
                f"{path} is no model with streams and does not hold its dictionary: name the "
                "directory it was trained on by --data."
            )
        if fresh_names is not None:
            self._task.cfg.fresh_names = fresh_names
        self._closed = vocabulary is None
        self._device = torch.device(options.device)
        self._options = options
        self._model = self._load(path, state)
        self._dictionary: StreamDictionary = self._task.source_dictionary
        self._generator = self._task.build_generator(
            [self._model],
            Namespace(
                beam=options.beam,
                nbest=options.nbest,
                lenpen=options.lenpen,
                max_len_a=options.max_len_a,
                max_len_b=options.max_len_b,
                verify=options.verify,
                verify_beams=options.verify_beams,
                verify_choose=options.verify_choose,
            ),
        )

    def _load(self, path: str, state: Dict[str, Any]):
        try:
            models, _, _ = checkpoint_utils.load_model_ensemble_and_task(
                [path], task=self._task, state=state
            )
        except RuntimeError as error:
            # The first line of torch's message names the class only.
            reason = str(error).strip().split("\n")[-1].strip()
            raise UserError(
                f"The weights of {path} do not fit the dictionary ({reason}); name the directory "
                "the model was trained on by --data."
            )
        model = models[0]
        model.make_generation_fast_()
        return model.to(self._device)

    @property
    def symbols(self) -> Optional[str]:
        """The pattern of the interchangeable tokens, None if nobody has said it."""
        return self._dictionary.pattern

    @property
    def fresh_symbols(self) -> int:
        """How many symbols an answer may hold that its source lacks."""
        return 0 if self._closed else self._model.vocabulary.fresh_symbols

    @property
    def model(self) -> torch.nn.Module:
        """The model that is asked."""
        return self._model

    @property
    def task(self) -> StreamTranslationTask:
        """What reads sentences for the model, and makes what searches for answers."""
        return self._task

    @property
    def base_tokens(self) -> List[str]:
        """The tokens with a fixed identity, beside fairseq's special ones."""
        return self._dictionary.base_tokens()

    def is_symbol(self, token: str) -> bool:
        """Whether a token is interchangeable.

        Raises:
            UserError: nobody has said which tokens are.
        """
        if self._dictionary.pattern is None:
            raise UserError(
                "The checkpoint does not say which tokens are interchangeable: pass --symbols "
                "REGEX."
            )
        return self._dictionary.is_symbol(token)

    def refusal(self, sentence: str) -> Optional[str]:
        """Why a sentence cannot be answered, None if it can."""
        (found,) = self._read([sentence])
        return found.reason if isinstance(found, UnansweredError) else None

    def _read(self, sentences: Sequence[str]) -> List[Union[Tensor, UnansweredError]]:
        longest = utils.resolve_max_positions(
            self._task.max_positions(), self._model.max_positions()
        )
        most = self._options.max_tokens
        return self._task.read(sentences, str, longest, most, self._options)

    def symbol_names(self, count: int) -> List[str]:
        """Names that the model takes for symbols.

        Args:
            count: how many.

        Returns:
            The symbols of the dictionary; for a model with streams then a, b, ..., z, p0, p1,
            ... as far as the pattern matches them.

        Raises:
            UserError: there are too few.
        """
        candidates = self._dictionary.known_symbols()
        if not self._closed:
            candidates += [chr(ord("a") + i) for i in range(26)] + [f"p{i}" for i in range(count)]
        names = [name for name in dict.fromkeys(candidates) if name not in ARITY]
        names = [name for name in names if self.is_symbol(name)][:count]
        if len(names) < count:
            raise UserError(
                f"{count} symbols are more than the {len(names)} known to a model whose pattern "
                f"is {self._dictionary.pattern!r}; widen it by --symbols, or ask for fewer."
            )
        return names

    def decode(self, sources: Sequence[str], skip: Collection[int] = ()) -> Iterator[Batch]:
        """Answers sentences, those of similar length together.

        Which sentences make up a batch depends on ``sources`` and the options alone, so that
        an interrupted run can be repeated in part.

        Args:
            sources: sentences of space-separated tokens.
            skip: positions whose answers are not wanted; a batch is left out if it has no
                other.

        Yields:
            The positions of the sentences in a batch, and for each its ``nbest`` answers, best
            first. Every sentence is in one batch.

        Raises:
            UserError: a sentence cannot be read by the model.
        """
        if not sources:
            return
        tokens = self._read(sources)
        for number, found in enumerate(tokens, start=1):
            if isinstance(found, UnansweredError):
                raise UserError(f"Sentence {number} cannot be answered: {found}; remove it.")
        lengths = [sentence.numel() for sentence in tokens]
        dataset = self._task.build_dataset_for_inference(tokens, lengths)
        # The longest first: if the memory is too small, that shows at once.
        order = sorted(range(len(lengths)), key=lambda position: -lengths[position])
        for batch in dataset.batch_by_size(
            numpy.array(order),
            max_tokens=self._options.max_tokens,
            max_sentences=self._options.batch_size,
        ):
            if all(place in skip for place in batch.tolist()):
                continue
            sample = dataset.collater([dataset[place] for place in batch])
            positions = sample["id"].tolist()  # the collater sorts once more
            sample = utils.apply_to_sample(lambda tensor: tensor.to(self._device), sample)
            hypotheses = self._task.inference_step(self._generator, [self._model], sample)
            yield positions, [
                [self._text(hypothesis["tokens"]) for hypothesis in nbest[: self._options.nbest]]
                for nbest in hypotheses
            ]
        self._task.end_run()

    def _text(self, tokens: Tensor) -> str:
        return self._task.target_dictionary.string(tokens.int().cpu())
