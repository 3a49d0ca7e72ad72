"""Pairs of sentences whose batches are measured by the streams that are computed."""

from collections import Counter
from typing import List, Optional, Sequence

import numpy
from fairseq.data import LanguagePairDataset

from sit_fairseq.errors import UserError


class StreamPairDataset(LanguagePairDataset):
    """fairseq's pairs, with ``--max-tokens`` counted in *stream tokens*.

    A batch costs its longest sentence times its streams, the rows of encoder and decoder. Lengths, as
    compared with ``--max-source-positions``, remain plain tokens.

    Args:
        pairs: what fairseq loaded, without buckets.
        name: of the source, for messages.
        num_streams: (n,) the streams of each sentence, at least 1.
        lines: the sources as text, where they were typed.

    Attributes:
        unknown: how many tokens are ``<unk>``.
        most_fresh: for each sort, the most symbols of a target that its source lacks.
    """

    def __init__(
        self,
        pairs: LanguagePairDataset,
        name: str,
        num_streams: numpy.ndarray,
        lines: Sequence[str] = (),
    ) -> None:
        vars(self).update(vars(pairs))  # fairseq's loader chooses the class of what it loads
        self.name = name
        self.num_streams = num_streams
        self.lines = lines
        self.unknown = 0
        self.most_fresh: Counter = Counter()

    def batch_by_size(
        self,
        indices: numpy.ndarray,
        max_tokens: Optional[int] = None,
        max_sentences: Optional[int] = None,
        required_batch_size_multiple: int = 1,
    ) -> List[numpy.ndarray]:
        """Divides an ordered set of sentences into batches of at most ``max_tokens`` stream tokens; a
        UserError if one sentence has more.

        fairseq compares ``max_tokens`` with the most expensive sentence times the number of
        sentences, which neither bounds nor fills batches whose streams vary.
        """
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
                f"line {worst + 1} of the {self.name} {fault}; raise it (in validation "
                "--max-tokens-valid), or remove the line"
            )
        cuts, first, longest, total = [], 0, 0, 0
        for position, (length, count) in enumerate(zip(lengths.tolist(), streams.tolist())):
            longest, total = max(longest, length), total + count
            if longest * total > max_tokens or position - first == max_sentences:
                cuts.append(position)
                first, longest, total = position, length, count
        return numpy.split(indices, cuts)


def excess(length: int, streams: int, max_tokens: Optional[int]) -> Optional[str]:
    """Says in words after a sentence's name that it exceeds the limit; None if it does not."""
    if max_tokens is None or length * streams <= max_tokens:
        return None
    return (
        f"counts {length * streams} tokens ({length} with </s>; streams: {streams}), more than the "
        f"{max_tokens} of --max-tokens"
    )
