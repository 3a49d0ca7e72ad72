"""Answers in Python, by fairseq's ``from_pretrained``."""

from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Tuple, Union

from fairseq.hub_utils import GeneratorHubInterface

from sit_fairseq.errors import UnansweredError
from sit_fairseq.judging.verdict import Verdict


@dataclass(frozen=True)
class Unanswered:
    """In the place of an answer where there is none; false, and no text."""

    reason: str

    def __bool__(self) -> bool:
        return False


class Unverified(str):
    """An answer that no judge has accepted (``verify=...``): text, but false, with its ``verdict``.

    So ``if answer:`` takes no wrong answer for a right one. A right one may be empty, and false too.
    """

    def __new__(cls, answer: str, verdict: str) -> "Unverified":
        text = super().__new__(cls, answer)
        text.verdict = verdict
        return text

    def __bool__(self) -> bool:
        return False

    def __getnewargs__(self) -> Tuple[str, str]:
        return str(self), self.verdict  # for copies and other processes

    def __repr__(self) -> str:
        return f"Unverified({super().__repr__()}, {self.verdict!r})"


# The answer to a sentence.
Answer = Union[str, Unverified, Unanswered]


class StreamHubInterface(GeneratorHubInterface):
    """fairseq's, which answers every sentence that can be answered."""

    def sample(
        self,
        sentences: Union[str, List[str]],
        beam: int = 1,
        verbose: bool = False,
        strict: bool = False,
        **kwargs: Any,
    ) -> Union[Answer, List[Answer]]:
        """Answers sentences; ``translate`` does the same with a beam of 5.

        Args:
            sentences: one sentence, or a list of them.
            beam, verbose: as in fairseq.
            strict: raise an UnansweredError for the first sentence that cannot be answered.
            **kwargs: options of generation, as in fairseq; and ``verify="NAME"``,
                ``verify_beams=[3, 25]``, ``constrained=True`` or the name of a grammar, in the place
                of those of ``from_pretrained``, also where they are None or False.

        Returns:
            The answer to each sentence, or :class:`Unanswered`; with ``verify`` :class:`Unverified`
            where no hypothesis was accepted.
        """
        if isinstance(sentences, str):
            return self.sample([sentences], beam, verbose, strict, **kwargs)[0]
        with self.src_dict.names_of_one_call():
            return self._sample(sentences, strict, beam=beam, verbose=verbose, **kwargs)

    def _sample(self, sentences: List[str], strict: bool, **options: Any) -> List[Answer]:
        def encode(sentence: str) -> str:
            return self.apply_bpe(self.tokenize(sentence))

        pairs, refused = self.task.read(sentences, encode, self.cfg.dataset.max_tokens)
        if strict and refused:
            raise refused[min(refused)]
        answers: Iterator[Any] = iter(())
        if len(pairs):
            answers = iter(self.generate(pairs.src, **options))
            self.task.end_run()
        given = [
            Unanswered(refused[n].reason) if n in refused else self._answer(next(answers)[0])
            for n in range(len(sentences))
        ]
        for sentence, answer in zip(sentences, given):
            if strict and isinstance(answer, Unanswered):
                raise UnansweredError(answer.reason, sentence)
        return given

    def _answer(self, hypothesis: Dict[str, Any]) -> Answer:
        if "reason" in hypothesis:
            return Unanswered(hypothesis["reason"])
        answer = self.decode(hypothesis["tokens"])
        verdict = hypothesis.get("verdict", Verdict.satisfied)
        return answer if verdict is Verdict.satisfied else Unverified(answer, verdict.value)
