"""Cross-entropies over the columns that a sentence has: AdaCos, label smoothing, and minimum risk, which
learns from accepted and refused answers of the model's own beam."""

import weakref
from argparse import Namespace
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Dict, List, Tuple

import torch
import torch.nn.functional as F
from fairseq import utils
from fairseq.criterions import register_criterion
from fairseq.criterions.cross_entropy import CrossEntropyCriterion, CrossEntropyCriterionConfig
from fairseq.criterions.label_smoothed_cross_entropy import LabelSmoothedCrossEntropyCriterion
from fairseq.data import data_utils
from fairseq.logging import metrics
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from sit_fairseq.domains.by_name import accepting_judge, refuse_other_domain
from sit_fairseq.errors import UserError
from sit_fairseq.judging.pool import JudgePool
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.models.adacos_scale import MAX_SCALE
from sit_fairseq.models.config import option


@dataclass
class AdaCosCriterionConfig(CrossEntropyCriterionConfig):
    """Options of the criterion, beside those of fairseq's ``cross_entropy``."""

    min_scale: float = option(
        1.0,
        "least scale of the cosines, which adapts to training; 10 learns much more with few classes, "
        "where the published scale is 2 to 3",
    )


@register_criterion("adacos", dataclass=AdaCosCriterionConfig)
class AdaCosCriterion(CrossEntropyCriterion):
    """AdaCos (Zhang et al. 2019) with target positions as batch dimension (section 3.3).

    The loss is the cross-entropy of the model's output; the scale of the cosines, a buffer of the
    model (:class:`AdaCosScale`), follows the batch statistics. The task lets it take effect after each
    optimiser step. With some 14 classes the published rule settles at a scale of 2 to 3, where even perfect
    cosines leave a right answer a probability of about 0.8. Hence ``min_scale``.
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
                "criterion output_head" if hasattr(model, "vocabulary") else "arch criterion",
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


def expected_risk(log_probs: Tensor, refused: Tensor) -> Tensor:
    """(B,) the probability of a refused answer, given (B, H) log-probabilities, -inf where there is no
    answer, and whether they are ``refused``, if only these answers were possible."""
    return (log_probs.softmax(1) * refused).sum(1)


@dataclass
class MinimumRiskCriterionConfig(AdaCosCriterionConfig):
    """Options of the criterion, beside those of ``adacos``."""

    risk_semantics: str = option(
        "", "the judge of answers: a domain or MODULE:OBJECT (default: --domain)"
    )
    risk_beam: int = option(5, "the model's answers to each sentence, by beam search")
    risk_weight: float = option(
        1.0, "weight of a sentence's risk beside the cross-entropy of a token"
    )


@register_criterion("minimum_risk", dataclass=MinimumRiskCriterionConfig)
class MinimumRiskCriterion(AdaCosCriterion):
    """AdaCos, and minimum risk training (Shen et al. 2016) over the model's own beam.

    A judge says which answers of the beam are right, and their share of its probability rises.
    Sentences whose answers are all right, or all wrong, are left out, and so are answers that the
    judge could not decide, and those with an unknown token. The scale of the cosines follows the
    references alone. An option that cannot be used is a UserError, of semantics when training begins.
    """

    def __init__(
        self,
        task,
        sentence_avg: bool,
        min_scale: float = 1.0,
        risk_semantics: str = "",
        risk_beam: int = 5,
        risk_weight: float = 1.0,
    ) -> None:
        super().__init__(task, sentence_avg, min_scale)
        if risk_beam < 2 or not risk_weight > 0:
            raise UserError(
                f"a beam of {risk_beam} answers and a weight of {risk_weight:g} teach nothing: "
                "there must be two answers to compare, and a positive weight",
                "risk_beam risk_weight",
            )
        self._semantics, self._beam, self._weight = risk_semantics, risk_beam, risk_weight

    @cached_property
    def _judges(self) -> JudgePool:
        """Made when training asks for it: validation needs none."""
        name = self._semantics or self.task.domain("risk_semantics")
        judge = accepting_judge(name, "risk_semantics")
        refuse_other_domain(name, self.task.domain, "risk_semantics")
        judges = JudgePool(judge)
        weakref.finalize(self, judges.close)
        return judges

    def forward(self, model, sample: Dict[str, Any], reduce: bool = True):
        """As ``adacos``, with the risk in training; validation has the cross-entropy alone."""
        loss, sample_size, logging_output = super().forward(model, sample, reduce)
        if not (model.training and reduce):
            return loss, sample_size, logging_output
        plain = _unwrapped(model)
        judged = self._judged(sample, self._answers(plain, sample))
        kinds = [{refused for _, refused in answers} for answers in judged]
        mixed = [place for place, kind in enumerate(kinds) if len(kind) > 1]
        risk = float(kinds.count({True}))
        if mixed:
            sources = sample["net_input"]["src_tokens"][mixed]
            risks = self._risk(plain, sources, [judged[place] for place in mixed])
            loss = loss + self._weight * risks.sum()
            risk += float(risks.detach().sum())
        decided = len(kinds) - kinds.count(set())
        logging_output.update(risk=risk, mixed=len(mixed), decided=decided)
        return loss, sample_size, logging_output

    @classmethod
    def reduce_metrics(cls, logging_outputs) -> None:
        """Logs as ``adacos``, and the mean risk of judged sentences and the share that taught."""
        super().reduce_metrics(logging_outputs)
        number, *totals = (
            sum(utils.item(log.get(key, 0)) for log in logging_outputs)
            for key in ("decided", "risk", "mixed")
        )
        for key, total in zip(("risk", "mixed"), totals if number else ()):
            metrics.log_scalar(key, total / number, number, round=3)

    @torch.no_grad()
    def _answers(self, model, sample: Dict[str, Any]) -> List[List[Tensor]]:
        """The answers of the beam to each sentence that have no unknown token."""
        longest = 2 * sample["target"].size(1) + 10
        options = Namespace(beam=self._beam, max_len_b=longest)
        found = self.task.generator([model], options).generate([model], sample)
        unk = self.task.target_dictionary.unk()
        return [[h["tokens"] for h in nbest if unk not in h["tokens"]] for nbest in found]

    def _judged(
        self, sample: Dict[str, Any], answers: List[List[Tensor]]
    ) -> List[List[Tuple[Tensor, bool]]]:
        """The answers to each sentence that the judge could decide, and whether it refused them."""
        text, symbols = self.task.target_dictionary.text, self.task.target_dictionary.pattern
        sources = [text(tokens) for tokens in sample["net_input"]["src_tokens"]]
        problems = self._judges.judge.problems(sources, symbols=symbols)
        texts = [[text(answer) for answer in nbest] for nbest in answers]
        return [
            [
                (answer, verdict is not Verdict.satisfied)
                for answer, verdict in zip(nbest, verdicts)
                if verdict.decided
            ]
            for nbest, verdicts in zip(answers, self._judges.verify_answers(problems, texts))
        ]

    def _risk(self, model, sources: Tensor, judged: List[List[Tuple[Tensor, bool]]]) -> Tensor:
        """(B,) the expected risk of (B, U) sources with these answers."""
        pad, eos = self.padding_idx, self.task.target_dictionary.eos()
        numbers = list(map(len, judged))
        # Sentences are encoded once, whatever the number of their answers.
        rows = torch.repeat_interleave(torch.tensor(numbers, device="cpu")).to(sources.device)
        source = model.encode(sources).reorder(rows)
        targets = [answer.cpu() for answers in judged for answer, _ in answers]
        target = data_utils.collate_tokens(targets, pad, eos).to(sources.device)
        previous = data_utils.collate_tokens(targets, pad, eos, move_eos_to_beginning=True)
        output = model.net_output(previous.to(sources.device), source)
        log_probs = model.get_normalized_probs(output, log_probs=True)
        canonical = model.get_targets({"target": target}, output)
        scores = log_probs.gather(2, canonical.unsqueeze(2)).squeeze(2)
        totals = scores.masked_fill(target.eq(pad), 0.0).sum(1).split(numbers)
        refused = [torch.tensor([float(r) for _, r in answers], device="cpu") for answers in judged]
        return expected_risk(
            pad_sequence(totals, batch_first=True, padding_value=float("-inf")),
            pad_sequence(refused, batch_first=True).to(totals[0]),
        )


def _unwrapped(model: torch.nn.Module) -> torch.nn.Module:
    """The model itself, without fairseq's wrappers for several ranks, which cannot generate."""
    while hasattr(model, "module"):
        model = model.module
    return model
