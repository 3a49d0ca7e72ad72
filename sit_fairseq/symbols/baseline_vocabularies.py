"""What canonical ids mean for the baselines, which have one stream per sentence.

Shapes as in :mod:`sit_fairseq.symbols.stream_vocabulary`; J symbols in the dictionary.
"""

import logging
from typing import Any, List, Optional, Tuple

import torch
from torch import Tensor

from sit_fairseq.errors import UserError
from sit_fairseq.symbols.stream_dictionary import StreamDictionary
from sit_fairseq.symbols.stream_vocabulary import (
    StreamVocabulary,
    buffer_text,
    listing,
    text_buffer,
)
from sit_fairseq.symbols.streams import Streams

logger = logging.getLogger(__name__)


class _OneStreamVocabulary(StreamVocabulary):
    """Sentences have one anonymous stream, whatever symbols they hold.

    Without fresh symbols a canonical id is the number of a vector. With them it is a slot, as in
    :class:`StreamVocabulary`, and :meth:`vectors` says which vector a slot has: that of its name,
    or of its number. Then answers hold the sources' own symbols and fresh ones only, numbered as
    those of streams are.
    """

    one_stream = True

    def streams(self, names: Tensor) -> Streams:
        """One stream per sentence."""
        return Streams.of_slots(names.new_zeros(names.size(0)))


class FixedVocabulary(_OneStreamVocabulary):
    """Every symbol has a row of its own, like any other token.

    In the checkpoint symbols are listed among ``base_tokens``, so that their rows are
    addressed by string too.

    Attributes:
        named_rows: (V_n,) True at the rows of symbols.
    """

    @property
    def produces_any_symbol(self) -> bool:
        """Unless symbols that the source lacks are numbered."""
        return not self.fresh_symbols

    def rows(self, tokens: Tensor) -> Tensor:
        """The row of each dictionary index, -1 for symbols that have none; with fresh symbols,
        for all."""
        rows = super().rows(tokens)
        if not self.fresh_symbols:
            return rows
        return rows.masked_fill((rows >= 0) & self.named_rows.to(rows.device)[rows], -1)

    def canonicalise(self, tokens: Tensor) -> Tuple[Tensor, Tensor]:
        """The row of each token; nothing is renamed.

        Args:
            tokens: (B, T) dictionary indices.

        Returns:
            (B, T) canonical ids, and (B, 0) no slots; with fresh symbols, those of
            :class:`StreamVocabulary`.

        Raises:
            UserError: if a symbol has no row.
        """
        unknown = self._without_row(tokens)
        if unknown:
            raise _no_rows(unknown)
        if self.fresh_symbols:
            return super().canonicalise(tokens)
        return self.rows(tokens), tokens.new_empty(tokens.size(0), 0)

    def vectors(self, names: Tensor) -> Optional[Tensor]:
        """(B, S + R) the row of each slot's name, -1 for slots that do not exist."""
        if not self.fresh_symbols:
            return None
        names = self.names_with_fresh(names)
        return super().rows(names).masked_fill(names.eq(self.dictionary.pad()), -1)

    def unreadable(self, tokens: Tensor) -> Optional[str]:
        """Symbols without a row; see :meth:`StreamVocabulary.unreadable`."""
        unknown = self._without_row(tokens)
        if not unknown:
            return super().unreadable(tokens)
        return f"holds symbols that the model has no embedding for: {listing(unknown)}"

    def _without_row(self, tokens: Tensor) -> List[str]:
        unknown = tokens[super().rows(tokens) < 0].unique().tolist()
        return sorted(self.dictionary[index] for index in unknown)

    def _rows_needed(self) -> List[str]:
        return self.dictionary.own_tokens()

    def _has_row(self, token: str) -> bool:
        return True

    def _producible_symbols(self, base_tokens: List[str]) -> Optional[List[str]]:
        return base_tokens

    def _index(self, base_tokens: List[str]) -> None:
        super()._index(base_tokens)
        tokens = [self.dictionary[index] for index in self.index_of_row.tolist()]
        self.named_rows = torch.tensor([self.dictionary.is_symbol(token) for token in tokens])

    def _check(self, base_tokens: List[str]) -> None:
        super()._check(base_tokens)
        unknown = sorted(set(self._rows_needed()) - set(base_tokens))
        if unknown:
            raise _no_rows(unknown)


def _no_rows(symbols: List[str]) -> UserError:
    return UserError(
        f"the data has symbols that the checkpoint has no embedding for: {listing(symbols)}; "
        "with --symbol-embedding fixed the dictionary must list them when fairseq-train starts "
        "(fairseq-preprocess --srcdict), else use data without them"
    )


class CanonicalVocabulary(_OneStreamVocabulary):
    """The first symbol of a sentence has the first row after the base tokens, and so on.

    There are as many such rows as the dictionary has symbols when training starts. A
    symbol beyond them reads as ``<unk>`` and cannot be produced.
    """

    def __init__(self, dictionary: StreamDictionary, *fresh: Any) -> None:
        super().__init__(dictionary, *fresh)
        # Of fixed length, as a checkpoint may have another number.
        number = f"{len(dictionary.known_symbols()):08d}"
        self.register_buffer("symbol_rows", text_buffer(number))
        self._warned = False

    @property
    def num_symbol_rows(self) -> int:
        """How many symbols a sentence may hold."""
        return int(buffer_text(self.symbol_rows))

    def canonicalise(self, tokens: Tensor) -> Tuple[Tensor, Tensor]:
        """Replaces every symbol by its slot, in order of first appearance.

        Args:
            tokens: (B, T) dictionary indices.

        Returns:
            (B, T) canonical ids, and (B, R) the dictionary index of the slot that each of
            the R rows for symbols stands for, ``<unk>`` where there is none; with fresh
            symbols, the slots of :class:`StreamVocabulary`.
        """
        canonical, slots = super().canonicalise(tokens)
        num_rows, unk = self.num_symbol_rows, self.dictionary.unk()
        canonical = self._within_rows(canonical, num_rows)
        if slots.size(1) > num_rows and not self._warned:
            self._warned = True
            logger.warning(
                "a sentence has %d different symbols, but --symbol-embedding canonical was trained "
                "with %d: those after the first %d read as <unk> and cannot be produced",
                slots.size(1),
                num_rows,
                num_rows,
            )
        if self.fresh_symbols:
            return canonical, slots
        names = tokens.new_full((tokens.size(0), num_rows), unk)
        slots = slots[:, :num_rows]
        names[:, : slots.size(1)] = slots.masked_fill(slots.eq(self.dictionary.pad()), unk)
        return canonical, names

    def encode(self, tokens: Tensor, names: Tensor) -> Tensor:
        """See :meth:`StreamVocabulary.encode`; fresh symbols, too, have the rows there are."""
        canonical = super().encode(tokens, names)
        # Without fresh ones there are no slots beyond them, and to read their number from a GPU
        # is to wait for it.
        if not self.fresh_symbols:
            return canonical
        return self._within_rows(canonical, self.num_symbol_rows)

    def vectors(self, names: Tensor) -> Optional[Tensor]:
        """(B, S + R) the vector of each slot, -1 for those beyond the rows there are."""
        if not self.fresh_symbols:
            return None
        vectors = torch.arange(self.num_base, self.num_columns(names))
        vectors = vectors.masked_fill(vectors >= self.num_base + self.num_symbol_rows, -1)
        return vectors.expand(names.size(0), -1)

    def _within_rows(self, canonical: Tensor, num_rows: int) -> Tensor:
        beyond = canonical >= self.num_base + num_rows
        return canonical.masked_fill(beyond, self.dictionary.unk())

    def same_columns(self, other: StreamVocabulary) -> bool:
        """As for streams; the rows for symbols must be equally many."""
        return super().same_columns(other) and self.num_symbol_rows == other.num_symbol_rows


class NamedVocabulary(_OneStreamVocabulary):
    """Slots are the symbols of the dictionary, for every sentence the same.

    The dictionary may gain symbols at any time, and the ids with it.

    Attributes:
        most_symbols: how many the embedding has vectors for, None for any number.
    """

    most_symbols: Optional[int] = None

    @property
    def produces_any_symbol(self) -> bool:
        """Unless symbols that the source lacks are numbered."""
        return not self.fresh_symbols

    def unreadable(self, tokens: Tensor) -> Optional[str]:
        """More symbols than vectors; see :meth:`StreamVocabulary.unreadable`."""
        reason = super().unreadable(tokens)  # it learns names for the fresh symbols, too
        number = self._symbols().numel()
        if reason is not None or self.most_symbols is None or number <= self.most_symbols:
            return reason
        return (
            f"brings the symbols of the dictionary and of the sentences before it to {number}, of "
            f"which the model tells {self.most_symbols} apart"
        )

    def canonicalise(self, tokens: Tensor) -> Tuple[Tensor, Tensor]:
        """Replaces every symbol by its place among the symbols of the dictionary.

        Args:
            tokens: (B, T) dictionary indices.

        Returns:
            (B, T) canonical ids, and (B, J) the dictionary index of each slot; with fresh
            symbols, the slots of :class:`StreamVocabulary`.
        """
        if self.fresh_symbols:
            return super().canonicalise(tokens)
        names = self._symbols().to(tokens).expand(tokens.size(0), -1)
        return self.encode(tokens, names), names

    def vectors(self, names: Tensor) -> Optional[Tensor]:
        """(B, S + R) the vector of each slot's name, -1 for slots that do not exist."""
        if not self.fresh_symbols:
            return None
        names = self.names_with_fresh(names)
        has_vector, place = self._find(names, self._symbols().expand(names.size(0), -1))
        return torch.where(has_vector, self.num_base + place, -1)

    def symbol_names(self) -> List[str]:
        """The J symbols of the dictionary."""
        return [self.dictionary[index] for index in self._symbols().tolist()]

    def _symbols(self) -> Tensor:
        tokens = torch.arange(len(self.dictionary), device=self.row_of_index.device)
        return tokens[self.rows(tokens) < 0]
