"""Answers that a judge has accepted (``--verify``), searched for with wider and wider beams."""

from dataclasses import dataclass, field
from typing import Any, Callable, Counter, Dict, List, Mapping, Optional, Sequence, Union

import torch
from torch import Tensor

from sit_fairseq.errors import UserError
from sit_fairseq.judging.judge import Problem
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.logic.syntax import MalformedFormula
from sit_fairseq.symbols.tokens import TokenTable

# A sentence's hypotheses, best first.
Hypotheses = List[Dict[str, Any]]

# From a generator and a batch to the hypotheses of each sentence.
Search = Callable[[Any, Dict[str, Any]], List[Hypotheses]]

# Lines named where the judge cannot read some.
_NAMED = 20


def beam_widths(given: Union[None, str, Sequence[int]], beam: int) -> List[int]:
    """The value of ``--verify-beams``.

    Args:
        given: numbers, or their text, separated by commas; None for ``beam`` alone.
        beam: width of the beam without verification.

    Returns:
        The widths, each wider than the one before.

    Raises:
        UserError: they are not such numbers.
    """
    if given is None:
        return [beam]
    try:
        widths = [int(width) for width in (given.split(",") if isinstance(given, str) else given)]
    except (TypeError, ValueError):
        widths = []
    if not widths or widths[0] < 1 or widths != sorted(set(widths)):
        raise UserError(
            f"--verify-beams {given}: name widths from narrow to wide, separated by commas, such as "
            "3,10,25"
        )
    return widths


@dataclass
class _Sentence:
    """A sentence and what is known of it.

    Attributes:
        text: its tokens.
        readable: whether the judge can read it.
        verdicts: on the answers found so far.
        hypotheses: its answer, then the others of the same beam, best first.
        beam: how wide that beam was.
        verified: whether the answer was accepted.
    """

    text: Problem
    readable: bool
    verdicts: Dict[str, Verdict] = field(default_factory=dict)
    hypotheses: Hypotheses = field(default_factory=list)
    beam: int = 0
    verified: bool = False


class VerifiedSearch:
    """Searches again, with a wider beam, for sentences without an accepted answer.

    The answer to a sentence is the best hypothesis of the narrowest beam that the judge finds
    satisfied. It comes first, and the other hypotheses of that beam after it, in their order. A
    sentence that has none keeps the hypotheses of the first beam, and the first of them has
    another verdict.

    What is searched again depends on the verdicts alone, so that renamed sentences get the
    renamed answers with equal scores as long as no judge is stopped by the clock.

    Args:
        generators: what searches, by the width of the beam, from narrow to wide.
        judges: who judges.
        dictionary: of sources and answers.
        shortest: take the shortest accepted hypothesis of a beam instead of the best.

    Attributes:
        verified: number of sentences with an accepted answer, by the width of the beam.
        total: number of sentences.
    """

    def __init__(
        self,
        generators: Mapping[int, Any],
        judges: JudgePool,
        dictionary: TokenTable,
        shortest: bool = False,
    ) -> None:
        self._generators = generators
        self._judges = judges
        self._dictionary = dictionary
        self._shortest = shortest
        self._unreadable: List[int] = []
        self.verified: Counter[int] = Counter(dict.fromkeys(generators, 0))
        self.total = 0

    def answer(self, sample: Dict[str, Any], search: Search) -> List[Hypotheses]:
        """Answers a batch.

        Args:
            sample: the batch.
            search: asks one of the generators.

        Returns:
            The hypotheses of each sentence; the first has its ``verdict``, and the width of its
            ``beam``.
        """
        sentences = [self._sentence(tokens) for tokens in sample["net_input"]["src_tokens"]]
        left = list(range(len(sentences)))
        for width, generator in self._generators.items():
            if left:
                found = search(generator, _part(sample, left))
                self._settle([sentences[place] for place in left], found, width)
            left = [n for n, s in enumerate(sentences) if s.readable and not s.verified]
        numbers = sample.get("id", range(self.total, self.total + len(sentences)))
        for number, sentence in zip(map(int, numbers), sentences):
            best = sentence.hypotheses[0]
            verdict = Verdict.invalid
            if sentence.readable:
                verdict = sentence.verdicts[self._text(best)]
            else:
                self._unreadable.append(number + 1)
            best.update(verdict=verdict, beam=sentence.beam)
            self.verified[sentence.beam] += sentence.verified
        self.total += len(sentences)
        return [sentence.hypotheses for sentence in sentences]

    def summary(self) -> str:
        """One line: how many answers were verified, at which width, and what judging took."""
        widths = ", ".join(f"{number} with beam {width}" for width, number in self.verified.items())
        verified = sum(self.verified.values())
        text = (
            f"Verified {verified} of {self.total} answers by {self._judges.judge.name}: {widths}; "
            f"{self.total - verified} not verified; judged {self._judges.number} answers in "
            f"{self._judges.seconds:.2f} s"
        )
        if self._unreadable:
            named = ", ".join(map(str, sorted(self._unreadable)[:_NAMED]))
            more = ", ..." if len(self._unreadable) > _NAMED else ""
            text += (
                f"; the judge cannot read {len(self._unreadable)} sentences, whose answers count as "
                f"invalid: lines {named}{more}"
            )
        return text

    def _sentence(self, tokens: Tensor) -> _Sentence:
        text = Problem(self._dictionary.text(tokens), symbols=self._dictionary.pattern)
        readable = True
        try:
            self._judges.judge.check(text)
        except MalformedFormula:
            readable = False
        return _Sentence(text, readable)

    def _settle(self, batch: List[_Sentence], found: List[Hypotheses], width: int) -> None:
        """Takes note of what was found for some sentences, and judges it."""
        for sentence, hypotheses in zip(batch, found):
            if not sentence.hypotheses:
                sentence.hypotheses, sentence.beam = hypotheses, width
        orders = [self._preferred(hypotheses) for hypotheses in found]
        readable = [place for place, sentence in enumerate(batch) if sentence.readable]
        accepted = self._judges.first_satisfied(
            [batch[place].text for place in readable],
            [[self._text(found[place][rank]) for rank in orders[place]] for place in readable],
            [batch[place].verdicts for place in readable],
        )
        for place, choice in zip(readable, accepted):
            sentence = batch[place]
            if choice is not None:
                rest = list(found[place])
                answer = rest.pop(orders[place][choice])
                sentence.hypotheses, sentence.beam = [answer, *rest], width
                sentence.verified = True

    def _preferred(self, hypotheses: Hypotheses) -> List[int]:
        ranks = list(range(len(hypotheses)))
        if self._shortest:
            ranks.sort(key=lambda rank: len(hypotheses[rank]["tokens"]))
        return ranks

    def _text(self, hypothesis: Dict[str, Any]) -> str:
        return self._dictionary.text(hypothesis["tokens"])


def _part(sample: Dict[str, Any], places: Sequence[int]) -> Dict[str, Any]:
    """Some sentences of a batch."""
    tokens = sample["net_input"]["src_tokens"]
    if len(places) == tokens.size(0):
        return sample
    index = torch.tensor(places, device=tokens.device)
    inputs = ("src_tokens", "src_lengths")
    net_input = {name: sample["net_input"][name].index_select(0, index) for name in inputs}
    return {"net_input": net_input}
