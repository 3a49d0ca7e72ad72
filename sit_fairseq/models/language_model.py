"""A language model for which the names of symbols do not matter: a decoder without a source.

All symbols of a text are fresh (:mod:`sit_fairseq.symbols.fresh`): each takes the next reserved slot
where it first stands. So no token depends on later ones, nor on what symbols are called.

Shapes: B texts, K hypotheses of each, T tokens, R reserved slots, V_n base tokens.
"""

from typing import Optional

import torch
from torch import Tensor

from sit_fairseq.models.baselines import RecencyDecoder, make_embedding
from sit_fairseq.models.config import LanguageModelConfig, StackConfig
from sit_fairseq.models.context import Context
from sit_fairseq.models.stacks import Decoder
from sit_fairseq.models.transformer import SlotSpaceModel
from sit_fairseq.symbols.slots import Slots
from sit_fairseq.symbols.vocabulary import Vocabulary


class SymbolInvariantLanguageModel(SlotSpaceModel):
    """A decoder over parallel embedding streams, in which every symbol is fresh.

    A renaming of the symbols of a text changes no logit, and no token changes the logits before it.

    Args:
        cfg: see :class:`SlotSpaceModel`.
        vocabulary: of :func:`~sit_fairseq.models.baselines.make_vocabulary`.
    """

    def __init__(self, cfg: LanguageModelConfig, vocabulary: Vocabulary) -> None:
        super().__init__(cfg)
        side = StackConfig.of(cfg, "decoder")
        kind = RecencyDecoder if cfg.symbol_embedding == "recency" else Decoder
        self.decoder = kind(make_embedding(cfg, vocabulary, side.embed_dim), side)

    def context(self, size: int) -> Context:
        """The context of ``size`` texts, of which nothing is known."""
        embedding = self.decoder.embed_tokens
        nameless = torch.empty(size, 0, dtype=torch.long, device="cpu")
        slots, table = Slots(self.vocabulary, nameless), embedding.table()
        device = embedding.weight.device
        return Context(slots.to(device), slots.streams().to(device), table, table)

    def encode(self, prompts: Tensor) -> Context:
        """The context of (B, T) prompts, which a search reads as beginnings of its answers."""
        return self.context(len(prompts))

    def read(self, tokens: Tensor) -> Tensor:
        """(B, T) dictionary indices of texts to canonical ids. Names end here."""
        slots = Slots(self.vocabulary, tokens.new_empty(len(tokens), 0))
        return slots.encode(tokens) if tokens.size(1) else tokens

    def forward(self, tokens: Tensor, places: Optional[Tensor] = None) -> Tensor:
        """Computes logits of the token after each one.

        Args:
            tokens: (B, T) dictionary indices of texts, each after ``</s>``, padded on the right.
            places: (B, T) their positions; None for 0, 1, ...

        Returns:
            (B, T, V_n + R) logits over canonical ids; ``-inf`` for symbols that are neither in the
            text so far nor the next new one.
        """
        context = self.context(len(tokens))
        device = context.slots.names.device
        places = None if places is None else places.to(device, non_blocking=True)
        memory = self.memory(context, places, keeps=False)
        return self.decoder(self.read(tokens.to(device)), memory)

    def targets(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """The canonical ids of (B, T) targets, the dictionary indices after each of (B, T) tokens;
        ``<pad>``, which no loss counts, also where a token cannot be produced."""
        canonical = self.read(torch.cat((tokens[:, :1], targets), 1))[:, 1:]
        return self.vocabulary.counted(canonical)
