"""Log-probabilities of tokens, as those of the ids that spell them.

The probability of an id is that of all tokens whose spelling goes on with it, among those that begin
as the ids before it. So the probabilities of the ids of a text have that of the text as product.

Shapes: T tokens read, the first being ``</s>``, L ids, V canonical ids, N ids of a tokenizer.
"""

import math
from typing import Iterator, List, Optional, Sequence, Tuple

import torch
from torch import Tensor

from sit_fairseq.export.hugging_face_tokens import EOS, Spelling

_NEVER = -1e6  # in the place of -inf, of which sums have no gradient

Path = Tuple[int, ...]


def over_ids(
    log_probs: Tensor, paths: List[Path], ids: Sequence[Optional[int]], spelling: Spelling
) -> Tensor:
    """Says how probable each id is after the ids before it.

    Args:
        log_probs: (T, V) of the token after each one.
        paths: how each of the V is spelled.
        ids: those of the T tokens, with or without that of the first ``</s>``; None for padding.
        spelling: the ids.

    Returns:
        (L, N) log-probabilities of the next id; after padding those of the id before it.
    """
    possible = log_probs.gt(-math.inf).tolist()
    log_probs = log_probs.clamp(min=_NEVER)
    first = _summed(log_probs, [path[0] for path in paths], spelling.size)
    longer = {path[:end] for path in paths for end in range(1, len(path))}
    rows = []
    for token, path in _read(ids, spelling.further):
        after, end = first[min(token, len(first) - 1)], len(path)
        open_ = [] if path not in longer or not token else possible[token - 1]
        columns = [c for c, is_open in enumerate(open_) if is_open and paths[c][:end] == path]
        if any(len(paths[c]) > end for c in columns):
            own = torch.log_softmax(log_probs[token - 1, columns], 0)
            # The last place is for the token that ends here.
            keys = [(*paths[c], spelling.size)[end] for c in columns]
            goes_on = _summed(own, keys, spelling.size + 1)
            after = torch.cat(
                (after[: spelling.further] + goes_on[-1], goes_on[spelling.further : -1])
            )
        rows.append(after)
    return torch.stack(rows)


def _read(ids: Sequence[Optional[int]], further: int) -> Iterator[Tuple[int, Path]]:
    """After each id, how many tokens came after the first ``</s>``, and the ids of the last."""
    begun = next((number for number in ids if number is not None), None)
    token, path = -1 if begun == EOS else 0, ()
    for number in ids:
        if number is not None:
            token += number < further
            path = (number,) if number < further else (*path, number)
        yield max(token, 0), path


def _summed(log_probs: Tensor, keys: Sequence[int], size: int) -> Tensor:
    """(..., V) log-probabilities to (..., size), those of equal keys added up."""
    columns: dict = {}
    for column, key in enumerate(keys):
        columns.setdefault(key, []).append(column)
    sums = torch.stack([log_probs[..., c].logsumexp(-1) for c in columns.values()], -1)
    sums = sums.masked_fill(sums < _NEVER / 2, -math.inf)
    full = log_probs.new_full((*log_probs.shape[:-1], size), -math.inf)
    return full.index_copy(-1, torch.tensor(list(columns)), sums)
