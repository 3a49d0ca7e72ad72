"""Strategies: the choice of the candidates that a search goes on with.

Shapes: B sentences, K hypotheses of each, V columns of canonical ids.
"""

import math
from dataclasses import dataclass
from typing import Optional, Tuple

import torch
from torch import Tensor

from sit_fairseq.errors import UserError, real, whole


def most_probable(log_probs: Tensor, scores: Optional[Tensor]) -> Tuple[Tensor, Tensor, Tensor]:
    """The 2 K most probable candidates of each sentence, by (B, K, V) log-probabilities of the next
    token and (B, K) scores so far, None before the first token, where all hypotheses are alike.

    Returns (B, 2 K) scores of the candidates, best first, their tokens, and the hypotheses of their
    sentence that they continue.
    """
    beam, width = log_probs.shape[1:]
    total = log_probs[:, :1] if scores is None else log_probs + scores.unsqueeze(2)
    best, index = total.flatten(1).topk(2 * beam)
    return best, index % width, index // width


@dataclass
class Sampling:
    """Draws the next token of each of K hypotheses; the search then has K independent answers.

    Draws fall on canonical ids: with the same random numbers renamed sentences get renamed answers.
    They are among the ``top_k`` most probable tokens, 0 for all, and among the most probable ones that
    have the probability ``top_p`` together.
    """

    top_k: int = 0
    top_p: float = 1.0

    def __post_init__(self) -> None:
        try:
            self.top_k, self.top_p = whole(self.top_k), real(self.top_p)
        except TypeError:
            raise UserError(
                f"top_k is a whole number and top_p a number, not {self}", "top_k top_p"
            )
        if self.top_k < 0 or not 0 < self.top_p <= 1:
            raise UserError(
                f"top_k is from 0, top_p above 0 and up to 1, not {self}", "top_k top_p"
            )

    def __call__(
        self, log_probs: Tensor, scores: Optional[Tensor]
    ) -> Tuple[Tensor, Tensor, Tensor]:
        """As :func:`most_probable`, but (B, K), one candidate for each hypothesis."""
        ordered, tokens = log_probs.sort(dim=2, descending=True, stable=True)
        probabilities = ordered.softmax(2).nan_to_num()
        cut = probabilities.cumsum(2) - probabilities >= self.top_p
        cut[:, :, self.top_k or cut.size(2) :] = True
        # The largest sum of a log-probability and Gumbel noise is a draw; nothing is divided, so
        # that hypotheses without any token that can follow do no harm.
        noise = -torch.log(torch.empty_like(ordered).exponential_())
        place = (ordered.masked_fill(cut, -math.inf) + noise).argmax(2, keepdim=True)
        found = ordered.gather(2, place).squeeze(2)
        parents = torch.arange(found.size(1), device=found.device).expand_as(found)
        return found if scores is None else found + scores, tokens.gather(2, place)[..., 0], parents
