"""The tokens of a model: base tokens have rows of its matrix, symbols have none.

Shapes as in :mod:`sit_fairseq.symbols.slots`.
"""

from types import MappingProxyType
from typing import Any, List, Mapping, Optional, Tuple

import torch
from torch import Tensor, nn

from sit_fairseq.errors import UserError
from sit_fairseq.symbols.fresh import FreshSymbols, fresh_numbers
from sit_fairseq.symbols.pattern import SymbolPattern, named_sorts
from sit_fairseq.symbols.prefix import OwnArity
from sit_fairseq.symbols.saved_tokens import (
    buffer_text,
    operands_buffer,
    saved_operands,
    saved_vocabulary,
    text_buffer,
)
from sit_fairseq.symbols.slots import Slots, numbered
from sit_fairseq.symbols.tokens import TokenTable, listing, without_embedding


class Vocabulary(nn.Module):
    """Base tokens by string, and the pattern that defines symbols, as buffers of the model.

    They are restored with the weights, whatever the order or size of the dictionary at hand. Rows:
    the specials ``<s> <pad> </s> <unk>`` (0 to 3), then the base tokens sorted by string.

    Attributes:
        one_stream: every sentence has one stream only (the baselines).
        produces_any_symbol: a target may hold symbols that its source does not.
        named_rows: each symbol has a row of its own.
        num_base, num_sorts, fresh_symbols: V_n, G and R.
        unk: the id of what has neither a row nor a slot. No answer holds it, no loss counts it.
        row_tokens, index_of_row: the token of each row, and its dictionary index.
        row_of_index: the row of each dictionary index, -1 for symbols.
        operators: the number of operands of each base token that has some.
        leaves: tokens that would be operators if they were no symbols.
        source_only: (V_n,) 1 for the base tokens that no target can hold: ``<s>``, ``<pad>``,
            ``<unk>``, and what a converted model's target dictionary lacked. None in old models.
        fresh: the reserved slots; None without fresh symbols.

    Args:
        dictionary: of the data. It learns the base tokens of a checkpoint, and a missing pattern.
        fresh_symbols, fresh_names: see :class:`FreshSymbols`.
        arity: the number of operands of each operator, for positions in trees. The weights hold an
            :class:`~sit_fairseq.symbols.prefix.OwnArity`.
    """

    one_stream = produces_any_symbol = named_rows = False

    def __init__(
        self,
        dictionary: TokenTable,
        fresh_symbols: Any = 0,
        fresh_names: Optional[str] = None,
        arity: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        super().__init__()
        self.dictionary, self.unk = dictionary, dictionary.unk()
        self.fresh_symbols = sum(fresh_numbers(fresh_symbols).values())
        self.fresh_names, self._fresh_given = fresh_names, fresh_symbols
        self._arity = dict(arity)
        base_tokens = [] if dictionary.pattern is None else self._of_data()
        self.register_buffer("base_tokens", text_buffer("\n".join(base_tokens) or "\n"))
        self.register_buffer("symbols", text_buffer(dictionary.pattern or "\n"))
        own = operands_buffer(arity) if isinstance(arity, OwnArity) and arity else None
        self.register_buffer("operands", own)
        self._index(base_tokens)
        forbidden = torch.zeros(self.num_base, device="cpu")
        forbidden[[dictionary.bos(), dictionary.pad(), self.unk]] = 1.0
        self.register_buffer("source_only", forbidden)

    def read(self, tokens: Tensor) -> Tuple[Tensor, Slots]:
        """(B, T) dictionary indices of sources to canonical ids, and slots by first appearance.
        Renaming does not change the ids, which are all that the model computes with."""
        rows = self.rows(tokens)
        slot = numbered(tokens, rows < 0)
        width = int(slot.max()) + 1 if slot.numel() else 0
        return self.with_slots(tokens, rows, slot, width, self.dictionary.pad())

    def with_slots(
        self, tokens: Tensor, rows: Tensor, slot: Tensor, width: int, nameless: int
    ) -> Tuple[Tensor, Slots]:
        """Ids and slots of (B, T) tokens by their rows or slots, -1 for none; some of the slots may be
        nameless."""
        names = tokens.new_full((len(tokens), width + 1), nameless)
        names.scatter_(1, torch.where(slot < 0, width, slot), tokens)  # others beyond the slots
        symbol = torch.where(slot < 0, self.unk, self.num_base + slot)
        return torch.where(rows < 0, symbol, rows), Slots(self, names[:, :width])

    def rows(self, tokens: Tensor) -> Tensor:
        """The row of each dictionary index, -1 for symbols; any shape."""
        # The dictionary grows by symbols only, so an index beyond the table is one.
        known = self.row_of_index.numel()
        table = self.row_of_index.to(tokens.device, non_blocking=True)
        return table[tokens.clamp(max=known - 1)].masked_fill(tokens >= known, -1)

    def unproducible(self, canonical: Tensor) -> Tensor:
        """True at canonical ids, of any shape, of base tokens that no target can hold."""
        base = canonical < self.num_base
        if self.source_only is None:
            return torch.zeros_like(base)
        return self.source_only.to(base.device).bool()[torch.where(base, canonical, 0)] & base

    def counted(self, canonical: Tensor) -> Tensor:
        """Canonical ids of targets as a loss compares with them, which counts no ``<pad>``."""
        return canonical.masked_fill(self.unproducible(canonical), self.dictionary.pad())

    def unreadable(self, tokens: Tensor) -> Optional[str]:
        """Why the model cannot read a sentence of (T,) dictionary indices, else None: words that
        follow "the sentence"."""
        return None if self.fresh is None else self.fresh.lacking(self.symbols_of(tokens))

    def most_streams(self, tokens: Tensor) -> int:
        """The most streams that a sentence of (T,) dictionary indices may need with its answer."""
        if self.one_stream:
            return 1
        own = len(self.symbols_of(tokens))
        return own + 1 + self.fresh_symbols if self.fresh_symbols else max(own, 1)

    def symbols_of(self, tokens: Tensor) -> List[int]:
        """Dictionary indices of the symbols of a sentence, each once, by first appearance."""
        return list(dict.fromkeys(tokens[self.rows(tokens) < 0].tolist()))

    def arities(self, canonical: Tensor) -> Tensor:
        """The number of operands of canonical ids of any shape; symbols have none."""
        known = (canonical >= 0) & (canonical < self.num_base)
        return self._arities[torch.where(known, canonical, 0)]  # that of <s> is 0

    def same_columns(self, other: "Vocabulary") -> bool:
        """Whether a model with the other vocabulary has the same columns of output."""
        return (
            type(self) is type(other)
            and torch.equal(self.base_tokens, other.base_tokens)
            and (self.fresh and self.fresh.numbers) == (other.fresh and other.fresh.numbers)
            and self.dictionary.sorts == other.dictionary.sorts
        )

    def vote_with(self, first: "Vocabulary") -> None:
        """Takes over the tokens and fresh names of the model that it votes with; a UserError if that
        has other columns of output."""
        if not self.same_columns(first):
            raise UserError(
                "the models have different base tokens, another kind of symbols or another number of "
                "fresh symbols, so that they cannot vote as an ensemble",
                "path",
            )
        if self.dictionary is not first.dictionary:
            self.dictionary, self.fresh_names = first.dictionary, first.fresh_names
            self._fresh_given = first._fresh_given
            self._index(self.row_tokens[self.dictionary.nspecial :])

    def _has_row(self, token: str) -> bool:
        return self.named_rows or not self.dictionary.is_symbol(token)

    def _of_data(self) -> List[str]:
        """The tokens of the data that have rows, sorted by string."""
        return list(filter(self._has_row, self.dictionary.own_tokens()))

    def _index(self, base_tokens: List[str]) -> None:
        """Makes the tables for these base tokens and the dictionary as it is."""
        dictionary = self.dictionary
        self.row_tokens = tokens = dictionary.symbols[: dictionary.nspecial] + base_tokens
        row_of_token = {token: row for row, token in enumerate(tokens)}
        self.num_base, self.num_sorts = len(tokens), len(dictionary.sorts)
        self.leaves = {token for token in self._arity if dictionary.is_symbol(token)}
        operators = self._arity.keys() - self.leaves
        self.operators = {t: self._arity[t] for t in tokens if t in operators}
        # No buffers: they are small, and mostly asked on the CPU, whatever the model's device.
        rows = [
            row_of_token.get(t, self.unk) if self._has_row(t) else -1 for t in dictionary.symbols
        ]
        indices = [dictionary.indices[token] for token in tokens]
        arities = [self.operators.get(token, 0) for token in tokens]
        self.row_of_index, self.index_of_row, self._arities = (
            torch.tensor(some, device="cpu") for some in (rows, indices, arities)
        )
        self.fresh: Optional[FreshSymbols] = None
        if self.fresh_symbols and dictionary.pattern is not None:
            # Now: what is typed later changes no name.
            self.fresh = FreshSymbols(self._fresh_given, dictionary, self.fresh_names)

    def _load_from_state_dict(self, state_dict, prefix, *args, **kwargs) -> None:
        """Takes over base tokens and pattern of a checkpoint; a UserError if they contradict the data
        or the pattern given by the user."""
        found = saved_vocabulary(state_dict, prefix)
        if found is not None:
            base_tokens, pattern = found
            if self.dictionary.pattern is None:
                self.dictionary.set_pattern(pattern)
            self._check(base_tokens, pattern)
            self.dictionary.adopt(base_tokens)
            # Sizes differ between checkpoints: make room before the values are copied.
            self.base_tokens = self.base_tokens.new_empty(state_dict[prefix + "base_tokens"].shape)
            # A pattern given by the user holds on; fresh names may have widened the dictionary's since.
            # Otherwise the bytes of the file stay: those of an average of weights are rounded.
            if buffer_text(self.symbols) == "\n":
                self.symbols = text_buffer(self.dictionary.pattern).to(self.symbols.device)
            if buffer_text(self.symbols) != pattern:
                state_dict = {**state_dict, prefix + "symbols": self.symbols.clone()}
            mask = state_dict.get(prefix + "source_only")
            self.source_only = None if mask is None else mask.float().to(self.symbols.device)
            operands = state_dict.get(prefix + "operands")
            if operands is not None:
                self._arity = saved_operands(operands)
                self.operands = self.symbols.new_empty(operands.shape)
            elif self.operands is not None:  # as the caller's domain says
                state_dict = {**state_dict, prefix + "operands": self.operands}
            self._index(base_tokens)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def _check(self, base_tokens: List[str], pattern: str) -> None:
        own, sorts, reason = self.dictionary.pattern, SymbolPattern(pattern).sorts, None
        clash = [token for token in base_tokens if not self._has_row(token)]
        unknown = set(self._of_data()).difference(base_tokens)
        if self.dictionary.sorts != sorts:
            reason = f"the checkpoint has {named_sorts(sorts)}, the pattern {own!r} has "
            reason += f"{named_sorts(self.dictionary.sorts)}; name the same sorts, or leave it out"
        elif clash:
            reason = f"the pattern {own!r} matches {listing(clash)}, which the checkpoint was "
            reason += "trained with as base tokens"
            if own == pattern:
                reason += "; sit convert makes a model of it for which they are symbols"
            else:
                reason += f"; its own pattern is {pattern!r}"
        elif unknown:
            reason = f"the data has {without_embedding(unknown)}; remove them from the data; if "
            reason += "they are interchangeable, let the pattern of a model with streams match them"
        if reason is not None:
            raise UserError(reason, "symbols")
