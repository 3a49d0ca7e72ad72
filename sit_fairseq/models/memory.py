"""The memory of a decoder: what it has read, and what its attentions see of that.

Training reads all tokens at once and keeps nothing; a search reads a token in each step, and keeps
keys and values in entries (:mod:`sit_fairseq.models.cache`).

Shapes: B sentences, N streams, K hypotheses of each sentence, T tokens so far, P new tokens.
"""

from typing import Any, Callable, List, Optional

import torch
from torch import Tensor, nn

from sit_fairseq.models.attention import KeysValues, Layout, Seen
from sit_fairseq.models.cache import CrossAttentionCache, SelfAttentionCache
from sit_fairseq.models.config import StackConfig
from sit_fairseq.models.context import Context
from sit_fairseq.symbols.streams import Continuation, Streams


class Memory:
    """The memory of a batch, in the protocol that a :class:`Decoder` and a search use.

    Args:
        cfg: of the decoder that reads.
        views: keys and values of its cross-attentions, of :meth:`Decoder.project_encoder`.
        source: the batch, which an encoder has read if there are cross-attentions.
        position: (B*K, T) of the tokens; None for 0, 1, ...
        keeps: whether what is read will be continued, without gradients.

    Attributes:
        lay_out: makes a layout of (B, T) canonical ids, V_n, their streams and padding.
        context: the batch as it is now.
        own, aggregated: the entries that are kept of self-attentions.
    """

    lay_out: Callable[..., Layout]

    def __init__(
        self,
        cfg: StackConfig,
        views: List[List[KeysValues]],
        source: Context,
        position: Optional[Tensor] = None,
        keeps: bool = True,
    ) -> None:
        of_targets = (source.slots, source.streams, source.target_table, source.output_table)
        self.context = Context(*of_targets)
        self._cross, self._views = cfg.pattern.cross, views
        self._num_base = source.slots.vocabulary.num_base
        self._position, self._keeps = position, keeps
        layout = getattr(source, "layout", None)
        self._padding, self._length = layout and layout.padding, 0
        # The stream and the sentence, at the start, of each stream.
        self._sentence = source.streams.sentence
        self._stream = torch.arange(self._sentence.numel(), device=self._sentence.device)
        self._source: List[CrossAttentionCache] = []
        if keeps:
            self.own, self.aggregated = (SelfAttentionCache(cfg.num_heads) for _ in range(2))
        self._begin(source)
        self._look_up()

    @property
    def streams(self) -> Streams:
        """The layout of streams as it is now."""
        return self.context.streams

    def read(self, canonical: Tensor) -> Seen:
        """Reads those of (B*K, T) canonical ids that are new. Returns what the attentions see of them;
        the rotations are still missing. Reserved slots that the new ids take get streams of their own,
        copies of the stream that stood for these slots."""
        start, self._length = self._length, canonical.size(1)
        own_slots = self.context.own_slots(canonical)
        if own_slots is not None:
            old = (self.streams.on_host or self.streams).num_slots
            own_slots = torch.maximum(own_slots, old)
            if not torch.equal(own_slots, old):
                self._go_on(self.streams.with_own_streams(own_slots))
        if self._position is None:
            position = torch.arange(start, self._length, device=canonical.device).unsqueeze(0)
        else:
            position = self._position[:, start:]
        return self._see(canonical, canonical[:, start:], position)

    def finish(self, last: nn.Module, x: Tensor, seen: Seen, number: int) -> Tensor:
        """(N*K, P, C) output of the last layer, of this number, whose input has rows."""
        return last(x, seen, number)

    def reorder(self, order: Tensor) -> None:
        """Follows a search: of (B'*K',) new hypotheses the i-th goes on with what the old one
        ``order[i]`` has read."""
        self._go_on(self.streams.reorder(order), order)

    def _go_on(self, to: Continuation, order: Optional[Tensor] = None) -> None:
        """Goes on with another layout, whose hypotheses continue those of ``order``, if not
        themselves."""
        old, new = self.streams, to.streams
        self.context = self.context.moved(to)
        self._follow(to, order)
        sizes = [(one.sentence.numel(), one.hypotheses) for one in (old, new)]
        if not (to.same_sentences and sizes[0] == sizes[1]):
            self._stream = self._stream[to.rows_of_streams]
            self._sentence = self._sentence[to.rows_of_streams]
            self._look_up()

    def _look_up(self) -> None:
        """Tells the entries of sources which view each row over streams attends to."""
        stream, sentence = (
            view.repeat_interleave(self.streams.hypotheses)
            for view in (self._stream, self._sentence)
        )
        padding = None if self._padding is None else self._padding[sentence]
        for letters, entries in zip(self._cross, self._source):
            entries.look_up(stream if letters == "CP" else sentence, padding)

    def _select(self, rows: Tensor) -> None:
        """Goes on with these rows of the entries."""
        self.own.select(rows)
        self.aggregated.select(rows)

    def _begin(self, source: Any) -> None:
        """Makes the entries of sources, where they are kept."""

    def _see(self, canonical: Tensor, new: Tensor, position: Tensor) -> Seen:
        """The entries that the attentions see of (B*K, P) new ids at these positions."""
        raise NotImplementedError

    def _follow(self, to: Continuation, order: Optional[Tensor]) -> None:
        """Takes the entries along, see :meth:`_go_on`."""
