"""Cross-entropies over the columns that a sentence has: AdaCos, and label smoothing."""

from dataclasses import dataclass, field
from typing import Any, Dict

import torch
import torch.nn.functional as F
from fairseq import utils
from fairseq.criterions import register_criterion
from fairseq.criterions.cross_entropy import (
    CrossEntropyCriterion,
    CrossEntropyCriterionConfig,
)
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.logging import metrics

from sit_fairseq.errors import UserError
from sit_fairseq.models.adacos_scale import MAX_SCALE


@dataclass
class AdaCosCriterionConfig(CrossEntropyCriterionConfig):
    """Options of the criterion, beside those of fairseq's ``cross_entropy``."""

    min_scale: float = field(
        default=1.0,
        metadata={
            "help": "least scale of the cosines, which adapts to training; 10 learns much more "
            "with few classes, where the published scale is 2 to 3"
        },
    )


@register_criterion("adacos", dataclass=AdaCosCriterionConfig)
class AdaCosCriterion(CrossEntropyCriterion):
    """AdaCos (Zhang et al. 2019) with target positions as batch dimension (section 3.3).

    The loss is the cross-entropy of the model's output; the scale of the cosines, a buffer of the
    model (:class:`AdaCosScale`), follows the batch statistics. This criterion feeds it in training,
    and the task lets it take effect after each optimiser step.

    With some 14 classes the published rule settles at a scale of 2 to 3, where even perfect cosines
    leave a right answer a probability of about 0.8. Hence ``min_scale``.
    """

    def __init__(self, task, sentence_avg: bool, min_scale: float = 1.0) -> None:
        super().__init__(task, sentence_avg)
        if not 1.0 <= min_scale <= MAX_SCALE:
            raise UserError(
                f"the least scale is between 1 and {MAX_SCALE:g}, not {min_scale:g}",
                "min_scale",
            )
        self.min_scale = min_scale

    def forward(self, model, sample: Dict[str, Any], reduce: bool = True):
        """The summed (or unreduced) loss of a batch in nats, the sample size, and what to log."""
        scale = getattr(model.decoder, "output_scale", None)
        if scale is None:
            raise UserError(
                "adacos and minimum_risk need a cosine head, which this model lacks",
                "criterion output_head",
            )
        if model.training:
            scale.raise_to(self.min_scale)
        net_output = model(**sample["net_input"])
        target = model.get_targets(sample, net_output).flatten()
        log_probs = model.get_normalized_probs(net_output, log_probs=True).flatten(0, 1)
        reduction = "sum" if reduce else "none"
        loss = F.nll_loss(log_probs, target, ignore_index=self.padding_idx, reduction=reduction)
        if model.training:
            counted = target.ne(self.padding_idx).nonzero().squeeze(1)
            logits = net_output[0].detach().flatten(0, 1)
            scale.observe(logits.index_select(0, counted), target.index_select(0, counted))
        sample_size = sample["target"].size(0) if self.sentence_avg else sample["ntokens"]
        logging_output = {
            "loss": loss.data,
            "ntokens": sample["ntokens"],
            "nsentences": sample["target"].size(0),
            "sample_size": sample_size,
            "scale": scale.scale.clone(),
            "batches": 1,
        }
        return loss, sample_size, logging_output

    @classmethod
    def reduce_metrics(cls, logging_outputs) -> None:
        """Logs loss, perplexity and the mean scale."""
        super().reduce_metrics(logging_outputs)
        scale = sum(utils.item(log["scale"]) for log in logging_outputs)
        batches = sum(log["batches"] for log in logging_outputs)
        metrics.log_scalar("scale", scale / batches, batches, round=2)


class StreamLabelSmoothedCrossEntropyCriterion(LabelSmoothedCrossEntropyCriterion):
    """Spreads the smoothing mass over base tokens and the sentence's own symbols.

    fairseq's sums the log-probabilities of all columns: minus infinity as soon as two sentences
    differ in their number of symbols.
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
