"""The tokens of a model: base tokens have rows, symbols have none.

Shapes: T tokens, R reserved slots.
"""

from types import MappingProxyType
from typing import Any, List, Mapping, Optional

import torch
from torch import Tensor

from sit_fairseq.symbols.fresh import FreshSymbols, fresh_numbers
from sit_fairseq.symbols.saved_tokens import SavedTokens
from sit_fairseq.symbols.tokens import TokenTable


class Vocabulary(SavedTokens):
    """Base tokens by row, and the pattern of symbols.

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

    def rows(self, tokens: Tensor) -> Tensor:
        """The row of each dictionary index, -1 for symbols; any shape."""
        # The dictionary grows by symbols only, so an index beyond the table is one.
        known = self.row_of_index.numel()
        table = self.row_of_index.to(tokens.device, non_blocking=True)
        return table[tokens.clamp(max=known - 1)].masked_fill(tokens >= known, -1)

    def unproducible(self, canonical: Tensor) -> Tensor:
        """True at canonical ids, of any shape, of base tokens that no target can hold."""
        if self.source_only is None:
            return torch.zeros_like(canonical, dtype=torch.bool)
        rows = canonical.clamp(max=self.num_base - 1)
        return self.source_only.to(rows.device).bool()[rows] & (canonical < self.num_base)

    def unreadable(self, tokens: Tensor) -> Optional[str]:
        """The fault of a sentence of (T,) dictionary indices that the model cannot read, else None:
        words that follow "the sentence"."""
        return None if self.fresh is None else self.fresh.lacking(self.symbols_of(tokens))

    def most_streams(self, tokens: Tensor) -> int:
        """The most streams that a sentence of (T,) dictionary indices may need with its answer."""
        if self.one_stream:
            return 1
        own = len(self.symbols_of(tokens))
        return own + 1 + self.fresh_symbols if self.fresh_symbols else max(own, 1)

    def same_columns(self, other: "Vocabulary") -> bool:
        """Whether a model with the other vocabulary has the same columns of output."""
        return (
            type(self) is type(other)
            and torch.equal(self.base_tokens, other.base_tokens)
            and (self.fresh and self.fresh.numbers) == (other.fresh and other.fresh.numbers)
            and self.dictionary.sorts == other.dictionary.sorts
        )

    def symbols_of(self, tokens: Tensor) -> List[int]:
        """Dictionary indices of the symbols of a sentence, each once, by first appearance."""
        return list(dict.fromkeys(tokens[self.rows(tokens) < 0].tolist()))

    def _index(self, base_tokens: List[str]) -> None:
        super()._index(base_tokens)
        self.fresh: Optional[FreshSymbols] = None
        if self.fresh_symbols and self.dictionary.pattern is not None:
            # Now: what is typed later changes no name.
            given, names = self._fresh_given
            self.fresh = FreshSymbols(given, self.dictionary, names)
