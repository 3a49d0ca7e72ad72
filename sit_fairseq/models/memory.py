"""The memory of a decoder: what it has read, and what its attentions see of that.

Training reads all tokens at once and keeps nothing; a search reads a token in each step, and keeps
keys and values in entries (:mod:`sit_fairseq.models.cache`).

Shapes: B sentences, N streams, K hypotheses of each sentence, T tokens so far, P new tokens.
"""

from dataclasses import replace
from typing import Any, Callable, List, Optional

import torch
from torch import Tensor, nn

from sit_fairseq.models.attention import Layout, Seen
from sit_fairseq.models.cache import CrossAttentionCache
from sit_fairseq.models.context import Context
from sit_fairseq.symbols.streams import Reordering, Repetition, Streams


class Memory:
    """The memory of a batch, in the protocol that a :class:`Decoder` and a search use.

    Args:
        decoder: that reads.
        source: the batch, which an encoder has read if there are cross-attentions.
        position: (B*K, T) of the tokens; None for 0, 1, ...
        keeps: whether what is read will be continued, without gradients.

    Attributes:
        lay_out: makes a layout of (B, T) canonical ids, V_n, their streams and padding.
        context: the batch as it is now.
    """

    lay_out: Callable[..., Layout]

    def __init__(
        self,
        decoder: nn.Module,
        source: Context,
        position: Optional[Tensor] = None,
        keeps: bool = True,
    ) -> None:
        of_targets = (source.slots, source.streams, source.target_table, source.output_table)
        self.context = Context(*of_targets)
        self._decoder, self._position, self._keeps = decoder, position, keeps
        self._cross = decoder.cfg.pattern.cross
        self._views = decoder.project_encoder(source)
        self._padding, self._length = getattr(source, "padding", None), 0
        self._source: List[CrossAttentionCache] = []
        # The stream and the sentence, at the start, of each stream.
        self._sentence = source.streams.sentence
        self._stream = torch.arange(self._sentence.numel(), device=self._sentence.device)
        self._begin(source)
        self._look_up()

    @property
    def streams(self) -> Streams:
        """The layout of streams as it is now."""
        return self.context.streams

    def read(self, canonical: Tensor) -> Seen:
        """What the attentions see of the new ones among (B*K, T) canonical ids so far. Reserved slots
        that these take get streams."""
        start, self._length = self._length, canonical.size(1)
        own_slots = self.context.own_slots(canonical)
        if own_slots is not None:
            self._give_streams(own_slots)
        if self._position is None:
            position = torch.arange(start, self._length, device=canonical.device).unsqueeze(0)
        else:
            position = self._position[:, start:]
        return self._see(canonical, canonical[:, start:], position)

    def finish(self, last: nn.Module, x: Tensor, seen: Seen, number: int) -> Tensor:
        """(N*K, P, C) output of the last layer, of this number, whose input has rows."""
        raise NotImplementedError

    def reorder(self, order: Tensor) -> None:
        """Follows a search: each hypothesis takes all that it has read along.

        Args:
            order: (B'*K',) the old hypothesis that each new one continues.
        """
        hypotheses, to = self.streams.hypotheses, self.streams.reorder(order)
        self.context = self.context.moved(to)
        self._follow(to, order)
        if not (to.same_sentences and to.streams.hypotheses == hypotheses):
            self._continue(to.rows_of_streams)

    def _give_streams(self, own_slots: Tensor) -> None:
        """Gives reserved slots streams of their own, copies of the stream that stood for them."""
        streams = self.streams
        old = (streams.on_host or streams).num_slots
        own_slots = torch.maximum(own_slots, old)
        if torch.equal(own_slots, old):
            return
        new, continued = streams.with_own_streams(own_slots)
        self.context = replace(self.context, streams=new)
        self._repeat(continued)
        self._continue(continued.index)

    def _continue(self, streams: Tensor) -> None:
        """Goes on with streams that continue these (N',) old ones."""
        self._stream, self._sentence = self._stream[streams], self._sentence[streams]
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

    def _begin(self, source: Any) -> None:
        """Makes the entries."""

    def _see(self, canonical: Tensor, new: Tensor, position: Tensor) -> Seen:
        """What the attentions see of (B*K, P) new ids at these positions."""
        raise NotImplementedError

    def _follow(self, to: Reordering, order: Tensor) -> None:
        """Takes the entries of new hypotheses along, which continue those of ``order``."""

    def _repeat(self, continued: Repetition) -> None:
        """Takes the entries of streams along that are repeated."""
