"""fairseq's label smoothing, restricted to the columns a sentence has."""

import torch
from fairseq.criterions.label_smoothed_cross_entropy import (
    LabelSmoothedCrossEntropyCriterion,
)


class StreamLabelSmoothedCrossEntropyCriterion(LabelSmoothedCrossEntropyCriterion):
    """Spreads the smoothing mass over base tokens and the sentence's own symbols.

    The stock criterion sums the log-probabilities of all columns, which is minus
    infinity as soon as two sentences of a batch differ in their number of symbols.
    """

    def compute_loss(self, model, net_output, sample, reduce: bool = True):
        """As in fairseq; the number of classes is counted per target token."""
        lprobs, target = self.get_lprobs_and_target(model, net_output, sample)
        nll_loss = -lprobs.gather(1, target.unsqueeze(1)).squeeze(1)
        exists = lprobs.isfinite()
        smooth_loss = -lprobs.masked_fill(~exists, 0.0).sum(1)
        eps = self.eps / (exists.sum(1) - 1)
        loss = (1.0 - self.eps - eps) * nll_loss + eps * smooth_loss
        counted = target.ne(self.padding_idx)
        loss = torch.where(counted, loss, 0.0)
        nll_loss = torch.where(counted, nll_loss, 0.0)
        return (loss.sum(), nll_loss.sum()) if reduce else (loss, nll_loss)
