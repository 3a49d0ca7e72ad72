"""A language model that reads functions, and what it says of each word.

Models of symbols are asked for a new name where one stands first, not for its letters. Models without
local names in their dictionary read and spell them like other words.
"""

import math
from random import Random
from typing import Iterator, List, NamedTuple, Sequence, Tuple

import torch
from torch import Tensor

from examples.code.pieces import Speller
from examples.code.words import PATTERN
from sit_fairseq.models.language_model import SymbolInvariantLanguageModel
from sit_fairseq.models.loading import load_model
from sit_fairseq.symbols.renaming import random_renamings

_BATCH = 32  # functions

# Where a local name stands first, where it stands again, and all other words.
FIRST, USE, OTHER = "first", "use", "other"


class Word(NamedTuple):
    """The prediction of a model for a word where it stands, given all words before it."""

    kind: str
    right: bool  # each of its tokens is the most probable one
    bits: float


class CodeModel:
    """A language model that reads functions.

    Args:
        core: the model.
        speller: of the data that it was trained on.
    """

    def __init__(self, core: SymbolInvariantLanguageModel, speller: Speller) -> None:
        self._core, vocabulary = core.eval(), core.vocabulary
        self._tokens, self._speller = vocabulary.dictionary, speller
        self._fixed = vocabulary.produces_any_symbol
        # Names that have rows, of a model that knows no others.
        rows = enumerate(vocabulary.row_tokens)
        self._rows = {token: row for row, token in rows if PATTERN.is_symbol(token)}

    @classmethod
    def load(cls, path: str, speller: Speller) -> "CodeModel":
        """The model of a checkpoint."""
        core, _ = load_model(path, lambda domain: {})
        return cls(core, speller)

    def read(self, lines: Sequence[str]) -> Iterator[List[Word]]:
        """The predictions of the model for the words of functions, in order."""
        for start in range(0, len(lines), _BATCH):
            yield from self._batch([line.split() for line in lines[start : start + _BATCH]])

    @torch.no_grad()
    def _batch(self, functions: List[List[str]]) -> List[List[Word]]:
        spelled = [self._spell(words) for words in functions]
        texts = [" ".join(token for word in words for token in word) for words in spelled]
        with self._tokens.names_of_one_call():
            tokens = self._tokens.encode(texts)
            before = torch.cat((torch.full_like(tokens[:, :1], self._tokens.eos()), tokens), 1)
            before = before[:, :-1]
            log_probs = self._core(before).log_softmax(2)
            targets = self._core.targets(before, tokens)
        if self._fixed and self._rows:
            log_probs, targets = self._new_names_as_one(log_probs, before, targets)
        bits = -log_probs.gather(2, targets.unsqueeze(2)).squeeze(2) / math.log(2)
        right = log_probs.argmax(2).eq(targets)
        numbers = zip(functions, spelled, right.tolist(), bits.tolist())
        return [list(_words_of(*one)) for one in numbers]

    def _spell(self, words: List[str]) -> List[List[str]]:
        """The tokens of each word, for this model."""
        if not self._fixed:
            return self._speller.spell(words, names_too=False)
        if not self._rows:
            return self._speller.spell(words, names_too=True)
        # Any of its names are as good as others; the same function gets the same ones.
        symbols = PATTERN.symbols(words)
        (renaming,) = random_renamings(symbols, self._rows, 1, Random(" ".join(symbols)))
        # Not by calling it, as a name of the function may be one of the model's.
        named = [renaming.mapping.get(word, word) for word in words]
        return self._speller.spell(named, names_too=False)

    def _new_names_as_one(
        self, log_probs: Tensor, before: Tensor, targets: Tensor
    ) -> Tuple[Tensor, Tensor]:
        """Adds up the probabilities of all names that have not stood before.

        Args:
            log_probs: (B, T, V).
            before: (B, T) the token before each target, in dictionary indices.
            targets: (B, T) rows.

        Returns:
            (B, T, V + 1) with one column for a new name, and the (B, T) targets, V for a new name.
        """
        rows = torch.tensor(list(self._rows.values()))
        used = self._core.read(before).unsqueeze(2).eq(rows).cumsum(1).gt(0)
        of_names = log_probs[..., rows]
        new = of_names.masked_fill(used, -math.inf).logsumexp(2, keepdim=True)
        log_probs = log_probs.index_copy(2, rows, of_names.masked_fill(~used, -math.inf))
        is_new = (targets.unsqueeze(2).eq(rows) & ~used).any(2)
        targets = targets.masked_fill(is_new, log_probs.size(2))
        return torch.cat((log_probs, new), 2), targets


def _words_of(
    words: List[str], spelled: List[List[str]], right: List[bool], bits: List[float]
) -> Iterator[Word]:
    """The numbers of words, from those of their tokens."""
    known, start = set(), 0
    for word, tokens in zip(words, spelled):
        end = start + len(tokens)
        kind = OTHER if not PATTERN.is_symbol(word) else USE if word in known else FIRST
        known.add(word)
        yield Word(kind, all(right[start:end]), sum(bits[start:end]))
        start = end
