"""The shared base of data sets of pairs and of blocks: it stores sentences one after the other for
NumPy, and counts a batch's streams.
"""

from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy
import torch
from fairseq.data.indexed_dataset import MMapIndexedDataset
from numpy import ndarray

from sit_fairseq.errors import UserError
from sit_fairseq.symbols.pattern import SPECIAL_TOKENS
from sit_fairseq.tasks.stream_dictionary import StreamDictionary

# Sentences that are checked at a time: many for NumPy, few for the cache of the processor.
BLOCK = 4096


class Block:
    """The sentences ``first`` to ``last - 1`` of a data set, one after the other.

    Attributes:
        tokens: (n,) dictionary indices.
        rows: (n,) the sentence of each token.
        starts, ends: (B,) the places of each sentence's first token and after its last.
    """

    def __init__(self, sentences: Any, first: int, last: int) -> None:
        tokens, sizes = _mapped(sentences, first, last)
        if tokens is None:
            parts = [sentences[index].numpy() for index in range(first, last)]
            tokens, sizes = numpy.concatenate(parts), numpy.array(list(map(len, parts)))
        self.tokens, self.ends = tokens.astype(numpy.int64), sizes.cumsum()
        self.starts = self.ends - sizes
        self.rows = numpy.repeat(numpy.arange(len(sizes)), sizes)

    def count(self, rows: ndarray) -> ndarray:
        """(B,) how often each sentence is among ``rows``."""
        return numpy.bincount(rows, minlength=len(self.ends))

    def holding(self, which: ndarray) -> ndarray:
        """(B,) whether each sentence holds one of the tokens that are True in (n,)."""
        return self.count(self.rows[which]) > 0

    def is_last(self) -> ndarray:
        """(n,) True at the last token of each sentence."""
        return numpy.append(self.rows[1:] != self.rows[:-1], True)[: len(self.rows)]


def _mapped(sentences: Any, first: int, last: int) -> Tuple[Optional[ndarray], Optional[ndarray]]:
    """Tokens and lengths of sentences that follow one another in a mapped file, else None."""
    if not isinstance(sentences, MMapIndexedDataset):
        return None, None
    index = sentences._index
    starts, sizes = index._pointers[first:last], index._sizes[first:last].astype(numpy.int64)
    if sizes.min() < 0 or (numpy.diff(starts) != sizes[:-1] * index.dtype().itemsize).any():
        return None, None
    return numpy.frombuffer(sentences._bin_buffer, index.dtype, sizes.sum(), starts[0]), sizes


class CountsStreams:
    """A part of a data set, whose ``--max-tokens`` counts *stream tokens*.

    A batch costs its longest sentence times its streams, the rows of encoder and decoder. Lengths, as
    compared with ``--max-source-positions``, remain plain tokens.

    Attributes:
        name: for messages, of what sentences are a ``unit``.
        num_streams: (n,) the streams of each sentence, at least 1.
        unknown: how many tokens are ``<unk>``.
        counts_unknown: whether the loss of the model counts them, as that of fairseq's own models.
    """

    name: str
    unit = "line"
    num_streams: ndarray
    unknown = 0
    counts_unknown = False

    def collater(self, samples: List[Any], *args: Any, **kwargs: Any) -> Dict[str, Any]:
        """As in fairseq, but ``<unk>`` is no token of the target where no loss counts it."""
        batch = super().collater(samples, *args, **kwargs)
        if self.unknown and not self.counts_unknown and batch and batch.get("target") is not None:
            lost = int(batch["target"].eq(SPECIAL_TOKENS.index("<unk>")).sum())
            batch["ntokens"] = max(1, batch["ntokens"] - lost)
        return batch

    def batch_by_size(
        self,
        indices: ndarray,
        max_tokens: Optional[int] = None,
        max_sentences: Optional[int] = None,
        required_batch_size_multiple: int = 1,
    ) -> List[ndarray]:
        """As in fairseq, which would multiply the most expensive sentence by the number of sentences;
        a UserError if one sentence has more than ``max_tokens``."""
        if max_tokens is None:
            multiple = required_batch_size_multiple
            return super().batch_by_size(indices, None, max_sentences, multiple)
        if len(indices) == 0:
            return []
        lengths, streams = self.num_tokens_vec(indices), self.num_streams[indices]
        worst = indices[(lengths * streams.astype("int64")).argmax()]
        fault = excess(self.num_tokens(worst), self.num_streams[worst], max_tokens)
        if fault is not None:
            raise UserError(
                f"{self.unit} {worst + 1} of the {self.name} {fault}; raise it (in validation "
                f"--max-tokens-valid), or remove the {self.unit}"
            )
        cuts, first, longest, total = [], 0, 0, 0
        for position, (length, count) in enumerate(zip(lengths.tolist(), streams.tolist())):
            longest, total = max(longest, length), total + count
            if longest * total > max_tokens or position - first == max_sentences:
                cuts.append(position)
                first, longest, total = position, length, count
        return numpy.split(indices, cuts)


def with_streams(taken: ndarray, numbers: Sequence[int]) -> ndarray:
    """(B,) the reserved slots that have streams, of (B, G) those taken of each sort, which has so many:
    all up to the last one, see :meth:`~sit_fairseq.symbols.slots.Slots.needed`."""
    offsets = numpy.cumsum([0, *numbers[:-1]])
    return numpy.where(taken > 0, offsets + taken, 0).max(1)


def excess(length: int, streams: int, max_tokens: Optional[int]) -> Optional[str]:
    """Says in words after a sentence's name that it exceeds the limit; None if it does not."""
    if max_tokens is None or length * streams <= max_tokens:
        return None
    return (
        f"counts {length * streams} tokens ({length} with </s>; streams: {streams}), more than the "
        f"{max_tokens} of --max-tokens"
    )


def sorts_of(dictionary: StreamDictionary) -> ndarray:
    """(V,) the sorts of tokens, -1 of base tokens."""
    return dictionary.sorts_of(torch.arange(len(dictionary), device="cpu")).numpy()


def symbols_of(block: Block, sorts: ndarray) -> ndarray:
    """(n,) rising numbers ``row * V + token``, one for each symbol that a sentence holds."""
    which = sorts[block.tokens] >= 0
    keys = numpy.sort(block.rows[which] * len(sorts) + block.tokens[which])
    return keys[numpy.append(True, keys[1:] != keys[:-1])[: len(keys)]]


def lost_names(unknown: int, split: str) -> str:
    """Says how tokens became ``<unk>``, and the remedy."""
    return (
        f"{unknown} tokens of {split} are <unk>: what they were called is lost, as no dictionary had "
        "them; run fairseq-preprocess into another folder, whose --trainpref and --testpref both "
        "name this text"
    )
