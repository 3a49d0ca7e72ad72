"""What the decoder keeps between the steps of a search.

Shapes: B sentences, N streams, K hypotheses of each sentence, U source positions; M is
the number of sentences or streams that the search began with.
"""

from typing import List, Optional, Sequence

import torch
from torch import Tensor

from sit_fairseq.models.stream_encoder import is_identity
from sit_fairseq.modules.encoder_memory import EncoderLookup
from sit_fairseq.modules.past import Lookup, Past
from sit_fairseq.modules.stream_layers import LayerConfig, LayerMemory, StepLookup
from sit_fairseq.symbols.streams import Streams


class DecodingState:
    """Keys and values of all layers, and which of them the present hypotheses own.

    Args:
        streams: the layout of the first step.
        layers: the layers, with the encoder's keys and values.
        padding: (M, U) True at padding of the source, or None if there is none.
        length: U.
        cfg: of the layers, for their heads.
        cross: of the attention pattern.
    """

    def __init__(
        self,
        streams: Streams,
        layers: List[LayerMemory],
        padding: Optional[Tensor],
        length: int,
        cfg: LayerConfig,
        cross: Sequence[str],
    ) -> None:
        self.layers = layers
        self._streams = streams
        self._padding = padding
        self._length = length
        self._cfg = cfg
        self._cross = cross
        device = streams.first.device
        num_streams, num_sentences = streams.sentence.numel(), streams.first.numel()
        self._own = Past.empty(num_streams * streams.hypotheses, device)
        self._aggregated = Past.empty(num_sentences * streams.hypotheses, device)
        # The stream and the sentence, at the start, of each stream.
        self._stream, self._sentence = torch.arange(num_streams, device=device), streams.sentence
        self._encoder = self._encoder_lookups()

    def advance(self) -> StepLookup:
        """Begins a step, at whose end each row has one more entry in each store."""
        position = self._own.entries.size(1)
        self._own, self._aggregated = self._own.append(), self._aggregated.append()
        return StepLookup(
            position,
            Lookup(self._own.entries, self._cfg.num_heads),
            Lookup(self._streams.expand(self._aggregated.entries), self._cfg.num_heads),
            self._encoder,
        )

    def reorder(self, order: Tensor) -> None:
        """Follows fairseq's beams: each hypothesis takes all its streams along.

        Args:
            order: (H,) the old hypothesis that each new one continues.
        """
        old = self._streams
        self._streams, sentences, streams, rows = old.reorder(order)
        rows, order = (index.to(old.first.device, non_blocking=True) for index in (rows, order))
        self._own, self._aggregated = self._own.select(rows), self._aggregated.select(order)
        if self._streams.hypotheses == old.hypotheses and is_identity(sentences, old.first.numel()):
            return
        streams = streams.to(old.first.device, non_blocking=True)
        self._stream, self._sentence = self._stream[streams], self._sentence[streams]
        self._encoder = self._encoder_lookups()

    def _encoder_lookups(self) -> List[EncoderLookup]:
        cfg, hypotheses = self._cfg, self._streams.hypotheses
        stream, sentence = (
            view.repeat_interleave(hypotheses) for view in (self._stream, self._sentence)
        )
        padding = None if self._padding is None else self._padding[sentence]
        views = {"CP": stream, "CA": sentence}
        head_dim = cfg.embed_dim // cfg.num_heads
        return [
            EncoderLookup(views[letters], padding, self._length, cfg.num_heads, head_dim)
            for letters in self._cross
        ]
