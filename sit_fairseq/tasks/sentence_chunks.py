"""Reading many sentences at a time, as whole-split computations need them."""

from typing import Iterator, Optional, Sequence, Tuple

import numpy
import torch
from fairseq.data.indexed_dataset import MMapIndexedDataset
from torch import Tensor

_CHUNK = 50_000  # sentences at a time: a few megabytes of tokens


def sentence_chunks(
    sentences: Sequence[Tensor], start: int = 0, stop: Optional[int] = None
) -> Iterator[Tuple[int, Tensor, Tensor]]:
    """Divides sentences into runs that fit into memory.

    Args:
        sentences: one 1-D tensor per sentence; data that fairseq maps into memory are read
            a chunk at a time.
        start: the first sentence wanted.
        stop: one past the last, by default all.

    Yields:
        The index of the first sentence, all tokens in a row, and (n,) the lengths.
    """
    stop = len(sentences) if stop is None else stop
    for first in range(start, stop, _CHUNK):
        last = min(first + _CHUNK, stop)
        if isinstance(sentences, MMapIndexedDataset):
            # The file holds the sentences in a row: one read, not one for each of them.
            lengths = sentences.sizes[first:last]
            index = sentences._index
            tokens = numpy.frombuffer(
                sentences._bin_buffer,
                dtype=index.dtype,
                count=int(lengths.sum()),
                offset=index._pointers[first],
            )
            yield first, torch.from_numpy(tokens.astype("int64")), torch.tensor(lengths).long()
        else:
            if getattr(sentences, "supports_prefetch", False):
                sentences.prefetch(range(first, last))  # old formats give nothing otherwise
            chunk = [sentences[i] for i in range(first, last)]
            lengths = torch.tensor([sentence.numel() for sentence in chunk])
            yield first, torch.cat(chunk).long(), lengths
