"""Answers that a judge has accepted (``--verify``), searched for with wider and wider beams."""

from typing import Any, Counter, Dict, List, Mapping, Sequence, Tuple, Union

import torch

from sit_fairseq.errors import UserError
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.logic.syntax import MalformedFormula
from sit_fairseq.symbols.tokens import TokenTable

# A sentence's hypotheses, best first.
Hypotheses = List[Dict[str, Any]]


def beam_widths(given: Union[None, str, Sequence[int]], beam: int) -> List[int]:
    """The widths of ``--verify-beams``, each wider than the one before.

    Args:
        given: numbers, or their text, separated by commas; None for ``beam`` alone.
        beam: width of the beam without verification.

    Raises:
        UserError: they are not such numbers.
    """
    try:
        widths = [beam] if given is None else given.split(",") if isinstance(given, str) else given
        widths = [int(width) for width in widths]
    except (TypeError, ValueError):
        widths = []
    if not widths or widths[0] < 1 or widths != sorted(set(widths)):
        found = beam if given is None else given
        raise UserError(
            f"beam widths go from narrow to wide, separated by commas, such as 3,10,25, not {found}",
            "beam" if given is None else "verify_beams",
        )
    return widths


class VerifiedGenerator:
    """Searches again, with a wider beam, for sentences without an accepted answer.

    The answer to a sentence is the best hypothesis of the narrowest beam that the judge finds
    satisfied. It comes first, and the other hypotheses of that beam after it, in their order. A
    sentence that has none keeps the hypotheses of the first beam, and the first of them has another
    verdict.

    What is searched again depends on the verdicts alone, so that renamed sentences get the renamed
    answers with equal scores as long as no judge is stopped by the clock.

    Args:
        generators: search as fairseq's do, by the width of the beam, from narrow to wide.
        judges: who judges.
        dictionary: of sources and answers.

    Attributes:
        verified: number of sentences with an accepted answer, by the width of the beam.
        total: number of sentences.
        unreadable: number of sentences that the judge cannot read.
    """

    def __init__(
        self, generators: Mapping[int, Any], judges: JudgePool, dictionary: TokenTable
    ) -> None:
        self._generators = generators
        self._judges = judges
        self._dictionary = dictionary
        self.eos = dictionary.eos()
        self.verified: Counter[int] = Counter(dict.fromkeys(generators, 0))
        self.total = self.unreadable = 0

    def generate(
        self,
        models: List,
        sample: Dict[str, Any],
        prefix_tokens: Any = None,
        constraints: Any = None,
    ) -> List[Hypotheses]:
        """Answers a batch, as fairseq's generators do.

        Returns:
            The hypotheses of each sentence; the first has its ``verdict``, and the width of its
            ``beam``.

        Raises:
            UserError: answers are to begin with a prefix, or to hold constraints.
        """
        if prefix_tokens is not None or constraints is not None:
            raise UserError("a prefix or constraints are not for verified answers; leave them out")
        text, pattern = self._dictionary.text, self._dictionary.pattern
        sources = sample["net_input"]["src_tokens"]
        problems = self._judges.judge.problems(list(map(text, sources)), symbols=pattern)
        verdicts: List[Dict[str, Verdict]] = [{} for _ in problems]
        answers: Dict[int, Tuple[Hypotheses, int]] = {}
        left = list(range(len(problems)))
        readable = list(map(self._can_read, problems))
        for width, generator in self._generators.items():
            found = dict(zip(left, generator.generate(models, _part(sample, left))))
            for place, nbest in found.items():
                answers.setdefault(place, (nbest, width))
            left = [place for place in left if readable[place]]
            accepted = self._judges.first_satisfied(
                [problems[place] for place in left],
                [[self._text(hypothesis) for hypothesis in found[place]] for place in left],
                [verdicts[place] for place in left],
            )
            for place, rank in zip(left, accepted):
                if rank is not None:
                    best = found[place].pop(rank)
                    answers[place] = [best, *found[place]], width
                    self.verified[width] += 1
            left = [place for place, rank in zip(left, accepted) if rank is None]
            if not left:
                break
        self.total += len(problems)
        for place, (nbest, width) in answers.items():
            verdict = verdicts[place].get(self._text(nbest[0]))
            self.unreadable += not readable[place]
            nbest[0].update(verdict=verdict or Verdict.invalid, beam=width)
        return [answers[place][0] for place in range(len(problems))]

    def summary(self) -> str:
        """One line: how many answers were verified, at which width, and what judging took."""
        widths = ", ".join(f"{number} with beam {width}" for width, number in self.verified.items())
        verified = sum(self.verified.values())
        text = (
            f"Verified {verified} of {self.total} answers by {self._judges.judge.name}: {widths}; "
            f"{self.total - verified} not verified; judged {self._judges.number} answers in "
            f"{self._judges.seconds:.2f} s"
        )
        if self.unreadable:
            text += (
                f"; the judge cannot read {self.unreadable} sentences: their answers are invalid"
            )
        return text

    def _can_read(self, problem: str) -> bool:
        try:
            self._judges.judge.check(problem)
        except MalformedFormula:
            return False
        return True

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
