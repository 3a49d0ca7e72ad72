"""A plain language model that can also copy, as fairseq's ``--user-dir`` has it.

A pointer sentinel mixture (Merity et al. 2016, arXiv 1609.07843): an attention of one head looks at the
tokens so far, each with the one before it, and gives each a share of the probability of the next
token. The share of ``</s>``, which begins each text, goes to what the model predicts by itself.
"""

import math
from typing import Any, Dict, Optional, Tuple

import torch
from fairseq.models import register_model
from torch import Tensor, nn

from sit_fairseq.models.baselines import make_vocabulary
from sit_fairseq.models.config import LanguageModelConfig
from sit_fairseq.models.fairseq_language_model import (
    SymbolInvariantLanguageModelConfig,
    SymbolInvariantTransformerLanguageModel,
)
from sit_fairseq.models.language_model import SymbolInvariantLanguageModel
from sit_fairseq.models.loading import plain_config
from sit_fairseq.symbols.tokens import TokenTable
from sit_fairseq.symbols.vocabulary import Vocabulary

COPYING = "copying_lm"
_LEAST = 1e-12  # of a probability


class CopyingLanguageModel(SymbolInvariantLanguageModel):
    """A language model whose tokens have a row each (``symbol_embedding=fixed``), and that copies."""

    def __init__(self, cfg: LanguageModelConfig, vocabulary: Vocabulary) -> None:
        super().__init__(cfg, vocabulary)
        size = cfg.decoder_embed_dim
        self.query, self.key = nn.Linear(size, size), nn.Linear(2 * size, size)

    def forward(self, tokens: Tensor, places: Optional[Tensor] = None) -> Tensor:
        """(B, T, V) log-probabilities of the token after each of (B, T) tokens."""
        found = []
        handle = self.decoder.layer_norm.register_forward_hook(lambda *call: found.append(call[2]))
        logits = super().forward(tokens, places)
        handle.remove()
        rows, (hidden,) = self.read(tokens), found
        before = torch.cat((torch.zeros_like(hidden[:, :1]), hidden[:, :-1]), 1)
        key = self.key(torch.cat((before, hidden), 2))
        scores = self.query(hidden) @ key.transpose(1, 2) / math.sqrt(key.size(2))
        later = torch.ones_like(scores[0], dtype=torch.bool).triu(1)
        shares = scores.masked_fill(later, -math.inf).softmax(2)
        mixed = shares[..., :1] * logits.softmax(2)
        copied = rows[:, None, 1:].expand(-1, rows.size(1), -1)
        return mixed.scatter_add(2, copied, shares[..., 1:]).clamp_min(_LEAST).log()


@register_model(COPYING, dataclass=SymbolInvariantLanguageModelConfig)
class FairseqCopyingLanguageModel(SymbolInvariantTransformerLanguageModel, CopyingLanguageModel):
    """:class:`CopyingLanguageModel` with the methods that fairseq calls."""

    def get_normalized_probs(
        self, net_output: Tuple[Tensor, Any], log_probs: bool, sample: Any = None
    ) -> Tensor:
        """(B, T, V) probabilities, which the output of the model is already."""
        return net_output[0] if log_probs else net_output[0].exp()


def code_model(options: Dict[str, Any], tokens: TokenTable) -> SymbolInvariantLanguageModel:
    """The untrained model of the options of a checkpoint or of ``results.yaml``."""
    kind = CopyingLanguageModel if options["_name"] == COPYING else SymbolInvariantLanguageModel
    cfg = plain_config(options, LanguageModelConfig)
    return kind(cfg, make_vocabulary(cfg, tokens))
