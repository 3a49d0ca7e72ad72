"""The map between dictionary indices and the canonical ids that a model sees.

Canonical ids are the ``0 .. V_n - 1`` (base tokens) and ``V_n + slot`` (symbols) of the paper's
Algorithm 1. Shapes: B sentences, T tokens, S slots (the largest number of distinct symbols in one
sentence of the batch), R reserved slots.
"""

from types import MappingProxyType
from typing import Any, List, Mapping, Optional, Tuple

import torch
from torch import Tensor

from sit_fairseq.symbols.fresh import FreshSymbols, fresh_numbers
from sit_fairseq.symbols.saved_tokens import SavedTokens
from sit_fairseq.symbols.streams import Streams
from sit_fairseq.symbols.tokens import TokenTable


class Vocabulary(SavedTokens):
    """Base tokens by row, symbols by order of first appearance.

    Attributes:
        one_stream: every sentence has one stream only (the baselines).
        produces_any_symbol: a target may hold symbols that its source does not.
        fresh_symbols: R.
        fresh: the reserved slots; None without fresh symbols.

    Args:
        dictionary: see :class:`SavedTokens`.
        fresh_symbols: how many symbols a target may hold that its source lacks, see
            :func:`~sit_fairseq.symbols.fresh.fresh_numbers`. Their slots follow the source's own.
        fresh_names: their names in answers, see :class:`FreshSymbols`.
        arity: see :class:`SavedTokens`.
    """

    one_stream = False
    produces_any_symbol = False

    def __init__(
        self,
        dictionary: TokenTable,
        fresh_symbols: Any = 0,
        fresh_names: Optional[str] = None,
        arity: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self.fresh_symbols = sum(fresh_numbers(fresh_symbols).values())
        self._fresh_given = fresh_symbols, fresh_names
        super().__init__(dictionary, arity)

    def num_columns(self, names: Tensor) -> int:
        """The number of canonical ids of sentences with these slots, (B, S)."""
        return self.num_base + names.size(1) + self.fresh_symbols

    def first_reserved(self, names: Tensor) -> Tensor:
        """(B,) the canonical id of each sentence's first reserved slot; names (B, S)."""
        return self.num_base + names.ne(self.dictionary.pad()).sum(1)

    def rows(self, tokens: Tensor) -> Tensor:
        """The row of each dictionary index, -1 for symbols; any shape."""
        # The dictionary grows by symbols only, so an index beyond the table is one.
        known = self.row_of_index.numel()
        table = self.row_of_index.to(tokens.device, non_blocking=True)
        return table[tokens.clamp(max=known - 1)].masked_fill(tokens >= known, -1)

    def canonicalise(self, tokens: Tensor) -> Tuple[Tensor, Tensor]:
        """Replaces every symbol by its slot, in order of first appearance.

        Renaming the symbols of a sentence does not change the first result, which is
        all that the model computes with (Theorem 4.1 becomes an equality of inputs).

        Args:
            tokens: (B, T) dictionary indices.

        Returns:
            (B, T) canonical ids, and (B, S) the dictionary index of each slot, padded
            with ``<pad>``; S may be 0.
        """
        rows = self.rows(tokens)
        sentence, position = (rows < 0).nonzero(as_tuple=True)
        if sentence.numel() == 0:
            return rows, tokens.new_empty(tokens.size(0), 0)
        # One key per (sentence, symbol); the earliest position of each key orders slots.
        key = sentence * (int(tokens.max()) + 1) + tokens[sentence, position]
        keys, key_of_position = torch.unique(key, return_inverse=True)
        first = torch.full_like(keys, tokens.size(1))
        first = first.scatter_reduce(0, key_of_position, position, "amin")
        is_first = torch.zeros_like(rows)
        is_first[sentence, first[key_of_position]] = 1
        slot = is_first.cumsum(1)[sentence, first[key_of_position]] - 1
        canonical = rows.clone()
        canonical[sentence, position] = self.num_base + slot
        names = tokens.new_full((tokens.size(0), int(slot.max()) + 1), self.dictionary.pad())
        names[sentence, slot] = tokens[sentence, position]
        return canonical, names

    def encode(self, tokens: Tensor, names: Tensor) -> Tensor:
        """Dictionary indices to canonical ids, with the slots of the source.

        Args:
            tokens: (B, T) dictionary indices, for example a target.
            names: (B, S) the dictionary index of each slot.

        Returns:
            (B, T) canonical ids. Symbols that the source lacks have the reserved slots, in order
            of first appearance; one without a slot becomes ``<unk>``.
        """
        rows = self.rows(tokens)
        has_slot, slot = torch.zeros_like(rows, dtype=torch.bool), rows
        if names.size(1):
            has_slot, slot = (tokens.unsqueeze(2) == names.unsqueeze(1)).max(dim=2)
        symbol = torch.where(has_slot, self.num_base + slot, self.dictionary.unk())
        if self.fresh is not None:
            slot = self.fresh.encode(tokens, (rows < 0) & ~has_slot)
            symbol = torch.where(slot < 0, symbol, self.first_reserved(names).unsqueeze(1) + slot)
        return torch.where(rows < 0, symbol, rows)

    def decode(self, canonical: Tensor, slots: Tensor) -> Tensor:
        """Canonical ids of one sentence back to dictionary indices.

        Args:
            canonical: (T,) canonical ids.
            slots: (S + R,) the dictionary index of each slot, as of :meth:`slots`.
        """
        return torch.cat((self.index_of_row.to(slots.device), slots))[canonical]

    def slots(self, names: Tensor, given: Optional[Tensor] = None) -> Tensor:
        """Names every slot, reserved ones too.

        Args:
            names: (B, S) the dictionary index of each of the sources' own slots, on the CPU.
            given: (B, T) dictionary indices of targets, or of beginnings of answers. Their fresh
                symbols keep their names.

        Returns:
            (B, S + R) the dictionary index of each slot, padded with ``<pad>``.

        Raises:
            UserError: a sentence leaves too few names for its reserved slots.
        """
        if self.fresh is None:
            return names
        targets = [[]] * len(names) if given is None else map(self._symbols_of, given)
        return self.fresh.slots(names, targets)

    def targets(self, tokens: Tensor, names: Tensor) -> Tensor:
        """Dictionary indices of targets to the canonical ids that a loss compares with.

        Args:
            tokens: (B, T) dictionary indices.
            names: (B, S) the dictionary index of each slot.

        Returns:
            (B, T) canonical ids; ``<pad>``, which no loss counts, also where a token can
            not be produced.
        """
        canonical = self.encode(tokens, names)
        return canonical.masked_fill(self.unproducible(canonical), self.dictionary.pad())

    def unproducible(self, canonical: Tensor) -> Tensor:
        """True at canonical ids, of any shape, of base tokens that no target can hold."""
        if self.source_only is None:
            return torch.zeros_like(canonical, dtype=torch.bool)
        rows = canonical.clamp(max=self.num_base - 1)
        return self.source_only.to(rows.device).bool()[rows] & (canonical < self.num_base)

    def unreadable(self, tokens: Tensor) -> Optional[str]:
        """The fault of a sentence of (T,) dictionary indices that the model cannot read, else None:
        words that follow "the sentence"."""
        return None if self.fresh is None else self.fresh.lacking(self._symbols_of(tokens))

    def most_streams(self, tokens: Tensor) -> int:
        """The most streams that a sentence of (T,) dictionary indices may need with its answer."""
        if self.one_stream:
            return 1
        own = len(self._symbols_of(tokens))
        return own + 1 + self.fresh_symbols if self.fresh_symbols else max(own, 1)

    def streams(self, names: Tensor) -> Streams:
        """The layout of the streams of sentences: one for each slot, and one for all reserved slots.

        Args:
            names: (B, S) the dictionary index of each slot, on the CPU.
        """
        num_slots = names.ne(self.dictionary.pad()).sum(1)
        reserved = torch.full_like(num_slots, self.fresh_symbols) if self.fresh_symbols else None
        return Streams.of_slots(num_slots, reserved=reserved, sorts=self._sorts(names))

    def same_columns(self, other: "Vocabulary") -> bool:
        """Whether a model with the other vocabulary has the same columns of output."""
        return (
            type(self) is type(other)
            and torch.equal(self.base_tokens, other.base_tokens)
            and (self.fresh and self.fresh.numbers) == (other.fresh and other.fresh.numbers)
            and self.dictionary.sorts == other.dictionary.sorts
        )

    def _sorts(self, names: Tensor) -> Optional[Tensor]:
        """(B, S + R) the sort of each slot, reserved ones too; None if there is one sort only."""
        dictionary = self.dictionary
        if self.num_sorts == 1:
            return None
        reserved = [] if self.fresh is None else self.fresh.numbers
        after = [sort for sort, number in enumerate(reserved) for _ in range(number)]
        rows = [
            [dictionary.sort(dictionary[index]) for index in row if index != dictionary.pad()]
            + after
            for row in names.tolist()
        ]
        width = names.size(1) + len(after)
        table = torch.zeros(len(rows), width, dtype=torch.long)  # either may be 0
        for own, row in zip(table, rows):
            own[: len(row)] = torch.tensor(row, dtype=torch.long)
        return table

    def _symbols_of(self, tokens: Tensor) -> List[int]:
        """Dictionary indices of the symbols of a sentence, each once, by first appearance."""
        return list(dict.fromkeys(tokens[self.rows(tokens) < 0].tolist()))

    def _index(self, base_tokens: List[str]) -> None:
        super()._index(base_tokens)
        self.fresh: Optional[FreshSymbols] = None
        if self.fresh_symbols and self.dictionary.pattern is not None:
            # Now: what is typed later changes no name.
            given, names = self._fresh_given
            self.fresh = FreshSymbols(given, self.dictionary, names)
