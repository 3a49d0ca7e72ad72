"""Options and results of a search."""

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from sit_fairseq.errors import UserError, check_numbers, real, whole

# A step takes memory for twice the square of the beam.
WIDEST = 1000


# By the type of an option: in words, and how it is read.
_KINDS = {
    bool: ("True or False", {True: True, False: False}.__getitem__),
    int: ("a whole number", whole),
    float: ("a number", real),
}


@dataclass(frozen=True)
class SearchOptions:
    """The options of a search; names and meanings are fairseq's. A UserError if one is no number of its
    kind, or cannot be.

    Attributes:
        beam: K.
        nbest: the number of answers that will be used.
        max_len_a, max_len_b: an answer has at most ``a * U + b`` tokens without ``</s>``, for the U
            tokens of the longest source of the batch.
        min_len: the fewest tokens of an answer.
        match_source_len: an answer has as many tokens as its source has with ``</s>``.
        normalize: divide the log-probability of an answer by its length to the power of
            ``len_penalty``.
        unk_penalty: the cost of ``<unk>``.
        temperature: divides logits.
    """

    beam: int = 5
    nbest: int = 1
    max_len_a: float = 0.0
    max_len_b: int = 200
    min_len: int = 1
    match_source_len: bool = False
    normalize: bool = True
    len_penalty: float = 1.0
    unk_penalty: float = 0.0
    temperature: float = 1.0

    def __post_init__(self) -> None:
        for option in fields(self):
            value = getattr(self, option.name)
            kind, read = _KINDS[type(option.default)]
            try:
                object.__setattr__(self, option.name, read(value))
            except (TypeError, KeyError):
                raise UserError(f"{option.name} is {kind}, not {value!r}", option.name)
        if not 1 <= self.beam <= WIDEST:
            raise UserError(f"a beam holds 1 to {WIDEST} answers, not {self.beam}", "beam")
        check_numbers(1, nbest=self.nbest)
        if not abs(self.len_penalty) <= 100:  # of lengths to its power, floats know no more
            raise UserError(f"a length penalty of {self.len_penalty:g} is beyond -100 to 100")
        if not self.temperature > 0:
            raise UserError(f"a temperature of {self.temperature:g} is not positive", "temperature")


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """An answer.

    Attributes:
        tokens: (T,) dictionary indices, the last of them ``</s>``.
        score: its log-probability, divided as :class:`SearchOptions` say.
        positional_scores: (T,) the log-probability of each token.
    """

    tokens: Tensor
    score: Tensor
    positional_scores: Tensor


class NoAnswer(list):
    """The hypotheses of a sentence that has none; ``reason`` says why, in words that stand by
    themselves."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self.reason = reason


def best_possible(unfinished: Tensor, step: int, longest: int, options: SearchOptions) -> Tensor:
    """(B,) the best scores that unfinished hypotheses of (B,) log-probabilities can come to after a
    step, from 0, with at most ``longest`` tokens without ``</s>``."""
    if options.unk_penalty < 0:  # a bonus, which each token to come may earn
        unfinished = unfinished - options.unk_penalty * (longest - step)
    if not options.normalize:
        return unfinished
    # With its </s> a hypothesis will have step + 2 to longest + 1 tokens. What it is divided by
    # rises or falls all the way.
    shortest, longest = (unfinished / size**options.len_penalty for size in (step + 2, longest + 1))
    return torch.maximum(shortest, longest)
