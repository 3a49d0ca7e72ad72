"""The ids of transformers: what they spell, and how probable each is.

Base tokens have one id each; a symbol is spelled by the bytes of its name, the first of which says
its sort. So tokenizer and model share no memory, and ids mean the same in every process.

The probability of an id is that of all tokens whose spelling goes on with it, among those that begin
as the ids before it. So the probabilities of the ids of a text have that of the text as product.

Shapes: T tokens read, the first being ``</s>``, L ids, V canonical ids, N ids of a tokenizer.
"""

import math
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import torch
from torch import Tensor

from sit_fairseq.symbols.pattern import SPECIAL_TOKENS

_NEVER = -1e6  # in the place of -inf, of which sums have no gradient

Path = Tuple[int, ...]

BOS, PAD, EOS, UNK = range(4)


class Spelling:
    """Ids of tokens: rows of the model for base tokens, then 256 first bytes of a symbol for each
    sort, then 256 further bytes.

    Args:
        tokens: by row, special ones left out.
        sorts: how many sorts of symbols there are.
    """

    def __init__(self, tokens: Sequence[str], sorts: int) -> None:
        self.tokens = [*SPECIAL_TOKENS, *tokens]
        self.rows = {token: row for row, token in enumerate(self.tokens)}
        self.further = len(self.tokens) + 256 * sorts
        self.size = self.further + 256

    def ids(self, token: str, sort: Optional[int]) -> List[int]:
        """The ids of a token; ``sort`` is that of a symbol, None for a base token."""
        if sort is None:
            return [self.rows[token]]
        first, *others = token.encode("utf-8", "surrogatepass")
        start = len(self.tokens) + 256 * sort
        return [start + first, *(self.further + other for other in others)]

    def read(self, ids: Sequence[int]) -> List[Tuple[str, Optional[int]]]:
        """The tokens that ids spell, each with its sort; a ValueError if they spell none."""
        found: List[Tuple[Any, Optional[int]]] = []
        for number in ids:
            sort, byte = divmod(number - len(self.tokens), 256)
            if 0 <= number < len(self.tokens):
                found.append((self.tokens[number], None))
            elif 0 <= number < self.further:
                found.append((bytearray([byte]), sort))
            elif found and isinstance(found[-1][0], bytearray) and number < self.size:
                found[-1][0].append(byte)
            else:
                raise ValueError(f"the id {number} stands where no token goes on")
        return [
            (token if sort is None else token.decode("utf-8", "surrogatepass"), sort)
            for token, sort in found
        ]

    def piece(self, number: int) -> str:
        """The name of an id; of a symbol's byte: its sort, a space, which no token has, the byte."""
        if number < len(self.tokens):
            return self.tokens[number]
        sort, byte = divmod(number - len(self.tokens), 256)
        return f"{'' if number >= self.further else sort} {chr(byte)}"


def over_ids(
    log_probs: Tensor, paths: List[Path], ids: Sequence[Optional[int]], spelling: Spelling
) -> Tensor:
    """(L, N) log-probabilities of the id after each one; after padding those of the id before it.

    Args:
        log_probs: (T, V) of the token after each one.
        paths: how each of the V is spelled.
        ids: those of the T tokens, with or without that of the first ``</s>``; None for padding.
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


def padded(rows: List[List[int]]) -> Tensor:
    """Rows as one tensor, padded on the right."""
    width = max(map(len, rows))
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows], dtype=torch.long)


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
    columns: Dict[int, List[int]] = {}
    for column, key in enumerate(keys):
        columns.setdefault(key, []).append(column)
    sums = torch.stack([log_probs[..., c].logsumexp(-1) for c in columns.values()], -1)
    sums = sums.masked_fill(sums < _NEVER / 2, -math.inf)
    full = log_probs.new_full((*log_probs.shape[:-1], size), -math.inf)
    return full.index_copy(-1, torch.tensor(list(columns)), sums)
