"""Answers that a judge has accepted (``--verify``), searched for with wider and wider beams."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Callable, Counter, Dict, Iterator, List, Mapping, Optional, Sequence, Union

import numpy
from fairseq import utils
from torch import Tensor

from sit_fairseq.data.stream_pairs import StreamPairDataset
from sit_fairseq.errors import UserError
from sit_fairseq.judging.acceptance import Acceptor
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.logic.syntax import MalformedFormula
from sit_fairseq.symbols.stream_dictionary import StreamDictionary

# A sentence's hypotheses, best first.
Hypotheses = List[Dict[str, Any]]

# Sentences searched for together at the least: what their first beams leave without a verified
# answer fills the wider batches.
WINDOW = 512

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
        tokens: (T) its dictionary indices, without padding.
        text: the same as text.
        readable: whether the judge can read it.
        verdicts: on the answers found so far.
        hypotheses: its answer, then the others of the same beam, best first.
        beam: how wide that beam was.
        verified: whether the answer was accepted.
    """

    tokens: Tensor
    text: str
    readable: bool
    verdicts: Dict[str, Verdict] = field(default_factory=dict)
    hypotheses: Hypotheses = field(default_factory=list)
    beam: int = 0
    verified: bool = False

    @property
    def answered(self) -> bool:
        """Whether the model can read it."""
        return "unread" not in self.hypotheses[0]

    @property
    def answerable(self) -> bool:
        """Whether judge and model can read it."""
        return self.readable and self.answered


class VerifiedSearch:
    """Searches again, with a wider beam, for sentences without an accepted answer.

    The answer to a sentence is the best hypothesis of the narrowest beam that the judge finds
    satisfied. It comes first, and the other hypotheses of that beam after it, in their order. A
    sentence that has none keeps the hypotheses of the first beam, and the first of them has
    another verdict.

    Judging runs beside decoding. What is searched again depends on the verdicts alone, so that
    renamed sentences get the renamed answers with equal scores as long as no judge is stopped by
    the clock.

    Args:
        generators: what searches, by the width of the beam, from narrow to wide.
        judges: who judges.
        dictionary: of sources and answers.
        make_dataset: from sentences and their lengths to what batches are made of.
        shortest: take the shortest accepted hypothesis of a beam instead of the best.

    Attributes:
        verified: number of sentences with an accepted answer, by the width of the beam.
        total: number of sentences.
    """

    def __init__(
        self,
        generators: Mapping[int, Any],
        judges: JudgePool,
        dictionary: StreamDictionary,
        make_dataset: Callable[[List[Tensor], List[int]], StreamPairDataset],
        shortest: bool = False,
    ) -> None:
        self._generators = generators
        self._judges = judges
        self._dictionary = dictionary
        self._make_dataset = make_dataset
        self._shortest = shortest
        self._acceptor = Acceptor(judges)
        self._unreadable: List[int] = []
        self.verified: Counter[int] = Counter(dict.fromkeys(generators, 0))
        self.total = 0

    def answer(
        self,
        samples: Sequence[Dict[str, Any]],
        search: Callable[[Any, Dict[str, Any]], List[Hypotheses]],
    ) -> List[List[Hypotheses]]:
        """Answers batches.

        Args:
            samples: the batches; those of wider beams hold no more sentences than the largest of
                them, nor more stream tokens than the most expensive one.
            search: from one of the generators and a batch to the hypotheses of each sentence.

        Returns:
            For each batch the hypotheses of each sentence; the first has its ``verdict``, and the
            width of its ``beam``.
        """
        batches = [self._sentences(sample) for sample in samples]
        sentences = [sentence for batch in batches for sentence in batch]
        work: Iterator = zip(samples, batches)
        for number, (width, generator) in enumerate(self._generators.items()):
            if number:
                work = self._left(batches, samples[0]["net_input"]["src_tokens"].device)
            with ThreadPoolExecutor(max_workers=1) as judging:
                settled = [
                    judging.submit(self._settle, batch, search(generator, sample), width)
                    for sample, batch in work
                ]
            for future in settled:
                future.result()
        for sentence in sentences:
            best = sentence.hypotheses[0]
            if not sentence.answered:
                verdict = Verdict.unread
            elif sentence.readable:
                verdict = sentence.verdicts[self._text(best)]
            else:
                verdict = Verdict.invalid
            best.update(verdict=verdict, beam=sentence.beam)
            self.verified[sentence.beam] += sentence.verified
        self._note(samples, batches)
        return [[sentence.hypotheses for sentence in batch] for batch in batches]

    def summary(self) -> str:
        """One line: how many answers were verified, at which width, and what judging took."""
        widths = ", ".join(f"{number} with beam {width}" for width, number in self.verified.items())
        verified = sum(self.verified.values())
        text = (
            f"Verified {verified} of {self.total} answers by {self._judges.judge.name}: {widths}; "
            f"{self.total - verified} not verified; judged {self._acceptor.number} answers in "
            f"{self._acceptor.seconds:.2f} s"
        )
        if self._unreadable:
            named = ", ".join(map(str, self._unreadable[:_NAMED]))
            more = ", ..." if len(self._unreadable) > _NAMED else ""
            text += (
                f"; the judge cannot read {len(self._unreadable)} sentences, whose answers count as "
                f"invalid: lines {named}{more}"
            )
        return text

    def _sentences(self, sample: Dict[str, Any]) -> List[_Sentence]:
        pad = self._dictionary.pad()
        found = []
        for tokens in sample["net_input"]["src_tokens"].cpu():
            text, readable = self._dictionary.text(tokens), True
            try:
                self._judges.judge.check(text)
            except MalformedFormula:
                readable = False
            found.append(_Sentence(utils.strip_pad(tokens, pad), text, readable))
        return found

    def _settle(self, batch: List[_Sentence], found: List[Hypotheses], width: int) -> None:
        """Takes note of what was found for some sentences, and judges it."""
        for sentence, hypotheses in zip(batch, found):
            if not sentence.hypotheses:
                sentence.hypotheses, sentence.beam = hypotheses, width
        orders = [self._preferred(hypotheses) for hypotheses in found]
        readable = [place for place, sentence in enumerate(batch) if sentence.answerable]
        accepted = self._acceptor.first_satisfied(
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

    def _left(self, batches: List[List[_Sentence]], device) -> Iterator:
        """Yields batches of the sentences that may still get a verified answer."""
        # Of what the model cannot read no data set can be made, and it has cost nothing.
        read = [[sentence for sentence in batch if sentence.answered] for batch in batches]
        read = [batch for batch in read if batch]
        sentences = [sentence for batch in read for sentence in batch]
        left = [place for place, s in enumerate(sentences) if s.answerable and not s.verified]
        if not left:
            return
        lengths = [sentence.tokens.numel() for sentence in sentences]
        dataset = self._make_dataset([sentence.tokens for sentence in sentences], lengths)
        ends = numpy.cumsum([len(batch) for batch in read])[:-1]
        costs = [
            dataset.num_tokens_vec(batch).max() * dataset.num_streams[batch].sum()
            for batch in numpy.split(numpy.arange(len(sentences)), ends)
        ]
        left.sort(key=lambda place: -lengths[place])
        for batch in dataset.batch_by_size(
            numpy.array(left),
            max_tokens=int(max(costs)),
            max_sentences=max(map(len, batches)),
        ):
            sample = dataset.collater([dataset[place] for place in batch.tolist()])
            batch = [sentences[place] for place in sample["id"].tolist()]
            yield utils.apply_to_sample(lambda tensor: tensor.to(device), sample), batch

    def _note(self, samples: Sequence[Dict[str, Any]], batches: List[List[_Sentence]]) -> None:
        for sample, batch in zip(samples, batches):
            numbers = sample.get("id", range(self.total, self.total + len(batch)))
            for number, sentence in zip(map(int, numbers), batch):
                if not sentence.readable:
                    self._unreadable.append(number + 1)
            self.total += len(batch)
        self._unreadable.sort()

    def _text(self, hypothesis: Dict[str, Any]) -> str:
        return self._dictionary.text(hypothesis["tokens"])


class Lookahead:
    """Answers batches together that fairseq's commands will ask for one by one."""

    def __init__(self) -> None:
        self._expected: List[Dict[str, Any]] = []
        self._answered: List[List[Hypotheses]] = []

    def expect(self, samples: Sequence[Dict[str, Any]]) -> None:
        """Says which batches will be asked for next, in their order."""
        self._expected, self._answered = list(samples), []

    def take(
        self,
        sample: Dict[str, Any],
        answer: Callable[[Sequence[Dict[str, Any]]], List[List[Hypotheses]]],
        place: Callable[[Dict[str, Any]], Dict[str, Any]],
    ) -> List[Hypotheses]:
        """The answers to a batch, and to all expected ones when it is the first of them.

        Args:
            sample: the batch.
            answer: answers batches together.
            place: moves a batch to where it is to be answered.
        """
        tokens = sample["net_input"]["src_tokens"]
        expected: Optional[Tensor] = None
        if self._expected:
            expected = self._expected[0]["net_input"]["src_tokens"]
        if expected is None or not tokens.cpu().equal(expected.cpu()):
            self.expect([])
            return answer([sample])[0]
        if not self._answered:
            self._answered = answer([place(batch) for batch in self._expected])
        self._expected.pop(0)
        return self._answered.pop(0)
