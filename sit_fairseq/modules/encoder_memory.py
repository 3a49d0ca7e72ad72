"""The encoder's keys and values for step-by-step decoding, stored once per source.

They are looked up by row, so that neither hypotheses nor the end of sentences copy them.

Shapes: M views of sources (of streams, or aggregated), U source positions, R rows over
streams, C channels, H heads, D = C / H channels of a head.
"""

import math
from functools import cached_property
from typing import Optional

import torch
from torch import Tensor

from sit_fairseq.modules.functional import weighted_sums
from sit_fairseq.modules.past import Lookup


class EncoderLookup:
    """Which view each row attends to, with what all layers derive from that.

    Args:
        view: (R,) indices of views.
        padding: (R, U) True where a view has no token; None if all have as many.
        length: U.
        num_heads: H.
        head_dim: D.
    """

    def __init__(
        self, view: Tensor, padding: Optional[Tensor], length: int, num_heads: int, head_dim: int
    ) -> None:
        self._view = view
        self._padding = padding
        self._length = length
        self._num_heads = num_heads
        self._head_dim = head_dim

    @cached_property
    def channels(self) -> Tensor:
        """(R * H, D) channels among the M * C of all views."""
        channel = torch.arange(self._num_heads * self._head_dim, device=self._view.device)
        channels = self._view.unsqueeze(1) * channel.numel() + channel
        return channels.view(-1, self._head_dim)

    @cached_property
    def heads(self) -> Tensor:
        """(R * H, U) heads among the M * U * H of all positions of all views."""
        position = torch.arange(self._length, device=self._view.device)
        entries = self._view.unsqueeze(1) * self._length + position
        return Lookup(entries, self._num_heads).heads

    @cached_property
    def bias(self) -> Optional[Tensor]:
        """(R, 1, U) minus infinity at padding."""
        if self._padding is None:
            return None
        zeros = torch.zeros(self._padding.shape, device=self._padding.device)
        return zeros.masked_fill_(self._padding, -math.inf).unsqueeze(1)


class EncoderMemory:
    """The keys and values of one cross-attention.

    Args:
        keys: (M, H, U, D).
        values: (M, H, U, D).
    """

    def __init__(self, keys: Tensor, values: Tensor) -> None:
        self._keys = keys.transpose(2, 3).flatten(0, 2)  # -> M*H*D x U
        self._values = values.transpose(1, 2).flatten(0, 2)  # -> M*U*H x D

    def attend(self, queries: Tensor, lookup: EncoderLookup) -> Tensor:
        """Attends from one query per row to the view of that row.

        Args:
            queries: (R, C).
            lookup: the view of each row.

        Returns:
            (R, C).
        """
        by_head = queries.reshape(lookup.channels.shape)
        scores = weighted_sums(self._keys, lookup.channels, by_head * by_head.size(1) ** -0.5)
        if lookup.bias is not None:
            scores.view(lookup.bias.size(0), -1, scores.size(1)).add_(lookup.bias)
        attended = weighted_sums(self._values, lookup.heads, scores.softmax(1))
        return attended.view(queries.shape)
