"""Encoder and decoder for one sentence, with nothing but tensors in and out, in torch's own operators,
which PyTorch's exporter knows.

Shapes: S streams, T source tokens, K hypotheses, P earlier steps, L layers of the decoder, H heads,
C channels, V columns. S, T, K and P may change from call to call.
"""

from copy import deepcopy
from dataclasses import dataclass, field
from typing import List, Optional, Sequence, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sit_fairseq.models.all_places import AllPlaces
from sit_fairseq.models.attention import (
    Kernel,
    KeysValues,
    Seen,
    StreamSelfAttention,
    ViewAttention,
)
from sit_fairseq.models.context import Context, EncodedSource
from sit_fairseq.models.transformer import log_probabilities
from sit_fairseq.symbols.slots import Slots
from sit_fairseq.symbols.streams import Streams


@dataclass(frozen=True)
class OneSentence(Streams):
    """The streams of one sentence, repeated and averaged by torch's own operators."""

    @classmethod
    def of(cls, slots: Tensor, hypotheses: int, sorts: Optional[Tensor]) -> "OneSentence":
        """The layout of (S,) slots and their (S,) sorts."""
        return cls(
            num_slots=(slots >= 0).sum().view(1),
            sentence=torch.zeros_like(slots),
            slot=slots,
            first=torch.zeros(1, dtype=torch.long),
            hypotheses=hypotheses,
            most_slots=slots.size(0),
            sorts=sorts,
        )

    def sort_of(self, slot: Tensor) -> Tensor:
        """The sort of slots, or of any numbers where there is none."""
        if self.sorts is None:
            return torch.zeros_like(slot)
        return self.sorts[slot.clamp(min=0, max=self.slot.size(0) - 1)]

    def row_of(self, slot: Tensor) -> Tensor:
        """(K, ...) slots to the rows over streams of each hypothesis' streams for them."""
        hypothesis = torch.arange(slot.size(0)).view(-1, *(1 for _ in slot.shape[1:]))
        return slot.clamp(min=0, max=self.slot.size(0) - 1) * self.hypotheses + hypothesis

    def expand(self, x: Tensor) -> Tensor:
        """(K, ...) -> (S*K, ...)."""
        return x.unsqueeze(0).expand(self.slot.size(0), *x.shape).flatten(0, 1)

    def mean(self, x: Tensor) -> Tensor:
        """(S*K, ...) -> (K, ...)."""
        return x.unflatten(0, (self.slot.size(0), self.hypotheses)).mean(0)


@dataclass(eq=False)
class _Entries:
    """The keys and values of one attention in each layer; where streams share them, S is missing,
    and K is 1 where hypotheses do."""

    streams: Streams  # of the queries
    num_heads: int
    stored: Tensor  # (K, L, 2, P, S, C)
    new: List[Tensor] = field(default_factory=list)  # (K, 2, S, C) of this step, by layer

    def all(self) -> Tensor:
        """The stored entries, with those of this step after them."""
        return torch.cat((self.stored, torch.stack(self.new, dim=1).unsqueeze(3)), dim=3)

    def __call__(
        self, layer: int, queries: Tensor, kernel: Kernel, new: Optional[KeysValues] = None
    ) -> Tensor:
        """Attends from (S*K, H, 1, D) queries, with a result of that shape, also to new entries of
        this step, (S*K, H, 1, D) or (K, H, 1, D)."""
        rows = (self.streams.slot.size(0), self.streams.hypotheses)
        if new is not None:
            new = [part.flatten(1) for part in new]
            if self.stored.dim() == 6:
                new = [part.unflatten(0, rows).transpose(0, 1) for part in new]
            self.new.append(torch.stack(new, dim=1))
        entries = self.stored[:, layer]
        if self.new:
            entries = torch.cat((entries, self.new[layer].unsqueeze(2)), dim=2)
        if entries.dim() == 4:
            entries = entries.unsqueeze(3)
        entries = entries.unflatten(4, (self.num_heads, -1))  # K x 2 x P x S x H x D
        keys, values = (entries[:, half].permute(0, 2, 3, 1, 4) for half in (0, 1))
        queries = queries.unflatten(0, rows).transpose(0, 1)
        scores = (queries * queries.size(4) ** -0.5) @ keys.transpose(3, 4)
        attended = scores.softmax(4) @ values  # K x S x H x 1 x D
        return attended.transpose(0, 1).flatten(0, 1)


@dataclass(eq=False)
class _Step:
    """Stands in for a decoder's :class:`~sit_fairseq.models.memory.Memory` in one step."""

    context: Context
    position: Tensor
    own: Optional[_Entries]
    aggregated: Optional[_Entries]
    source: Sequence[_Entries]

    def read(self, canonical: Tensor) -> Seen:
        """The entries that the attentions see of (K, 1) tokens."""
        num_base = self.context.slots.vocabulary.num_base
        layout = AllPlaces(canonical, num_base, self.context.streams)
        position = self.position.view(1, 1)
        return Seen(layout, position, self.own, self.aggregated, self.source)

    def finish(self, last: nn.Module, x: Tensor, seen: Seen, number: int) -> Tensor:
        """The output of the last layer."""
        return last(x, seen, number)


class SentenceEncoder(nn.Module):
    """The encoder of :func:`plain_copy`, with what the decoder needs of its output."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(
        self,
        tokens: Tensor,
        slots: Tensor,
        tree: Optional[Tensor] = None,
        sorts: Optional[Tensor] = None,
    ) -> Tuple[Tensor, ...]:
        """The keys and values of each cross-attention of the pattern, (L, 2, T, S, C) to streams (CP)
        and (L, 2, T, C) to their aggregated view (CA).

        Args:
            tokens: (T,) canonical ids with ``</s>``.
            slots: (S,) 0 .. S - 1, or -1 alone for a sentence without symbols.
            tree: (T, depth) paths of :func:`tree_paths` for positions in trees, -1 beyond the root.
            sorts: (S,) the sort of each slot, of a model with several.
        """
        decoder, streams = self.model.decoder, OneSentence.of(slots, 1, sorts)
        canonical = tokens.unsqueeze(0)
        layout = AllPlaces(canonical, self.model.vocabulary.num_base, streams)
        position = torch.arange(canonical.size(1)).unsqueeze(0)
        prepared = None if tree is None else tree.unsqueeze(0)
        source, *tables = self.model.tables()
        states = self.model.encoder(layout, source, position, prepared)
        slots = Slots(self.model.vocabulary, canonical)  # of which nobody asks the names
        encoded = EncodedSource(slots, streams, *tables, layout, states, position)
        views = decoder.project_encoder(encoded)
        memories = []
        for letters, layers in zip(decoder.cfg.pattern.cross, views):
            memory = torch.stack([torch.stack(tuple(view)) for view in layers])
            memory = memory.permute(0, 1, 4, 2, 3, 5).flatten(4)  # L x 2 x T x S x C
            memories.append(memory if letters == "CP" else memory.squeeze(3))
        return tuple(memories)


class SentenceDecoder(nn.Module):
    """One step of the decoder of :func:`plain_copy`, for all hypotheses of a sentence."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(
        self,
        tokens: Tensor,
        slots: Tensor,
        position: Tensor,
        memories: Sequence[Tensor],
        caches: Sequence[Tensor],
        sorts: Optional[Tensor] = None,
    ) -> Tuple[Tensor, ...]:
        """(K, V + S) log-probabilities of the canonical ids, then the caches with P + 1 entries.

        Args:
            tokens: (K,) the last canonical id of each hypothesis; ``</s>`` at the first step.
            slots, sorts: (S,) as for the encoder.
            position: () the number of the step, from 0.
            memories: of the encoder.
            caches: (K, L, 2, P, S, C) for DP, then (K, L, 2, P, C) for DA, as the pattern has them;
                P is 0 at the first step.
        """
        decoder, pattern = self.model.decoder, self.model.decoder.cfg.pattern
        streams = OneSentence.of(slots, tokens.size(0), sorts)

        def entries(stored: Tensor) -> _Entries:
            return _Entries(streams, decoder.cfg.num_heads, stored)

        own = [entries(cache) for cache in caches]
        step = _Step(
            Context(Slots(self.model.vocabulary, tokens), streams, *self.model.tables()[1:]),
            position,
            own[0] if "DP" in pattern else None,
            own[-1] if "DA" in pattern else None,
            [entries(memory.unsqueeze(0)) for memory in memories],
        )
        logits = decoder(tokens.unsqueeze(1), step)
        return (log_probabilities(logits).squeeze(1), *(cache.all() for cache in own))


def _kernel(
    queries: Tensor, keys: Tensor, values: Tensor, *, mask: Optional[Tensor] = None, causal=False
) -> Tensor:
    """Attends by torch's operator, whatever the lengths."""
    return F.scaled_dot_product_attention(queries, keys, values, mask, is_causal=causal)


def plain_copy(model: nn.Module) -> nn.Module:
    """Copies a model for PyTorch's exporter: on the CPU, in float32 and evaluation mode, with
    attentions by torch's own operator."""
    model = deepcopy(model).cpu().float()
    model.eval()  # fairseq's returns nothing where generation was made fast
    for module in model.modules():
        if isinstance(module, (StreamSelfAttention, ViewAttention)):
            module._kernel = _kernel
    return model
