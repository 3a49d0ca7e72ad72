"""Answers in Python, by fairseq's ``from_pretrained``."""

import threading
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Dict, List, Tuple, Union

from fairseq.hub_utils import GeneratorHubInterface

from sit_fairseq.errors import UnansweredError
from sit_fairseq.judging.verdict import Verdict

# The names of one call are forgotten at its end, so that no other may be under way.
_ONE_CALL = threading.RLock()


@dataclass(frozen=True)
class Unanswered:
    """Stands in the place of an answer where there is none; false, as no answer is.

    It is no text, so that nothing can take it for an answer.

    Attributes:
        reason: why the sentence cannot be answered.
    """

    reason: str

    def __bool__(self) -> bool:
        return False


class Unverified(str):
    """An answer that no judge has accepted, where one was asked to (``verify=...``).

    Attributes:
        verdict: what the judge says of it.
    """

    def __new__(cls, answer: str, verdict: str) -> "Unverified":
        text = super().__new__(cls, answer)
        text.verdict = verdict
        return text

    def __getnewargs__(self) -> Tuple[str, str]:
        return str(self), self.verdict  # for copies and other processes

    def __repr__(self) -> str:
        return f"Unverified({super().__repr__()}, {self.verdict!r})"


class StreamHubInterface(GeneratorHubInterface):
    """fairseq's, which answers every sentence that can be answered."""

    def sample(
        self,
        sentences: Union[str, List[str]],
        beam: int = 1,
        verbose: bool = False,
        strict: bool = False,
        **kwargs: Any,
    ) -> Union[str, Unanswered, List[Union[str, Unanswered]]]:
        """Answers sentences; ``translate`` does the same with a beam of 5.

        Args:
            sentences: one sentence, or a list of them.
            beam: hypotheses kept at each step.
            verbose: log sources, answers and scores.
            strict: raise where a sentence cannot be answered.
            **kwargs: options of generation, as in fairseq; and ``verify="prop"``,
                ``verify_beams=[3, 25]``, see ``--verify``.

        Returns:
            The answer to each sentence, in their order, or :class:`Unanswered`; with ``verify``
            :class:`Unverified` where no hypothesis was accepted.

        Raises:
            UnansweredError: if ``strict``, for the first sentence that cannot be answered.
        """
        if isinstance(sentences, str):
            return self.sample([sentences], beam, verbose, strict, **kwargs)[0]
        with _ONE_CALL:
            known = len(self.src_dict)
            try:
                return self._sample(sentences, beam, verbose, strict, **kwargs)
            finally:
                self.src_dict.forget_after(known)

    def _sample(
        self, sentences: List[str], beam: int, verbose: bool, strict: bool, **kwargs: Any
    ) -> List[Union[str, Unanswered]]:
        most = self.cfg.dataset.max_tokens
        search = SimpleNamespace(**{**self.cfg.generation, **kwargs})
        answers: List[Any] = self.task.read(
            sentences, self._split, self.max_positions, most, search
        )
        places = []
        for place, found in enumerate(answers):
            if not isinstance(found, UnansweredError):
                places.append(place)
            elif strict:
                raise found
            else:
                answers[place] = Unanswered(found.reason)
        if places:
            encoded = [answers[place] for place in places]
            for place, nbest in zip(places, self.generate(encoded, beam, verbose, **kwargs)):
                answers[place] = self._answer(nbest[0])
            self.task.end_run()
        return answers

    def _answer(self, hypothesis: Dict[str, Any]) -> str:
        answer = self.decode(hypothesis["tokens"])
        verdict = hypothesis.get("verdict", Verdict.satisfied)
        return answer if verdict is Verdict.satisfied else Unverified(answer, verdict.value)

    def _split(self, sentence: str) -> str:
        return self.apply_bpe(self.tokenize(sentence))
