"""Encoder and decoder of ``--stream-places own`` for one sentence.

Shapes: R = 2 rows a token, its background row and its own row; else as in
:mod:`sit_fairseq.export.one_sentence`.
"""

from dataclasses import dataclass, field, replace
from typing import List, Optional, Sequence, Tuple

import torch
from torch import Tensor, nn

from sit_fairseq.export.one_sentence import OneSentence
from sit_fairseq.models.attention import Kernel, KeysValues, attend_folded
from sit_fairseq.models.context import Context, EncodedSource
from sit_fairseq.models.own_places import RowMemory
from sit_fairseq.models.transformer import log_probabilities
from sit_fairseq.symbols.rows import Rows
from sit_fairseq.symbols.slots import Slots
from sit_fairseq.symbols.streams import Streams


@dataclass(eq=False)
class _Entries:
    """The keys and values of one self-attention in each layer.

    Attributes:
        streams: the layout.
        num_heads: H.
        entries: (K, N) the numbers of its N entries; or (S*K, P + 1) those that streams attend to.
        stored: (K, L, 2, P, R, C) of rows, (K, L, 2, P, C) of the aggregated view; None if the
            pattern lacks the attention.
        of_streams: whether streams attend.
        new: (K, 2, R, C) or (K, 2, 1, C) of this step, by layer.
    """

    streams: Streams
    num_heads: int
    entries: Tensor
    stored: Optional[Tensor]
    of_streams: bool = False
    new: List[Tensor] = field(default_factory=list)

    def seen_by(self, entries: Tensor) -> "_Entries":
        """The same keys and values for streams."""
        return replace(self, entries=entries, of_streams=True)

    def all(self) -> Tensor:
        """The stored entries, with those of this step after them."""
        new = torch.stack(self.new, dim=1)
        return torch.cat((self.stored, new.unsqueeze(3) if self.stored.dim() == 6 else new), dim=3)

    def attend(
        self,
        layer: int,
        queries: Tensor,
        kernel: Kernel,
        new: Optional[KeysValues] = None,
        mask: Optional[Tensor] = None,
    ) -> Tensor:
        """Attends from (K, H, R, D) rows or (S*K, H, 1, D) streams, with a result of that shape."""
        if new is not None:
            self.new.append(torch.stack([part.transpose(1, 2).flatten(2) for part in new], dim=1))
        entries = torch.cat((self.stored[:, layer].flatten(2, -2), self.new[layer]), dim=2)
        keys, values = entries.unflatten(3, (self.num_heads, -1)).permute(1, 0, 3, 2, 4)
        if not self.of_streams:
            return kernel(queries, keys, values, mask=mask)
        # The streams become query positions: no copies of keys and values.
        rows = (self.streams.slot.size(0), self.streams.hypotheses)
        seen = torch.zeros(queries.size(0), keys.size(2)).scatter(1, self.entries, 1.0) > 0
        mask = seen.unflatten(0, rows).transpose(0, 1).unsqueeze(1)
        queries = queries.squeeze(2).unflatten(0, rows).permute(1, 2, 0, 3)
        attended = kernel(queries, keys, values, mask=mask)  # K x H x S x D
        return attended.permute(2, 0, 1, 3).flatten(0, 1).unsqueeze(2)


@dataclass(eq=False)
class _View:
    """The keys and values of a cross-attention in the last layer, which all streams share."""

    view: KeysValues
    mask: Optional[Tensor]  # (1, 1, S*K, N), True at the rows that each stream attends to

    def attend(self, layer: int, queries: Tensor, kernel: Kernel) -> Tensor:
        """Attends from (S*K, H, 1, D) streams."""
        return attend_folded(queries, self.view, kernel, queries.size(0), self.mask)


@dataclass(eq=False)
class _Step:
    """Stands in for a decoder's :class:`~sit_fairseq.models.own_places.RowCache`."""

    context: Context
    position: Tensor
    rows: Rows  # of the source
    views: Sequence[Sequence[KeysValues]]  # of all layers but the last
    encoder_attn: Sequence[_View]  # of the last layer
    self_attn: _Entries
    aggregated_attn: _Entries

    @property
    def streams(self) -> Streams:
        """The layout."""
        return self.context.streams

    def advance(self, canonical: Tensor) -> Tensor:
        """The tokens to read, the last ones."""
        return canonical[:, -1:]

    def memory(self, past: Rows, rows: Rows) -> RowMemory:
        """The memory of a step: the last ``rows`` attend to ``past``, all tokens so far."""
        return RowMemory.of(self, past, rows)


class RowSentenceEncoder(nn.Module):
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
        """Encodes a sentence, see :class:`~sit_fairseq.export.one_sentence.SentenceEncoder`.

        Returns:
            For each cross-attention of the pattern its keys and values, (L, 2, T, R, C) to rows
            (CP) and (L, 2, T, C) to their aggregated view (CA); then the tokens.
        """
        decoder, streams = self.model.decoder, OneSentence.of(slots, sorts=sorts)
        canonical, num_base = tokens.unsqueeze(0), self.model.vocabulary.num_base
        prepared = None if tree is None else tree.unsqueeze(0)
        rows = Rows.in_pairs(canonical, num_base, streams.num_slots)
        source, *tables = self.model.tables()
        states = self.model.encoder(canonical, streams, source, None, prepared, rows)
        slots = Slots(self.model.vocabulary, canonical)  # of which nobody asks the names
        encoded = EncodedSource(slots, streams, *tables, states, canonical, rows=rows)
        memories = []
        for number, letters in enumerate(decoder.cfg.pattern.cross):
            view, place = encoded.view(letters), rows.places if letters == "CP" else 0
            attentions = [layer.encoder_attn[number] for layer in decoder.layers]
            memory = [torch.cat(attention.project(view, place)) for attention in attentions]
            memory = torch.stack(memory).transpose(2, 3).flatten(3)  # L x 2 x N x C
            memories.append(memory.unflatten(2, (-1, 2)) if letters == "CP" else memory)
        return (*memories, tokens)


class RowSentenceDecoder(nn.Module):
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
        """Computes what may come next, see
        :class:`~sit_fairseq.export.one_sentence.SentenceDecoder`.

        Args:
            tokens, slots, position, sorts: as there.
            memories: of the encoder.
            caches: (K, L, 2, P, R, C) for DP, then (K, L, 2, P, C) for DA, as the pattern has them,
                then (K, P) the tokens of earlier steps, in float32 as all of them.

        Returns:
            (K, V + S) log-probabilities of the canonical ids, then the caches with P + 1 entries.
        """
        decoder, pattern = self.model.decoder, self.model.decoder.cfg.pattern
        streams = OneSentence.of(slots, tokens.size(0), sorts)
        slots = Slots(self.model.vocabulary, tokens)
        context = Context(slots, streams, *self.model.tables()[1:])
        canonical = torch.cat((caches[-1], tokens.unsqueeze(1)), dim=1)
        stored = dict(zip([kind for kind in ("DP", "DA") if kind in pattern], caches))
        attentions = {
            kind: _Entries(
                streams,
                decoder.cfg.num_heads,
                torch.arange(canonical.size(1) * number).expand(tokens.size(0), -1),
                stored.get(kind),
            )
            for kind, number in (("DP", 2), ("DA", 1))
        }
        rows, views, last = self._source(memories, streams)
        step = _Step(context, position, rows, views, last, *attentions.values())
        logits = decoder.step(canonical.long(), step)
        caches = (*(attentions[kind].all() for kind in stored), canonical)
        return (log_probabilities(logits).squeeze(1), *caches)

    def _source(
        self, memories: Sequence[Tensor], streams: Streams
    ) -> Tuple[Rows, List[List[KeysValues]], List[_View]]:
        """The rows of the source, and the cross-attentions to it: of all layers but the last, and
        of the last one."""
        decoder, num_base = self.model.decoder, self.model.vocabulary.num_base
        *memories, tokens = memories
        rows = Rows.in_pairs(tokens.unsqueeze(0), num_base, streams.num_slots)
        seen = rows.seen(streams.slot.unsqueeze(0))  # 1 x 1 x S x N
        seen = seen.unsqueeze(3).expand(-1, -1, -1, streams.hypotheses, -1).flatten(2, 3)
        views, last = [], []
        for letters, memory in zip(decoder.cfg.pattern.cross, memories):
            memory = memory.flatten(2, -2).unflatten(3, (decoder.cfg.num_heads, -1))
            *layers, final = memory.transpose(2, 3).unsqueeze(2)  # 2 x 1 x H x N x D each
            views.append([KeysValues(*layer) for layer in layers])
            last.append(_View(KeysValues(*final), seen if letters == "CP" else None))
        return rows, [*zip(*views)], last
