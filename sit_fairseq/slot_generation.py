"""Beam search and scoring in slot space, with names put back at the end.

The search sees canonical ids only, so that not even its tie-breaking can depend on how
symbols are called or on how many a dictionary holds.
"""

import math
from typing import Dict, List, Optional

import torch
import torch.nn.functional as F
from fairseq.sequence_generator import EnsembleModel, SequenceGenerator
from fairseq.sequence_scorer import SequenceScorer
from torch import Tensor

from sit_fairseq.errors import UserError


def check_same_base_tokens(models: List) -> None:
    """Members of an ensemble must agree on the columns they vote about.

    Raises:
        UserError: if two models differ in their base tokens.
    """
    first = models[0].vocabulary.base_tokens
    for model in models[1:]:
        if not torch.equal(model.vocabulary.base_tokens, first):
            raise UserError(
                "the checkpoints given to --path have different base tokens and cannot vote "
                "as an ensemble; name one of them, or models trained on the same base tokens"
            )


class _SlotSpaceEnsemble(EnsembleModel):
    """Pads log-probabilities with dead columns up to the width the search needs."""

    width = 0

    def forward_decoder(self, tokens, encoder_outs, incremental_states, temperature=1.0):
        lprobs, attention = super().forward_decoder(
            tokens, encoder_outs, incremental_states, temperature
        )
        return F.pad(lprobs, (0, self.width - lprobs.size(1)), value=-math.inf), attention


class StreamSequenceGenerator(SequenceGenerator):
    """fairseq's generator over ``V_n + S`` canonical columns instead of a dictionary.

    Args:
        models: an ensemble of stream models.
        tgt_dict: only its special tokens are used.
        beam_size: may exceed the number of columns.
        **kwargs: as in fairseq, without language model fusion, suppressed tokens and
            lexical constraints.
    """

    def __init__(self, models, tgt_dict, beam_size: int = 1, **kwargs) -> None:
        if kwargs.get("lm_model") is not None or kwargs.get("tokens_to_suppress"):
            raise UserError("--lm-path and suppressed tokens are not supported with streams")
        check_same_base_tokens(models)
        super().__init__(_SlotSpaceEnsemble(models), tgt_dict, beam_size=beam_size, **kwargs)
        self.beam_size = beam_size

    def _generate(
        self,
        sample: Dict,
        prefix_tokens: Optional[Tensor] = None,
        constraints: Optional[Tensor] = None,
        bos_token: Optional[int] = None,
    ) -> List[List[Dict[str, Tensor]]]:
        if constraints is not None:
            raise UserError("--constraints is not supported with streams; leave it out")
        vocabulary = self.model.single_model.vocabulary
        names = vocabulary.canonicalise(sample["net_input"]["src_tokens"])[1]
        if prefix_tokens is not None:
            prefix_tokens = vocabulary.encode(prefix_tokens, names)
        # The search takes 2 x beam candidates out of one row at its first step.
        self.vocab_size = max(vocabulary.num_base + names.size(1), 2 * self.beam_size + 1)
        self.model.width = self.search.vocab_size = self.vocab_size
        finished = super()._generate(sample, prefix_tokens, None, bos_token)
        for hypotheses, slots in zip(finished, names):
            for hypothesis in hypotheses:
                hypothesis["tokens"] = vocabulary.decode(hypothesis["tokens"], slots)
        return finished


class StreamSequenceScorer(SequenceScorer):
    """fairseq's scorer of given targets (``--score-reference``)."""

    def generate(self, models, sample, **kwargs):
        """As in fairseq; the target is compared in canonical ids."""
        check_same_base_tokens(models)
        vocabulary = models[0].vocabulary
        names = vocabulary.canonicalise(sample["net_input"]["src_tokens"])[1]
        target = vocabulary.encode(sample["target"], names)
        scored = super().generate(models, {**sample, "target": target}, **kwargs)
        for hypotheses, slots in zip(scored, names):
            for hypothesis in hypotheses:
                hypothesis["tokens"] = vocabulary.decode(hypothesis["tokens"], slots)
        return scored
