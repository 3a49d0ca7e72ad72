"""The tokens of a model: base tokens have rows of its matrix, symbols have none.

Shapes: T tokens, R reserved slots.
"""

from types import MappingProxyType
from typing import Any, List, Mapping, Optional

import torch
from torch import Tensor, nn

from sit_fairseq.errors import UserError
from sit_fairseq.symbols.fresh import FreshSymbols, fresh_numbers
from sit_fairseq.symbols.pattern import SymbolPattern
from sit_fairseq.symbols.prefix import OwnArity
from sit_fairseq.symbols.saved_tokens import (
    buffer_text,
    listing,
    named_sorts,
    operands_buffer,
    saved_operands,
    saved_vocabulary,
    text_buffer,
    without_embedding,
)
from sit_fairseq.symbols.tokens import TokenTable


class Vocabulary(nn.Module):
    """Base tokens by string, and the pattern that defines symbols, as buffers of the model.

    They are restored with the weights, whatever the order or size of the dictionary at hand. Row
    order: the specials ``<s> <pad> </s> <unk>`` (rows 0 to 3), then the base tokens sorted by
    string.

    Attributes:
        one_stream: every sentence has one stream only (the baselines).
        produces_any_symbol: a target may hold symbols that its source does not.
        dictionary: of the data at hand.
        row_tokens: the token of each row.
        row_of_index: the row of each dictionary index, -1 for symbols.
        index_of_row: the dictionary index of each row.
        operators: the number of operands of each base token that has some.
        leaves: tokens that would be operators if they were no symbols.
        source_only: (V_n,) 1 for the base tokens that no target can hold, else 0: ``<s>``,
            ``<pad>`` and ``<unk>``, and in models converted from one with separate dictionaries
            the tokens that only the source's had. None in old models, where all can be held.
        fresh_symbols: R.
        fresh: the reserved slots; None without fresh symbols.

    Args:
        dictionary: gives indices. It learns the base tokens of a loaded checkpoint and, where it
            has none, the pattern.
        fresh_symbols: how many symbols a target may hold that its source lacks, see
            :func:`~sit_fairseq.symbols.fresh.fresh_numbers`. Their slots follow the source's own.
        fresh_names: their names in answers, see :class:`FreshSymbols`.
        arity: the number of operands of each operator, for positions in trees. The weights hold an
            :class:`~sit_fairseq.symbols.prefix.OwnArity`.
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
        super().__init__()
        self.dictionary = dictionary
        self.fresh_symbols = sum(fresh_numbers(fresh_symbols).values())
        self._fresh_given, self._arity = (fresh_symbols, fresh_names), arity
        base_tokens = self._rows_needed() if dictionary.pattern is not None else []
        self.register_buffer("base_tokens", text_buffer("\n".join(base_tokens) or "\n"))
        self.register_buffer("symbols", text_buffer(dictionary.pattern or "\n"))
        own = operands_buffer(arity) if isinstance(arity, OwnArity) and arity else None
        self.register_buffer("operands", own)
        self._index(base_tokens)
        forbidden = torch.zeros(self.num_base)
        forbidden[[dictionary.bos(), dictionary.pad(), self.unk]] = 1.0
        self.register_buffer("source_only", forbidden)

    @property
    def num_base(self) -> int:
        """V_n, the number of base tokens including the four special ones."""
        return self.index_of_row.numel()

    @property
    def unk(self) -> int:
        """The canonical id that is read where a token has neither a row nor a slot. No answer holds
        it, and no loss counts it."""
        return self.dictionary.unk()

    @property
    def num_sorts(self) -> int:
        """G, the number of sorts of symbols."""
        return len(self.dictionary.sorts)

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

    def arities(self, canonical: Tensor) -> Tensor:
        """The number of operands of canonical ids of any shape; symbols have none."""
        known = (canonical >= 0) & (canonical < self._arities.numel())
        return self._arities[torch.where(known, canonical, 0)]  # that of <s> is 0

    def _rows_needed(self) -> List[str]:
        """The tokens of the data that must have a row of their own, sorted by string."""
        return [token for token in self.dictionary.own_tokens() if self._has_row(token)]

    def _has_row(self, token: str) -> bool:
        return not self.dictionary.is_symbol(token)

    def _index(self, base_tokens: List[str]) -> None:
        """Makes the tables for these base tokens and the dictionary as it is."""
        dictionary = self.dictionary
        tokens = dictionary.symbols[: dictionary.nspecial] + base_tokens
        row_of_token = {token: row for row, token in enumerate(tokens)}
        rows = [
            row_of_token.get(token, self.unk) if self._has_row(token) else -1
            for token in dictionary.symbols
        ]
        # No buffers: they are small, and mostly asked on the CPU, whatever the model's device.
        self.row_of_index = torch.tensor(rows)
        self.index_of_row = torch.tensor([dictionary.indices[token] for token in tokens])
        self.row_tokens = tokens
        self.leaves = {token for token in self._arity if dictionary.is_symbol(token)}
        self.operators = {
            t: self._arity[t] for t in tokens if t in self._arity.keys() - self.leaves
        }
        self._arities = torch.tensor([self.operators.get(token, 0) for token in tokens])
        self.fresh: Optional[FreshSymbols] = None
        if self.fresh_symbols and dictionary.pattern is not None:
            # Now: what is typed later changes no name.
            given, names = self._fresh_given
            self.fresh = FreshSymbols(given, dictionary, names)

    def _load_from_state_dict(self, state_dict, prefix, *args, **kwargs) -> None:
        """Takes over base tokens and pattern of a checkpoint.

        Raises:
            UserError: the data has a base token that the checkpoint does not know, or its base
                tokens contradict the pattern given by the user.
        """
        saved = saved_vocabulary(state_dict, prefix)
        if saved is not None:
            base_tokens, pattern = saved
            if self.dictionary.pattern is None:
                self.dictionary.set_pattern(pattern)
            self._check_sorts(pattern)
            self._check(base_tokens)
            self.dictionary.adopt(base_tokens)
            # Sizes differ between checkpoints: make room before the values are copied.
            self.base_tokens = self.base_tokens.new_empty(state_dict[prefix + "base_tokens"].shape)
            own = buffer_text(self.symbols)  # fresh names may have widened the dictionary's since
            text = self.dictionary.pattern if own == "\n" else own
            self.symbols = text_buffer(text).to(self.symbols.device)
            mask = state_dict.get(prefix + "source_only")
            self.source_only = None if mask is None else mask.float().to(self.symbols.device)
            operands = state_dict.get(prefix + "operands")
            if operands is not None:
                self._arity = saved_operands(operands)
                self.operands = self.symbols.new_empty(operands.shape)
            elif self.operands is not None:  # as the caller's domain says
                state_dict = {**state_dict, prefix + "operands": self.operands}
            self._index(base_tokens)
            if text != pattern:
                # A pattern given by the user holds on; what the caller loads from stays as it is.
                state_dict = {**state_dict, prefix + "symbols": self.symbols.clone()}
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def _check_sorts(self, pattern: str) -> None:
        sorts = SymbolPattern(pattern).sorts
        if self.dictionary.sorts != sorts:
            raise UserError(
                f"the checkpoint has {named_sorts(sorts)}, the pattern {self.dictionary.pattern!r} has "
                f"{named_sorts(self.dictionary.sorts)}; name the same sorts, or leave the pattern out",
                "symbols",
            )

    def _check(self, base_tokens: List[str]) -> None:
        clash = [token for token in base_tokens if not self._has_row(token)]
        if clash:
            raise UserError(
                f"the pattern {self.dictionary.pattern!r} matches {listing(clash)}, which the "
                "checkpoint was trained with as base tokens; leave the pattern out",
                "symbols",
            )
        unknown = set(self._rows_needed()).difference(base_tokens)
        if unknown:
            raise UserError(
                f"the data has {without_embedding(unknown)}; remove them from the data; if they are "
                "interchangeable, let the pattern of a model with streams match them",
                "symbols",
            )
