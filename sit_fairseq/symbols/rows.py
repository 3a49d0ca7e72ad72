"""Two rows a token: the layout of ``--stream-places own``.

A sequence of T tokens has T *background* rows, in which all symbols are *other*, and *own* rows, one
for each place of a symbol. From the stream of a symbol one sees its own rows at its places and
background rows elsewhere; from the background one sees background rows alone.

Shapes: B sequences (sources, or B*K hypotheses), T tokens, L rows, Q queries; else as in
:mod:`sit_fairseq.symbols.streams`.
"""

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, Dict, Optional, Union

import torch
import torch.nn.functional as F
from torch import Tensor

from sit_fairseq.symbols.streams import Streams

# Instead of a slot: no symbol with a column stands there; a row of the background.
_NONE, _BACKGROUND = -2, -1


@dataclass(frozen=True, eq=False)
class Places:
    """The positions of rows, or of tokens.

    Attributes:
        position: (B, L).
        end: a number above all of them.
        found: what a layer has looked up for them, for the layers after it.
    """

    position: Tensor
    end: int
    found: Dict[Any, Any] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, position: Tensor, device: torch.device) -> "Places":
        """The places at (B, L) positions, for tensors of a device."""
        return cls(position.to(device, non_blocking=True), int(position.max()) + 1)


def over_streams(places: Union[int, Places], streams: Streams) -> Union[int, Places]:
    """The positions of the tokens of B*K sequences, as those of N*K streams."""
    if isinstance(places, int):
        return places
    return Places(streams.expand(places.position), places.end)


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of sequences.

    Attributes:
        token: (B, T) the slot of the symbol at each token, negative without one.
        own_row: (B, T) the row of the own state of that symbol.
        background: (T,) the background row of each token.
        slot: (B, L) the slot of the symbol at the place of each row, negative without one.
        position: (B, L) of the token of each row.
        own: (L,) True at own rows.
        real: (B, L) False at padding.
        first: the position of the first token.
        spread: the positions of tokens between which there are gaps, else None.
    """

    token: Tensor
    own_row: Tensor
    background: Tensor
    slot: Tensor
    position: Tensor
    own: Tensor
    real: Tensor
    first: int = 0
    spread: Optional[Places] = None

    @classmethod
    def packed(
        cls, canonical: Tensor, num_base: int, num_slots: Tensor, padding: Optional[Tensor] = None
    ) -> "Rows":
        """T background rows, then the own rows.

        Args:
            canonical: (B, T) canonical ids.
            num_base: V_n.
            num_slots: (B,) slots with a column, also reserved ones; other symbols have no own row.
            padding: (B, T) True at padding, None if there is none.
        """
        token = _slots(canonical, num_base, num_slots)
        is_symbol, length = token >= 0, token.size(1)
        count = is_symbol.sum(1)
        # The places of symbols first, in their order.
        place = is_symbol.to(torch.uint8).argsort(dim=1, descending=True, stable=True)
        place = place[:, : int(count.max())]
        real_own = torch.arange(place.size(1), device=count.device) < count.unsqueeze(1)
        place = place.masked_fill(~real_own, 0)
        position = torch.arange(length, device=token.device)
        real = torch.ones_like(is_symbol) if padding is None else ~padding
        return cls(
            token,
            length + is_symbol.cumsum(1) - 1,
            position,
            torch.cat((token, token.gather(1, place).masked_fill(~real_own, _NONE)), 1),
            torch.cat((position.expand_as(token), place), 1),
            torch.arange(length + place.size(1), device=token.device) >= length,
            torch.cat((real, real_own), 1),
        )

    @classmethod
    def in_pairs(cls, canonical: Tensor, num_base: int, num_slots: Tensor) -> "Rows":
        """A background row and an own row of each token in turn; the own rows of base tokens are
        padding."""
        token = _slots(canonical, num_base, num_slots)
        position = torch.arange(token.size(1), device=token.device)
        own = torch.arange(2 * token.size(1), device=token.device) % 2 == 1
        slot = token.repeat_interleave(2, 1)
        return cls(
            token,
            (2 * position + 1).expand_as(token),
            2 * position,
            slot,
            position.repeat_interleave(2).expand_as(slot),
            own,
            (slot >= 0) | ~own,
        )

    def last(self, number: int) -> "Rows":
        """The pairs of the last tokens."""
        before, parts = self.token.size(1) - number, ("slot", "position", "real")
        return replace(
            self,
            token=self.token[:, before:],
            own_row=self.own_row[:, :number],
            background=self.background[:number],
            own=self.own[2 * before :],
            first=self.first + before,
            **{name: getattr(self, name)[:, 2 * before :] for name in parts},
        )

    def select(self, sequences: Tensor) -> "Rows":
        """The rows of these sequences, in their order."""
        names = ("token", "own_row", "slot", "position", "real")
        return replace(self, **{name: getattr(self, name)[sequences] for name in names})

    def to(self, device: torch.device, **options: bool) -> "Rows":
        """The rows for tensors of a device."""
        names = (one.name for one in fields(self) if one.name not in ("first", "spread"))
        return replace(self, **{name: getattr(self, name).to(device, **options) for name in names})

    def expand(self, x: Tensor) -> Tensor:
        """(B, ...) as it is: all rows of a sequence share it."""
        return x

    @property
    def token_places(self) -> Union[int, Places]:
        """The positions of the tokens, or that of the first one where there are no gaps."""
        return self.first if self.spread is None else self.spread

    @cached_property
    def places(self) -> Places:
        """The positions of the rows."""
        if self.spread is None:
            return Places(self.position, self.first + self.token.size(1))
        return Places(self.spread.position.gather(1, self.position), self.spread.end)

    @property
    def stream(self) -> Tensor:
        """(B, L) the slot from whose stream each row sees."""
        return torch.where(self.own & self.real, self.slot, _BACKGROUND)

    @property
    def mask(self) -> Tensor:
        """(B, 1, 1, T) True at real tokens."""
        return self.real.index_select(1, self.background)[:, None, None, :]

    @property
    def earlier(self) -> Tensor:
        """(B, 1, L, T) True at the tokens up to the own one of each row, from the first position."""
        token = torch.arange(self.first + self.token.size(1), device=self.token.device)
        return (token <= self.position.unsqueeze(2)).unsqueeze(1)

    def seen(
        self, stream: Tensor, position: Optional[Tensor] = None, hypotheses: int = 1
    ) -> Tensor:
        """Which rows queries attend to.

        Args:
            stream: (B*K, Q) the slot from whose stream each query sees.
            position: (B, Q) of queries that see no later rows; None for those that see all.
            hypotheses: K.

        Returns:
            (B, 1, K*Q, L) True at the rows that a query sees.
        """
        stream = stream.reshape(stream.size(0) // hypotheses, -1)
        seen = (self.slot.unsqueeze(1) == stream.unsqueeze(2)) == self.own
        seen = seen & self.real.unsqueeze(1)
        if position is not None:
            seen = seen & (self.position.unsqueeze(1) <= position.unsqueeze(2))
        return seen.unsqueeze(1)

    def aggregate(self, x: Tensor) -> Tensor:
        """(B, L, C) -> (B, T, C), the aggregated view (Algorithm 2): own states at the places of
        symbols; elsewhere all streams are the background, and so is their mean."""
        return pick(x, torch.where(self.token >= 0, self.own_row, self.background))

    def of_slots(self, slot: Tensor) -> Tensor:
        """(B, Q, T) the row at each token of the streams of (B, Q) slots."""
        at_place = self.token.unsqueeze(1) == slot.unsqueeze(2)
        return torch.where(at_place, self.own_row.unsqueeze(1), self.background)

    def of_streams(self, streams: Streams, of_all: bool = False) -> Tensor:
        """(N*K, T) the row of its sequence that each stream has at each token; or the number of that
        row among those of all sequences."""
        slot = streams.slot.unsqueeze(1).expand(-1, streams.hypotheses).reshape(-1, 1)
        at_place = streams.expand(self.token) == slot
        row = torch.where(at_place, streams.expand(self.own_row), self.background)
        if not of_all:
            return row
        sequence = torch.arange(self.token.size(0), device=row.device).unsqueeze(1)
        return row + streams.expand(sequence) * self.own.numel()


def pick(x: Tensor, index: Tensor) -> Tensor:
    """(B, L, C) at (B, T) indices -> (B, T, C)."""
    sequence = torch.arange(x.size(0), device=x.device).unsqueeze(1)
    return F.embedding(index + sequence * x.size(1), x.reshape(-1, x.size(2)))


def _slots(canonical: Tensor, num_base: int, num_slots: Tensor) -> Tensor:
    slot = canonical - num_base
    return slot.masked_fill((slot < 0) | (slot >= num_slots.unsqueeze(1)), _NONE)
