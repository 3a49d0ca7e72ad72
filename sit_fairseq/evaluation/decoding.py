"""Answers of a trained model to be measured."""

from typing import Any, Collection, Dict, Iterator, Optional, Sequence

from sit_fairseq.domains.by_name import accepting_judge
from sit_fairseq.evaluation.answering import Answered
from sit_fairseq.model import Answer, Model
from sit_fairseq.search.hypotheses import SearchOptions
from sit_fairseq.search.verified_search import beam_widths


class ModelAnswerer:
    """A model that answers sentences, see :class:`~sit_fairseq.evaluation.answering.Answerer`.

    Args:
        path: its checkpoint or folder.
        symbols, fresh_names, device: see :meth:`Model.load`.
        beam, nbest, lenpen, max_len_a, max_len_b: of the search, as in fairseq.
        verify, verify_beams: who judges while it searches, and with which widths.
        constrained: the grammar of answers, ``auto`` for that of the model's domain.
        batch_size, max_tokens: see :meth:`Model.answers`.

    Attributes:
        model: the model.
        symbols: pattern of its symbols.
        fresh_symbols, judge: see :class:`~sit_fairseq.evaluation.answering.Answerer`.

    Raises:
        UserError: the model or an option cannot be used.
    """

    def __init__(
        self,
        path: str,
        *,
        symbols: Optional[str] = None,
        fresh_names: Optional[str] = None,
        device: str = "cpu",
        beam: int = 3,
        nbest: int = 1,
        lenpen: float = 1.0,
        max_len_a: float = 0.0,
        max_len_b: int = 200,
        verify: Optional[str] = None,
        verify_beams: Any = None,
        constrained: Optional[str] = None,
        batch_size: int = 64,
        max_tokens: Optional[int] = None,
    ) -> None:
        self.judge = None if verify is None else accepting_judge(verify)
        self.model = Model.load(path, symbols=symbols, fresh_names=fresh_names, device=device)
        self.symbols, self.fresh_symbols = self.model.symbols, self.model.fresh_symbols
        limits = {"max_len_a": max_len_a, "max_len_b": max_len_b, "len_penalty": lenpen}
        self._options = {
            "beams": beam_widths(verify_beams, beam),
            "verify": self.judge,
            "constrained": True if constrained == "auto" else constrained,
            "search": SearchOptions(nbest=nbest, **limits),
            "batch_size": batch_size,
            "max_tokens": max_tokens,
        }

    def decode(
        self, sources: Sequence[str], skip: Collection[int] = ()
    ) -> Iterator[Dict[int, Answered]]:
        """See :class:`~sit_fairseq.evaluation.answering.Answerer`. With ``verify`` the first answer
        comes with its verdict, if that is decided."""
        for batch in self.model.answers(sources, skip=skip, **self._options):
            yield {place: _answered(answer) for place, answer in batch.items()}


def _answered(answer: Answer) -> Answered:
    if answer.text is None:
        return Answered([], reason=answer.reason)
    decided = answer.verdict is not None and answer.verdict.decided
    return Answered([answer.text, *answer.others], [answer.verdict] if decided else [])
