"""The map between dictionary indices and the canonical ids that a model sees.

Canonical ids are the ``0 .. V_n - 1`` (base tokens) and ``V_n + slot`` (symbols) of the paper's
Algorithm 1. Shapes: B sentences, T tokens, S slots (the largest number of distinct symbols in one
sentence of the batch), R reserved slots.
"""

from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn

from sit_fairseq.errors import UserError
from sit_fairseq.symbols.fresh import FreshSymbols, numbered
from sit_fairseq.symbols.streams import Streams
from sit_fairseq.symbols.tokens import TokenTable


class Vocabulary(nn.Module):
    """Base tokens by string, symbols by order of first appearance.

    The base tokens and the pattern that defines symbols are buffers of the model
    (:func:`text_buffer`), so that wherever weights are restored they are, too.

    Row order: the specials ``<s> <pad> </s> <unk>`` (rows 0 to 3), then the base tokens sorted
    by string.

    Attributes:
        one_stream: every sentence has one stream only (the baselines).
        produces_any_symbol: a target may hold symbols that its source does not.
        source_only: (V_n,) 1 for the base tokens that no target can hold, else 0: ``<s>``,
            ``<pad>`` and ``<unk>``, and in models converted from one with separate dictionaries
            the tokens that only the source's had. None in old models, where all can be held.
        fresh: the reserved slots; None without fresh symbols.
        row_tokens: the token of each row.

    Args:
        dictionary: of the data at hand. It is asked for indices, and learns the base tokens and,
            where it has none, the pattern of a checkpoint that is loaded.
        fresh_symbols: R; how many symbols a target may hold that its source lacks. Their slots
            follow the source's own, in order of first appearance in the target.
        fresh_names: what answers call them, see :class:`FreshSymbols`.
    """

    one_stream = False
    produces_any_symbol = False

    def __init__(
        self,
        dictionary: TokenTable,
        fresh_symbols: int = 0,
        fresh_names: Optional[str] = None,
    ) -> None:
        super().__init__()
        self.dictionary = dictionary
        self.fresh_symbols = fresh_symbols
        self._fresh_names = fresh_names
        base_tokens = self._rows_needed() if dictionary.pattern is not None else []
        self.register_buffer("base_tokens", text_buffer("\n".join(base_tokens) or "\n"))
        self.register_buffer("symbols", text_buffer(dictionary.pattern or "\n"))
        self._index(base_tokens)
        forbidden = torch.zeros(self.num_base)  # never an answer
        forbidden[[dictionary.bos(), dictionary.pad(), dictionary.unk()]] = 1.0
        self.register_buffer("source_only", forbidden)

    @property
    def num_base(self) -> int:
        """V_n, the number of base tokens including the four special ones."""
        return self.index_of_row.numel()

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
        first_position = first[key_of_position]
        is_first = torch.zeros_like(rows)
        is_first[sentence, first_position] = 1
        slot = is_first.cumsum(1)[sentence, first_position] - 1
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
        if self.fresh_symbols:
            number = numbered(tokens, (rows < 0) & ~has_slot)
            reserved = (number >= 0) & (number < self.fresh_symbols)
            symbol = torch.where(reserved, self.first_reserved(names).unsqueeze(1) + number, symbol)
        return torch.where(rows < 0, symbol, rows)

    def decode(self, canonical: Tensor, slots: Tensor) -> Tensor:
        """Canonical ids of one sentence back to dictionary indices.

        Args:
            canonical: (T,) canonical ids.
            slots: (S + R,) the dictionary index of each slot, as of :meth:`slots`.
        """
        return torch.cat((self.index_of_row.to(slots.device), slots))[canonical]

    def slots(self, names: Tensor, given: Optional[Tensor] = None) -> Tensor:
        """What every slot is called, reserved ones too.

        Args:
            names: (B, S) the dictionary index of each of the sources' own slots, on the CPU.
            given: (B, T) dictionary indices of targets, or of how answers begin, whose fresh
                symbols keep their names.

        Returns:
            (B, S + R) the dictionary index of each slot, padded with ``<pad>``.

        Raises:
            UserError: a sentence leaves too few names for its reserved slots.
        """
        if self.fresh is None:
            return names
        pad = self.dictionary.pad()
        table = names.new_full((names.size(0), names.size(1) + self.fresh_symbols), pad)
        for sentence, row in enumerate(names):
            target = [] if given is None else self._symbols_of(given[sentence])
            own = row[row.ne(pad)].tolist()
            slots = self.fresh.name(own, target)
            if len(slots) < len(own) + self.fresh_symbols:
                raise UserError(f"a sentence of {len(own)} symbols {self.fresh.lacking(own)}")
            table[sentence, : len(slots)] = names.new_tensor(slots)
        return table

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
        """Where canonical ids, of any shape, are those of base tokens that no target can hold."""
        if self.source_only is None:
            return torch.zeros_like(canonical, dtype=torch.bool)
        rows = canonical.clamp(max=self.num_base - 1)
        return self.source_only.to(rows.device).bool()[rows] & (canonical < self.num_base)

    def encode_prefix(self, prefix: Tensor, names: Tensor) -> Tensor:
        """(B, T) dictionary indices of how answers begin to canonical ids.

        Raises:
            UserError: no answer can begin so.
        """
        canonical = self.encode(prefix, names)
        impossible = self.unproducible(canonical) & canonical.ne(self.dictionary.pad())
        if bool(impossible.any()):
            token = self.dictionary[int(prefix[impossible][0])]
            raise UserError(
                f"an answer cannot begin with {token!r}, as a prefix asks for: it is no symbol of "
                "its source, nor a fresh one, and no token that answers can hold; change the prefix",
                "prefix_size",
            )
        return canonical

    def unreadable(self, tokens: Tensor) -> Optional[str]:
        """What keeps the model from reading a sentence of (T,) dictionary indices, in words that
        follow "the sentence"; None if nothing does."""
        return None if self.fresh is None else self.fresh.lacking(self._symbols_of(tokens))

    def streams(self, names: Tensor) -> Streams:
        """The layout of the streams of sentences with these slots, one for each, and one for
        all reserved slots.

        Args:
            names: (B, S) the dictionary index of each slot, on the CPU.
        """
        num_slots = names.ne(self.dictionary.pad()).sum(1)
        if not self.fresh_symbols:
            return Streams.of_slots(num_slots)
        return Streams.of_slots(num_slots, reserved=torch.full_like(num_slots, self.fresh_symbols))

    def same_columns(self, other: "Vocabulary") -> bool:
        """Whether a model with the other vocabulary has the same columns of output."""
        return (
            type(self) is type(other)
            and torch.equal(self.base_tokens, other.base_tokens)
            and self.fresh_symbols == other.fresh_symbols
        )

    def _symbols_of(self, tokens: Tensor) -> List[int]:
        """Dictionary indices of the symbols of a sentence, each once, by first appearance."""
        return list(dict.fromkeys(tokens[self.rows(tokens) < 0].tolist()))

    def _rows_needed(self) -> List[str]:
        """The tokens of the data that must have a row of their own, sorted by string."""
        return self.dictionary.base_tokens()

    def _has_row(self, token: str) -> bool:
        return not self.dictionary.is_symbol(token)

    def _index(self, base_tokens: List[str]) -> None:
        """Rebuilds the tables for these base tokens and the dictionary as it is."""
        dictionary = self.dictionary
        tokens = dictionary.symbols[: dictionary.nspecial] + base_tokens
        row_of_token = {token: row for row, token in enumerate(tokens)}
        unk = dictionary.unk()
        rows = [
            row_of_token.get(token, unk) if self._has_row(token) else -1
            for token in dictionary.symbols
        ]
        # No buffers: they are small, and mostly asked on the CPU, whatever the model's device.
        self.row_of_index = torch.tensor(rows)
        self.index_of_row = torch.tensor([dictionary.indices[t] for t in tokens])
        self.row_tokens = tokens
        self.fresh: Optional[FreshSymbols] = None
        if self.fresh_symbols and dictionary.pattern is not None:
            # Now: what is typed later changes no name.
            self.fresh = FreshSymbols(self.fresh_symbols, dictionary, self._fresh_names)

    def _load_from_state_dict(self, state_dict, prefix, *args, **kwargs) -> None:
        """Takes over base tokens and pattern of a checkpoint, whatever the data.

        Raises:
            UserError: the data has a base token that the checkpoint does not know, or its base
                tokens contradict ``--symbols``.
        """
        saved = saved_vocabulary(state_dict, prefix)
        if saved is not None:
            base_tokens, pattern = saved
            self._teach_dictionary(base_tokens, pattern)
            # Sizes differ between checkpoints: make room before the values are copied.
            self.base_tokens = self.base_tokens.new_empty(state_dict[prefix + "base_tokens"].shape)
            self.symbols = text_buffer(self.dictionary.pattern).to(self.symbols.device)
            mask = state_dict.get(prefix + "source_only")
            self.source_only = None if mask is None else mask.float().to(self.symbols.device)
            self._index(base_tokens)
            # A pattern given by the user holds on; what the caller loads from stays as it is.
            state_dict = {**state_dict, prefix + "symbols": self.symbols.clone()}
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def _teach_dictionary(self, base_tokens: List[str], pattern: str) -> None:
        """Lets the dictionary of the data know the base tokens and the pattern of a checkpoint,
        which are read, and answers printed, by it."""
        if self.dictionary.pattern is None:
            self.dictionary.set_pattern(pattern)
        self._check(base_tokens)
        self.dictionary.adopt(base_tokens)

    def _check(self, base_tokens: List[str]) -> None:
        clash = [token for token in base_tokens if not self._has_row(token)]
        if clash:
            raise UserError(
                f"--symbols {self.dictionary.pattern!r} matches {listing(clash)}, which "
                "the checkpoint was trained with as base tokens; change --symbols or leave it out"
            )
        unknown = sorted(set(self.dictionary.base_tokens()) - set(base_tokens))
        if unknown:
            raise UserError(
                f"the data has base tokens that the checkpoint does not know: {listing(unknown)}; "
                "remove them from the data, or pass a --symbols pattern that matches them if "
                "they are interchangeable"
            )


def text_buffer(text: str) -> Tensor:
    """A text as a tensor for a checkpoint: its UTF-8 bytes, as floating-point numbers.

    Scripts that average weights take every entry for a number and fail on integers, or overflow.
    Bytes survive half precision.
    """
    return torch.tensor(list(text.encode("utf-8")), dtype=torch.float32)


def buffer_text(data: Tensor) -> str:
    """The text of a :func:`text_buffer`, cast or averaged as it may be."""
    return bytes(data.cpu().float().round().int().tolist()).decode("utf-8")


def saved_vocabulary(
    state_dict: Dict[str, Tensor], prefix: str = "encoder.embed_tokens.vocabulary."
) -> Optional[Tuple[List[str], str]]:
    """The base tokens (without the special ones) and the pattern that weights were saved with.

    Args:
        state_dict: the weights of a model.
        prefix: of the names of the vocabulary's buffers.

    Returns:
        None if this is no model with streams.
    """
    base_tokens, symbols = (state_dict.get(prefix + name) for name in ("base_tokens", "symbols"))
    if base_tokens is None or symbols is None:
        return None
    return [token for token in buffer_text(base_tokens).split("\n") if token], buffer_text(symbols)


def listing(tokens: List[str], most: int = 20) -> str:
    """Tokens for an error message, at most ``most`` of them."""
    shown = " ".join(repr(token) for token in tokens[:most])
    return shown if len(tokens) <= most else f"{shown} and {len(tokens) - most} more"
