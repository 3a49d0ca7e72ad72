"""Batches of sentences of similar length."""

from typing import Dict, Iterator, List, Optional, Tuple


def longest_first(
    sizes: Dict[int, Tuple[int, int]], batch_size: int, max_tokens: Optional[int] = None
) -> Iterator[List[int]]:
    """The places of the sentences of each batch, the longest first: if the memory is too small, that
    shows at once. ``sizes`` are tokens and streams by place."""
    batch: List[int] = []
    largest = 0
    for place in sorted(sizes, key=lambda place: -sizes[place][0]):
        tokens, streams = sizes[place]
        cost = max(largest, tokens * streams)
        full = max_tokens is not None and cost * (len(batch) + 1) > max_tokens
        if batch and (full or len(batch) == batch_size):
            yield batch
            batch, cost = [], tokens * streams
        batch.append(place)
        largest = cost
    if batch:
        yield batch
