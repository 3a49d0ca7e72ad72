"""A language model that reads functions, and what it says of each word.

Models of symbols are asked for a new name where one stands first, not for its letters. Models without
local names in their dictionary read and spell them like other words.

A model that knows names, as alpha-renaming has it, spreads what it expects of a new name over all that
have not stood before. Any of them is a good choice, so that:

- *Bits* of a first are those of the sum of their probabilities.
- A word is *right* if the most probable token is the right one, of which each name counts alone. That is
  what greedy decoding writes. At a first, any name is right that has not stood before.
"""

import math
from random import Random
from typing import Dict, Iterator, List, NamedTuple, Sequence, Tuple

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
        self._known: Dict[bytes, Tuple[List[List[bool]], List[List[float]]]] = {}

    @classmethod
    def load(cls, path: str, speller: Speller) -> "CodeModel":
        """The model of a checkpoint."""
        core, _ = load_model(path, lambda domain: {})
        return cls(core, speller)

    def read(self, lines: Sequence[str]) -> List[List[Word]]:
        """The predictions of the model for the words of functions."""
        functions = [line.split() for line in lines]
        spelled = [self._spell(words) for words in functions]
        texts = [" ".join(token for word in words for token in word) for words in spelled]
        order = sorted(range(len(texts)), key=lambda place: len(texts[place].split()))
        found: Dict[int, List[Word]] = {}
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            numbers = self._batch([texts[place] for place in places])
            for place, right, bits in zip(places, *numbers):
                found[place] = list(_words_of(functions[place], spelled[place], right, bits))
        return [found[place] for place in range(len(lines))]

    @torch.no_grad()
    def _batch(self, texts: List[str]) -> Tuple[List[List[bool]], List[List[float]]]:
        """Whether each token of texts is the most probable one, and its bits."""
        with self._tokens.names_of_one_call():
            tokens = self._tokens.encode(texts)
            before = torch.cat((torch.full_like(tokens[:, :1], self._tokens.eos()), tokens), 1)
            before = before[:, :-1]
            read, targets = self._core.read(before), self._core.targets(before, tokens)
            # All that the model sees. Texts that differ by names alone are computed once.
            key = read.numpy().tobytes() + targets.numpy().tobytes()
            if key not in self._known:
                log_probs = self._core(before).log_softmax(2)
                self._known[key] = self._judge(log_probs, read, targets)
        return self._known[key]

    def _judge(
        self, log_probs: Tensor, read: Tensor, targets: Tensor
    ) -> Tuple[List[List[bool]], List[List[float]]]:
        """Whether each of (B, T) targets is the most probable one, and its bits.

        Args:
            log_probs: (B, T, V).
            read: (B, T) the row of the token before each target.
            targets: (B, T) rows.
        """
        best = log_probs.argmax(2)
        if self._fixed and self._rows:
            # Names that have not stood before become one target, after all others.
            rows = torch.tensor(list(self._rows.values()))
            unused = read.unsqueeze(2).eq(rows).cumsum(1).eq(0)
            new = log_probs[..., rows].masked_fill(~unused, -math.inf).logsumexp(2, keepdim=True)
            log_probs = torch.cat((log_probs, new), 2)
            best, targets = (
                one.masked_fill((one.unsqueeze(2).eq(rows) & unused).any(2), log_probs.size(2) - 1)
                for one in (best, targets)
            )
        bits = -log_probs.gather(2, targets.unsqueeze(2)).squeeze(2) / math.log(2)
        return best.eq(targets).tolist(), bits.tolist()

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
