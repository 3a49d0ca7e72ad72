"""A language model that reads functions, and what it says of each word.

Models of symbols are asked for a new name where one stands first, not for its letters. Models without
local names in their dictionary read and spell them like other words.

A model that knows names, as alpha-renaming has it, spreads what it expects of a new name over all that
have not stood before. Any of them is a good choice, so that:

- *Bits* of a first are those of the sum of their probabilities.
- A word is *right* if the most probable token is the right one, of which each name counts alone. That is
  what greedy decoding writes. At a first, any name is right that has not stood before.

So that models answer one question, :class:`Letters` says what the letters of a new name cost besides.
"""

import math
from collections import Counter
from random import Random
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import torch
from torch import Tensor

from examples.code.copying import code_model
from examples.code.pieces import Speller
from examples.code.words import MARK, PATTERN
from sit_fairseq.models.language_model import SymbolInvariantLanguageModel
from sit_fairseq.storage.checkpoints import read_plain
from sit_fairseq.symbols.renaming import random_renamings
from sit_fairseq.symbols.saved_tokens import saved_vocabulary
from sit_fairseq.symbols.tokens import TokenTable

_BATCH = 32  # functions
_END = ""  # of a name, and what stands before it

# Where a local name stands first, where it stands again, and all other words.
FIRST, USE, OTHER = "first", "use", "other"


class Word(NamedTuple):
    """The prediction of a model for a word where it stands, given all words before it."""

    kind: str
    right: bool  # each of its tokens is the most probable one
    bits: float
    letters: float = 0.0  # further bits, for a name that the model does not spell


class Letters:
    """The bits of local names by their pieces: each by the one before, as names of training have them.

    Args:
        lines: functions of training.
        speller: of their pieces.
    """

    def __init__(self, lines: Sequence[str], speller: Speller) -> None:
        self._speller = speller
        self._pairs, self._before, self._pieces = Counter(), Counter(), Counter()
        self._pieces.update([_END, *speller.tokens])  # each may be in a name
        for line in lines:
            for name in PATTERN.symbols(line.split()):
                pairs = self._pairs_of(name)
                self._pairs.update(pairs)
                self._before.update(before for before, _ in pairs)
                self._pieces.update(piece for _, piece in pairs)

    def __call__(self, name: str) -> float:
        """The bits of a name with its mark."""
        bits, every = 0.0, sum(self._pieces.values())
        for before, piece in self._pairs_of(name):
            share = self._pieces[piece] / every  # as if it had stood there so often
            bits -= math.log2((self._pairs[before, piece] + share) / (self._before[before] + 1))
        return bits

    def _pairs_of(self, name: str) -> List[Tuple[str, str]]:
        pieces = self._speller.word(name.removeprefix(MARK))
        return list(zip((_END, *pieces), (*pieces, _END)))


class CodeModel:
    """A language model that reads functions.

    Args:
        core: the model.
        speller: of the data that it was trained on.
        letters: says what they cost where the model has symbols; None for nothing.
    """

    def __init__(
        self,
        core: SymbolInvariantLanguageModel,
        speller: Speller,
        letters: Optional[Letters] = None,
    ) -> None:
        self._core, vocabulary = core.eval(), core.vocabulary
        self._tokens, self._speller, self._letters = vocabulary.dictionary, speller, letters
        self._fixed = vocabulary.produces_any_symbol
        # Names that have rows, of a model that knows no others.
        rows = enumerate(vocabulary.row_tokens)
        self._rows = {token: row for row, token in rows if PATTERN.is_symbol(token)}
        self._spells_names = self._fixed and not self._rows
        self._known: Dict[bytes, Tuple[List[List[bool]], List[List[float]]]] = {}

    @classmethod
    def load(cls, path: str, *others: Any) -> "CodeModel":
        """The model of a checkpoint."""
        state = read_plain(path)
        tokens = TokenTable(pattern=saved_vocabulary(state["model"])[1])
        core = code_model(state["cfg"]["model"], tokens)
        core.load_state_dict(state["model"])
        return cls(core, *others)

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
                found[place] = list(self._words_of(functions[place], spelled[place], right, bits))
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
        if self._spells_names:
            return self._speller.spell(words, names_too=True)
        # Any of its names are as good as others; the same function gets the same ones.
        symbols = PATTERN.symbols(words)
        (renaming,) = random_renamings(symbols, self._rows, 1, Random(" ".join(symbols)))
        # Not by calling it, as a name of the function may be one of the model's.
        named = [renaming.mapping.get(word, word) for word in words]
        return self._speller.spell(named, names_too=False)

    def _words_of(
        self, words: List[str], spelled: List[List[str]], right: List[bool], bits: List[float]
    ) -> Iterator[Word]:
        """The numbers of words, from those of their tokens."""
        known, start = set(), 0
        for word, tokens in zip(words, spelled):
            end = start + len(tokens)
            kind = OTHER if not PATTERN.is_symbol(word) else USE if word in known else FIRST
            known.add(word)
            paid = kind == FIRST and self._letters is not None and not self._spells_names
            letters = self._letters(word) if paid else 0.0
            yield Word(kind, all(right[start:end]), sum(bits[start:end]), letters)
            start = end
