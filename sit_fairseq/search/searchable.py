"""Models as a search asks them. Shapes: B sentences of U tokens, K hypotheses of each, T tokens so far,
P of them new, V columns of canonical ids."""

from typing import Iterator, Optional, Protocol

from torch import Tensor, nn

from sit_fairseq.models.context import Context
from sit_fairseq.models.memory import Memory
from sit_fairseq.symbols.vocabulary import Vocabulary


class Searchable(Protocol):
    """A model in slot space, such as those of :mod:`sit_fairseq.models.transformer`."""

    vocabulary: Vocabulary

    def unreadable(self, tokens: Tensor) -> Optional[str]:
        """The fault of a sentence of (U,) dictionary indices: words that follow "the sentence"."""

    def encode(self, tokens: Tensor) -> Context:
        """Reads (B, U) dictionary indices with ``</s>``, padded on either side."""

    def memory(self, context: Context) -> Memory:
        """The empty memory of a batch; :meth:`Memory.reorder` follows the hypotheses."""

    def step(self, canonical: Tensor, memory: Memory) -> Tensor:
        """(B*K, P, V) logits after what the memory has not read of (B*K, T) canonical ids."""

    def max_decoder_positions(self) -> int:
        """The longest answer in tokens, with its ``</s>``."""

    def parameters(self) -> Iterator[nn.Parameter]:
        """As of any module; the first one tells the device."""

    def modules(self) -> Iterator[nn.Module]:
        """As of any module: its parts, each with a mode of its own."""
