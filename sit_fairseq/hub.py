"""Answers in Python, by fairseq's ``from_pretrained``."""

import threading
from dataclasses import dataclass
from typing import Any, List, Union

from fairseq.hub_utils import GeneratorHubInterface

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
            **kwargs: options of generation, as in fairseq.

        Returns:
            The answer to each sentence, in their order, or :class:`Unanswered`.

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
        answers: List[Any] = [None] * len(sentences)
        for place, sentence in enumerate(sentences):
            refusal = self.task.refusal(
                sentence, self._split, self.max_positions, self.cfg.dataset.max_tokens
            )
            if refusal is not None and strict:
                raise refusal
            if refusal is not None:
                answers[place] = Unanswered(refusal.reason)
        places = [place for place, answer in enumerate(answers) if answer is None]
        if places:
            kept = [sentences[place] for place in places]
            for place, answer in zip(places, super().sample(kept, beam, verbose, **kwargs)):
                answers[place] = answer
        return answers

    def _split(self, sentence: str) -> str:
        return self.apply_bpe(self.tokenize(sentence))
