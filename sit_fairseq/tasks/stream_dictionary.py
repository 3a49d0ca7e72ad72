"""fairseq's dictionary with an open set of interchangeable tokens."""

import os
from typing import Dict, List

from fairseq import utils
from fairseq.data import Dictionary
from torch import Tensor

from sit_fairseq.errors import UserError
from sit_fairseq.storage.files import Place
from sit_fairseq.symbols.pattern import is_filler
from sit_fairseq.symbols.tokens import TokenTable

# More than any dictionary has.
_BEYOND = 2**30


class StreamDictionary(TokenTable, Dictionary):
    """The tokens of a ``dict.txt``, whose format is that of a plain ``fairseq-preprocess``."""

    def __init__(self, **kwargs) -> None:
        self._pattern = None
        self._adopted: List[str] = []
        self._compared: Dict[str, int] = {}
        Dictionary.__init__(self, **kwargs)

    @classmethod
    def load(cls, f: Place) -> "StreamDictionary":
        """Reads a ``dict.txt``; a UserError if it is damaged or of another kind."""
        try:
            dictionary = super().load(os.fspath(f))
            if len(dictionary.indices) < len(dictionary) or min(dictionary.count) < 0:
                raise ValueError("a token stands there twice, or its count is negative")
            odd = [t for t in dictionary.symbols if t.split() != [t] or "\ufeff" in t]
            if odd:
                mark = ", as of a text with a byte order mark" if "\ufeff" in odd[0] else ""
                raise ValueError(f"the token {odd[0]!r}{mark}")
        except Exception as error:  # fairseq raises no other for wrong bytes
            # fairseq advises to overwrite tokens, which would take a row from a model.
            reason = " ".join(str(error).split(". Duplicate words can")[0].split())[:200]
            raise UserError(
                f"{f} is no dictionary of fairseq-preprocess, lines of a token and its count "
                f"({reason}); run fairseq-preprocess again"
            )
        return dictionary

    def set_pattern(self, pattern: str) -> None:
        """As for any table; a UserError also if it matches a token of the data like filler."""
        super().set_pattern(pattern)
        for token, count in zip(self.symbols, self.count):
            if count > 0 and is_filler(token) and self._pattern.matching(token):
                raise UserError(
                    f"the data hold the token {token!r}, which --symbols {pattern!r} matches, but "
                    "fairseq-preprocess fills dictionaries up with such names; call it otherwise"
                )

    def summary(self) -> str:
        """For people: the pattern, and symbols and base tokens with the first three of each."""
        base = [token for token in self._words() if not self.is_symbol(token)]
        symbols = _some(self.known_symbols())
        return f"symbols {self.pattern!r}: {symbols}; base tokens: {_some(base)}"

    def text(self, tokens: Tensor, escape_unk: bool = False) -> str:
        """The sentence of (T,) indices, padded or not, on any device; ``escape_unk`` spells ``<unk>``
        as fairseq does in references, so that no answer equals it."""
        return self.string(utils.strip_pad(tokens, self.pad()).int().cpu(), escape_unk=escape_unk)

    def add_symbol(self, word: str, n: int = 1, overwrite: bool = False) -> int:
        """As in fairseq, but once the pattern is set no base token can be added: the model would
        have no row for it. An unknown word gets a number beyond all indices: fairseq-generate compares
        the words of post-processed answers with those of references."""
        if self._pattern is not None and word not in self.indices and not self.is_symbol(word):
            return self._compared.setdefault(word, _BEYOND + len(self._compared))
        return Dictionary.add_symbol(self, word, n=n, overwrite=overwrite)

    def forget_after(self, size: int) -> None:
        super().forget_after(size)
        del self.count[size:]

    def _append(self, token: str) -> None:
        Dictionary.add_symbol(self, token, n=0)


def _some(tokens: List[str]) -> str:
    shown = sorted(tokens)[:3] + ["..."] * (len(tokens) > 3)
    return f"{len(tokens)} ({', '.join(shown)})" if tokens else "none"
