"""A fairseq dictionary with an open set of interchangeable tokens."""

from typing import List, Optional

from fairseq import utils
from fairseq.data import Dictionary
from torch import Tensor

from sit_fairseq.errors import UserError
from sit_fairseq.symbols.pattern import SymbolPattern, is_filler


class StreamDictionary(Dictionary):
    """Splits the tokens of a ``dict.txt`` into base tokens and symbols.

    A *symbol* (interchangeable token, the paper's section 3.1) is a token that
    the pattern matches in full; every other token is a *base token* with a fixed
    identity. The file format is fairseq's own, so that directories written by a
    plain ``fairseq-preprocess`` can be read.

    Once a pattern is set, symbols that are in no file get an index when they are
    first looked up, and nothing else can be added but by :meth:`adopt`.
    """

    def __init__(self, **kwargs) -> None:
        self._pattern: Optional[SymbolPattern] = None
        self._adopted: List[str] = []
        super().__init__(**kwargs)

    @classmethod
    def load(cls, f: str) -> "StreamDictionary":
        """Reads a ``dict.txt``.

        Args:
            f: its name.

        Raises:
            UserError: it is damaged or of another kind.
        """
        try:
            dictionary = super().load(f)
            if "" in dictionary.indices or min(dictionary.count) < 0:
                raise ValueError("a token is empty, or its count negative")
        except Exception as error:  # fairseq raises no other for wrong bytes
            reason = str(error).split("\n")[0][:200]
            raise UserError(
                f"{f} is no dictionary of fairseq-preprocess, lines of a token and its count "
                f"({reason}); run fairseq-preprocess again"
            )
        return dictionary

    def set_pattern(self, pattern: str) -> None:
        """Declares the tokens that ``pattern`` matches in full to be symbols.

        Args:
            pattern: a regular expression of Python's :mod:`re`.

        Raises:
            UserError: if the pattern is not a regular expression or matches one of
                fairseq's special tokens, or a token of the data that looks like filler.
        """
        self._pattern = SymbolPattern(pattern, self.symbols[: self.nspecial])
        for token, count in zip(self.symbols, self.count):
            if count > 0 and is_filler(token) and self._pattern.matches(token):
                raise UserError(
                    f"the data hold the token {token!r}, which --symbols {pattern!r} matches, but "
                    "fairseq-preprocess fills dictionaries up with such names; call it otherwise"
                )

    @property
    def pattern(self) -> Optional[str]:
        """The regular expression that was set, if one was."""
        return None if self._pattern is None else self._pattern.regex

    def is_symbol(self, token: str) -> bool:
        """Whether ``token`` is interchangeable under the pattern that was set."""
        return self._pattern is not None and self._pattern.is_symbol(token)

    def known_symbols(self) -> List[str]:
        """The symbols that have an index so far, in the order of their index."""
        return [token for token in self._words() if self.is_symbol(token)]

    def own_tokens(self) -> List[str]:
        """The file's tokens beside fairseq's four special ones, sorted by string.

        Sorting makes the order independent of token counts and of ``dict.txt``, so
        that two models with the same tokens agree on the rows of their matrix.
        """
        return sorted(set(self._words()).difference(self._adopted))

    def base_tokens(self) -> List[str]:
        """The base tokens among :meth:`own_tokens`."""
        return [token for token in self.own_tokens() if not self.is_symbol(token)]

    def summary(self) -> str:
        """What was understood, for people: how many symbols and base tokens, and the first of
        each by their names."""
        base = [token for token in self._words() if not self.is_symbol(token)]
        return f"{_some('symbol', self.known_symbols())} and {_some('base token', base)}"

    def adopt(self, tokens: List[str]) -> None:
        """Gives an index to tokens that a checkpoint has rows for and this file lacks."""
        for token in tokens:
            if token not in self.indices:
                super().add_symbol(token, n=0)
                self._adopted.append(token)

    def index(self, sym: str) -> int:
        """The index of a token; a symbol never seen before gets a new one."""
        if sym not in self.indices and self.is_symbol(sym):
            return super().add_symbol(sym, n=0)
        return super().index(sym)

    def text(self, tokens: Tensor, escape_unk: bool = False) -> str:
        """The sentence of (T,) indices, padded or not, on any device.

        Args:
            tokens: the indices.
            escape_unk: spell ``<unk>`` in another way, as fairseq does in references: what a
                token was called is lost, so that no answer can be known to equal it.
        """
        return self.string(utils.strip_pad(tokens, self.pad()).int().cpu(), escape_unk=escape_unk)

    def add_symbol(self, word: str, n: int = 1, overwrite: bool = False) -> int:
        """As in fairseq, but the base tokens are fixed once the pattern is set.

        fairseq-generate adds the words of its own output when it post-processes;
        that must not invent base tokens that the model has no row for.
        """
        if self._pattern is not None and word not in self.indices and not self.is_symbol(word):
            return self.unk()
        return super().add_symbol(word, n=n, overwrite=overwrite)

    def forget_after(self, size: int) -> None:
        """Forgets all tokens but the first ``size``, so that names do not pile up for ever.

        Args:
            size: what the length was when only symbols have been added since, none of whose
                indices is in use any more.
        """
        for token in self.symbols[size:]:
            del self.indices[token]
        del self.symbols[size:], self.count[size:]

    def _words(self) -> List[str]:
        return [t for t in self.symbols[self.nspecial :] if not is_filler(t)]


def _some(kind: str, tokens: List[str]) -> str:
    """A number of tokens with at most three of them."""
    text = f"{len(tokens)} {kind}{'' if len(tokens) == 1 else 's'}"
    if not tokens:
        return text
    examples = sorted(tokens)[:3] + ["..."] * (len(tokens) > 3)
    return f"{text} ({', '.join(examples)})"
