"""Tokens by index: the four special ones, base tokens, and symbols, which may be added any time.

The names of the methods are fairseq's, so a ``Dictionary`` of fairseq can be such a table.
"""

import contextlib
import os
import re
import threading
from string import ascii_letters
from typing import Iterable, Iterator, List, Optional, Sequence

import torch
from torch import Tensor

from sit_fairseq.errors import UnansweredError, UserError
from sit_fairseq.symbols.pattern import SPECIAL_TOKENS, SymbolPattern, is_filler, word_fault

# Names with these numbers tell whether a stem is free.
_NUMBERS = (0, 1, 10, 100, 1000, 1000000)

# The names of one call are forgotten at its end, so that no other may be under way.
_ONE_CALL = threading.RLock()

if hasattr(os, "register_at_fork"):
    # A fork waits for the end of the call: a child that is born meanwhile would wait for ever.
    os.register_at_fork(
        before=_ONE_CALL.acquire,
        after_in_parent=_ONE_CALL.release,
        after_in_child=_ONE_CALL.release,
    )


def refuse(fault: Optional[str], sentence: str) -> None:
    """Raises an UnansweredError if there is a fault, words that follow "the sentence"."""
    if fault is not None:
        raise UnansweredError(f"the sentence {fault}", sentence)


def without_embedding(tokens: Iterable[str]) -> str:
    """Tokens that a model has no vector for, for an error message."""
    return f"tokens that the model has no embedding for: {listing(sorted(tokens))}"


def listing(tokens: List[str]) -> str:
    """Tokens for an error message, at most 20 of them."""
    shown = " ".join(map(repr, tokens[:20]))
    return shown if len(tokens) <= 20 else f"{shown} and {len(tokens) - 20} more"


class TokenTable:
    """Tells symbols (interchangeable tokens, section 3.1) from base tokens by a pattern.

    Once the pattern is set, a symbol gets an index when it is first looked up, and nothing else can
    be added but by :meth:`adopt`. ``tokens`` come after the special ones.
    """

    nspecial = len(SPECIAL_TOKENS)

    def __init__(self, tokens: Iterable[str] = (), pattern: Optional[str] = None) -> None:
        self._pattern: Optional[SymbolPattern] = None
        self._adopted: List[str] = []
        self.symbols: List[str] = []  # all tokens
        self.indices = {}
        self.adopt([*SPECIAL_TOKENS, *tokens])
        self._adopted.clear()
        if pattern is not None:
            self.set_pattern(pattern)

    def __len__(self) -> int:
        return len(self.symbols)

    def __getitem__(self, index: int) -> str:
        return self.symbols[index] if index < len(self.symbols) else SPECIAL_TOKENS[self.unk()]

    def __contains__(self, token: str) -> bool:
        return token in self.indices

    def bos(self) -> int:
        """The index of ``<s>``."""
        return 0

    def pad(self) -> int:
        """The index of ``<pad>``."""
        return 1

    def eos(self) -> int:
        """The index of ``</s>``."""
        return 2

    def unk(self) -> int:
        """The index of ``<unk>``."""
        return 3

    def set_pattern(self, pattern: str) -> None:
        """Declares the tokens that a pattern matches in full to be symbols; see
        :class:`SymbolPattern`."""
        self._pattern = SymbolPattern(pattern, self.symbols[: self.nspecial])

    def add_numbered_symbols(self, sort: int = 0) -> str:
        """Widens the pattern of a sort, by its number, by ``v0``, ``v1``, ..., if it does not match
        them; where other tokens are called so, by ``v_0``, ``v_1``, ..., or by another letter. A
        sort that has a name gives it in the place of ``v``.

        Returns the text before the numbers; a UserError if the pattern becomes too long, or other
        sorts match all such names.
        """
        name = self.sorts[sort] or "v"
        others = [token for token in self.symbols if self.sort(token) != sort]
        for stem in (*(name + "_" * count for count in range(8)), *ascii_letters):
            numbered = [f"{stem}{number}" for number in _NUMBERS]
            found = [self._pattern.matching(token) for token in numbered]
            taken = any(set(matching) - {sort} for matching in found)
            if taken or any(map(is_filler, numbered)):
                continue
            if any(re.fullmatch(f"{stem}[0-9]+", token) for token in others):
                continue
            if not all(found):
                self._pattern = self._pattern.widened(sort, f"{stem}[0-9]+")
            return stem
        raise UserError(
            f"other tokens and sorts of {self.pattern!r} take all names such as {name}0, so that fresh "
            "symbols have none; give some",
            "fresh_names",
        )

    @property
    def pattern(self) -> Optional[str]:
        """The pattern that was set, as text; None before."""
        return None if self._pattern is None else self._pattern.text

    @property
    def sorts(self) -> List[str]:
        """The names of the sorts of symbols; ``[""]`` for one without a name."""
        return [""] if self._pattern is None else self._pattern.sorts

    def sort(self, token: str) -> Optional[int]:
        """The number of the sort of a symbol; None for a base token, and before a pattern is set."""
        return None if self._pattern is None else self._pattern.sort(token)

    def sorts_of(self, tokens: Tensor) -> Tensor:
        """The number of the sort of each dictionary index, of any shape; -1 for base tokens."""
        different, place = torch.unique(tokens, return_inverse=True)
        sorts = (self.sort(self[index]) for index in different.tolist())
        sorts = [-1 if sort is None else sort for sort in sorts]
        return torch.tensor(sorts, dtype=torch.long, device=tokens.device)[place]

    def is_symbol(self, token: str) -> bool:
        """Whether ``token`` is interchangeable under the pattern that was set."""
        return self.sort(token) is not None

    def known_symbols(self) -> List[str]:
        """The symbols that have an index so far, in the order of their index."""
        return [token for token in self._words() if self.is_symbol(token)]

    def own_tokens(self) -> List[str]:
        """All tokens but the special and adopted ones, sorted by string, so that equal tables agree
        on rows."""
        return sorted(set(self._words()).difference(self._adopted))

    def base_tokens(self) -> List[str]:
        """The base tokens among :meth:`own_tokens`."""
        return [token for token in self.own_tokens() if not self.is_symbol(token)]

    def adopt(self, tokens: Iterable[str]) -> None:
        """Gives an index to tokens that a checkpoint has rows for and this table lacks."""
        for token in tokens:
            if token not in self.indices:
                self._append(token)
                self._adopted.append(token)

    def index(self, token: str) -> int:
        """The index of a token; a symbol never seen before gets a new one."""
        if token not in self.indices and self.is_symbol(token):
            self._append(token)
        return self.indices.get(token, self.unk())

    def fault(self, words: Sequence[str], lost: bool = False) -> Optional[str]:
        """Why a sentence of these words is none, else None; see :func:`word_fault`. In data unknown
        words are ``lost``: ``<unk>`` may stand for them."""
        if not words:
            return "is empty"
        if lost:
            words = [word for word in words if word != SPECIAL_TOKENS[self.unk()]]
        faults = (word_fault(w, w in self or self.is_symbol(w), self.pattern) for w in words)
        return next(filter(None, faults), None)

    def read(self, sentence: str) -> Tensor:
        """(T,) indices of a sentence with its ``</s>``; new symbols get an index. An
        UnansweredError if it is empty, or a token is neither a base token nor a symbol."""
        refuse(self.fault(sentence.split()), sentence)
        return self.encode([sentence])[0]

    @contextlib.contextmanager
    def names_of_one_call(self) -> Iterator[None]:
        """Context manager for one thread at a time: symbols that are added within are forgotten at
        its end."""
        with _ONE_CALL:
            known = len(self)
            try:
                yield
            finally:
                self.forget_after(known)

    def forget_after(self, size: int) -> None:
        """Forgets all tokens but the first ``size``, so that names do not pile up for ever. Only
        symbols have been added since, whose indices nobody uses."""
        for token in self.symbols[size:]:
            del self.indices[token]
        del self.symbols[size:]

    def encode(self, sentences: Sequence[str]) -> Tensor:
        """(B, T) indices of sentences whose tokens are separated by spaces, each with its ``</s>``,
        padded on the right."""
        rows = [[*map(self.index, sentence.split()), self.eos()] for sentence in sentences]
        width = max(map(len, rows), default=0)
        return torch.tensor(
            [row + [self.pad()] * (width - len(row)) for row in rows],
            dtype=torch.long,
            device="cpu",
        )

    def decode(self, tokens: Tensor) -> str:
        """The sentence of (T,) indices, up to its ``</s>``."""
        indices = tokens.tolist()
        end = indices.index(self.eos()) if self.eos() in indices else len(indices)
        return " ".join(self[index] for index in indices[:end])

    def _append(self, token: str) -> None:
        self.indices[token] = len(self.symbols)
        self.symbols.append(token)

    def _words(self) -> List[str]:
        return [token for token in self.symbols[self.nspecial :] if not is_filler(token)]
