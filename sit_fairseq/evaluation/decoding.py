"""Answers of a trained model, in this process and without binarised data."""

from argparse import Namespace
from typing import Any, Collection, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy
import torch
from fairseq import checkpoint_utils, tasks, utils
from fairseq.models import BaseFairseqModel
from omegaconf import DictConfig, open_dict

from sit_fairseq.domains.by_name import make_judge
from sit_fairseq.domains.formulas.syntax import ARITY
from sit_fairseq.errors import UnansweredError, UserError
from sit_fairseq.evaluation.answering import Answered
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.models import symbol_invariant_transformer  # noqa: F401  registers the model
from sit_fairseq.symbols.saved_tokens import saved_vocabulary
from sit_fairseq.tasks.stream_translation import StreamTranslationTask

# Verdicts of a verified search that a judge would give again. Others depend on the time it had, or
# are of sentences that it was not asked about.
_DECIDED = (Verdict.satisfied, Verdict.violated, Verdict.vacuous)


def load_checkpoint(
    path: str,
    *,
    data: Optional[str] = None,
    symbols: Optional[str] = None,
    fresh_names: Optional[str] = None,
) -> Tuple[DictConfig, StreamTranslationTask, BaseFairseqModel]:
    """A checkpoint's options, task and model; the arguments are those of
    :class:`CheckpointDecoder`.

    Raises:
        UserError: there is no such checkpoint, or it does not hold its dictionary.
    """
    overrides = dict.fromkeys(("validate_semantics", "verify", "verify_beams", "constrained"))
    overrides.update({} if data is None else {"data": data})
    state = checkpoint_utils.load_checkpoint_to_cpu(path, overrides)
    cfg, vocabulary = state["cfg"]["task"], saved_vocabulary(state["model"])
    with open_dict(cfg):
        cfg.update({} if symbols is None else {"symbols": symbols})
        cfg.update({} if fresh_names is None else {"fresh_names": fresh_names})
        cfg._name = "stream_translation"  # whatever fairseq's own model was trained with
    if data is not None:
        task = tasks.setup_task(cfg, from_checkpoint=True)
    elif vocabulary is not None:
        base_tokens, pattern = vocabulary
        task = StreamTranslationTask.from_vocabulary(cfg, base_tokens, symbols or pattern)
    else:
        raise UserError(
            f"{path} is no model with streams and does not hold its dictionary: name the "
            "directory it was trained on",
            "data",
        )
    (model,), cfg, _ = checkpoint_utils.load_model_ensemble_and_task([path], task=task, state=state)
    return cfg, task, model


class CheckpointDecoder:
    """A checkpoint of fairseq-train that answers sentences.

    Args:
        path: the checkpoint.
        data: a directory written by fairseq-preprocess, for models without streams, whose
            checkpoints do not hold their dictionaries.
        symbols: pattern of the symbols; None for the one in the checkpoint.
        fresh_names: what answers call symbols that their source lacks, separated by commas; None
            for what the checkpoint says.
        device: where to compute, e.g. ``cpu`` or ``cuda``.
        batch_size: sentences decoded together.
        max_tokens: stream tokens decoded together, None for no limit.
        **search: options of generation, as in fairseq, ``beam`` and ``nbest`` for example; and
            ``verify="prop"``, ``verify_beams=[3, 25]``, ``constrained="prop"``.

    Attributes:
        model: the model.
        task: its task.
        base_tokens: the tokens with a fixed identity, beside fairseq's special ones.
        fresh_symbols: see :class:`~sit_fairseq.evaluation.answering.Answerer`.
        judge: likewise.

    Raises:
        UserError: the checkpoint, the directory or an option cannot be used.
    """

    def __init__(
        self,
        path: str,
        *,
        data: Optional[str] = None,
        symbols: Optional[str] = None,
        fresh_names: Optional[str] = None,
        device: str = "cpu",
        batch_size: int = 64,
        max_tokens: Optional[int] = None,
        **search: Any,
    ) -> None:
        try:
            self._device = torch.device(device)
            torch.zeros(1, device=self._device)
        except (RuntimeError, AssertionError) as error:
            reason = str(error).split("\n")[0]
            raise UserError(f"{device} cannot be used here ({reason})", "device")
        _, self.task, self.model = load_checkpoint(
            path, data=data, symbols=symbols, fresh_names=fresh_names
        )
        self.model.make_generation_fast_()
        self.model.to(self._device)
        self._has_streams = saved_vocabulary(self.model.state_dict()) is not None
        self._dictionary = self.task.source_dictionary
        self._limits = {"max_tokens": max_tokens, "max_sentences": batch_size}
        self._search = Namespace(**search)
        self._generator = self.task.build_generator([self.model], self._search)
        self.base_tokens = self._dictionary.base_tokens()
        self.fresh_symbols = self.model.vocabulary.fresh_symbols if self._has_streams else 0
        self.judge = make_judge(search["verify"]) if search.get("verify") else None

    @property
    def symbols(self) -> Optional[str]:
        """The pattern of the interchangeable tokens, None if nobody has said it."""
        return self._dictionary.pattern

    def symbol_names(self, count: int) -> List[str]:
        """So many names that the model takes for symbols.

        They are of the dictionary; with streams a, b, ..., z, p0, p1, ... follow, where the pattern
        matches them.

        Raises:
            UserError: there are too few.
        """
        names = self._dictionary.known_symbols()
        if self._has_streams:
            names += [*"abcdefghijklmnopqrstuvwxyz", *(f"p{number}" for number in range(count))]
        names = [name for name in dict.fromkeys(names) if name not in ARITY]
        names = list(filter(self._dictionary.is_symbol, names))
        if len(names) < count:
            raise UserError(
                f"{count} symbols are more than the {len(names)} known to a model whose pattern "
                f"is {self.symbols!r}",
                "symbols counts",
            )
        return names[:count]

    def decode(
        self, sources: Sequence[str], skip: Collection[int] = ()
    ) -> Iterator[Dict[int, Answered]]:
        """See :class:`~sit_fairseq.evaluation.answering.Answerer`.

        Sentences of similar length are answered together. With ``verify`` the first answer comes
        with its verdict, if that is decided.
        """
        tokens = self.task.read(sources, max_tokens=self._limits["max_tokens"])
        for number, found in enumerate(tokens, start=1):
            if isinstance(found, UnansweredError):
                raise UserError(f"sentence {number} cannot be answered: {found}; remove it")
        lengths = [sentence.numel() for sentence in tokens]
        dataset = self.task.build_dataset_for_inference(tokens, lengths)
        # The longest first: if the memory is too small, that shows at once.
        order = numpy.argsort(-numpy.array(lengths), kind="stable")
        for batch in dataset.batch_by_size(order, **self._limits):
            if all(place in skip for place in batch.tolist()):
                continue
            sample = dataset.collater([dataset[place] for place in batch])
            sample = utils.apply_to_sample(lambda tensor: tensor.to(self._device), sample)
            found = self.task.inference_step(self._generator, [self.model], sample)
            yield dict(zip(sample["id"].tolist(), map(self._answered, found)))
        self.task.end_run()

    def _answered(self, hypotheses: List[Dict]) -> Answered:
        """The first hypotheses of a sentence, as text."""
        first = hypotheses[: getattr(self._search, "nbest", 1)]
        verdict = first[0].get("verdict")
        text = self.task.target_dictionary.text
        return Answered(
            [text(hypothesis["tokens"]) for hypothesis in first],
            [verdict] if verdict in _DECIDED else [],
        )
