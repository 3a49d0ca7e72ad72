"""The filter of a search for answers that a grammar accepts.

Shapes: B sentences, H hypotheses, V columns of canonical ids.
"""

import math
from typing import Any, Dict, List

import torch
import torch.nn.functional as F
from torch import Tensor

from sit_fairseq.search.filters import Filter
from sit_fairseq.search.grammar import fewest
from sit_fairseq.symbols.slot import Slot, Token
from sit_fairseq.symbols.vocabulary import Vocabulary

# Tokens that a refused one would need: more than any answer has. And what nobody has asked yet.
_NEVER, _UNKNOWN = 2**30, -1

# States remembered; a service reads sentences for ever.
_MOST_STATES = 100_000


class Constraint:
    """Keeps a search to answers that a grammar accepts, see
    :class:`~sit_fairseq.search.grammar.Grammar`.

    States of the grammar are numbered as they come up, and what they allow is kept in tables that
    all sentences share, so that a step costs a few look-ups whatever the grammar is written in. The
    tables have a column for each base token, then one for each slot and sort.

    Attributes:
        failures: the reasons why sentences of the batch have no well-formed answer, by place.
    """

    def __init__(self, grammar: Any, vocabulary: Vocabulary) -> None:
        self._grammar, self._vocabulary = grammar, vocabulary
        self._tokens: List[Token] = []
        self.failures: Dict[int, str] = {}

    def begin(self, canonical: Tensor, slots: Tensor, columns: int, most: Tensor) -> None:
        """Begins the search of a batch.

        Args:
            canonical: (B, U) canonical ids of the sources, with ``</s>``, padded on the right.
            slots: (B, S + R) the dictionary index of each slot, padded with ``<pad>``.
            columns: V.
            most: (B,) the most tokens of an answer, without ``</s>``.
        """
        first, unk = self._vocabulary.num_base, self._vocabulary.dictionary.unk()
        width = first + columns * self._vocabulary.num_sorts
        if width > len(self._tokens) or len(self._read) > _MOST_STATES:
            self._forget(columns)
        self.failures = {}
        self._first = torch.zeros(len(slots), dtype=torch.long, device="cpu")
        # Of the tables. What a sentence lacks has the column of <s>, and is impossible anyway.
        self._columns = torch.zeros(len(slots), columns, dtype=torch.long, device="cpu")
        # Canonical symbols have columns beyond those of a sentence, which read as <unk>.
        self._nameless = F.pad(slots.eq(unk), (first, columns - first - slots.size(1)))
        for place, (source, names) in enumerate(zip(canonical.tolist(), slots.tolist())):
            tokens = self._lay_out(place, source, names)
            try:
                start = self._grammar.start(tokens)
                self._first[place] = self._number(start)
                shortest, longest = fewest(self._grammar, start), int(most[place])
                if shortest > longest:
                    self.failures[place] = (
                        f"well-formed answers have at least {shortest} tokens, more than the "
                        f"{longest} that they may have"
                    )
            except Exception as error:  # whatever their code raises
                self._fail(place, error)

    def start(self, sentences: Tensor, most: Tensor) -> Filter:
        """The filter itself, for hypotheses without tokens of ``sentences`` (H,) of the batch. They
        get ``most`` (H,) tokens without ``</s>``."""
        self._states, self._sentences, self._most = self._first[sentences], sentences, most
        return self

    def __call__(self, step: int, log_probs: Tensor) -> None:
        """Leaves the tokens with which an answer can end in time."""
        states, sentences = self._states, self._sentences
        columns = self._columns[sentences]
        needed = self._needed[states].gather(1, columns)
        unknown = needed.eq(_UNKNOWN).any(1)
        if bool(unknown.any()):
            new = zip(states[unknown].tolist(), sentences[unknown].tolist())
            for state, place in dict.fromkeys(new):
                self._fill(state, place)
            needed = self._needed[states].gather(1, columns)
        refused = (needed > (self._most - step).unsqueeze(1)) | self._nameless[sentences]
        if self.failures:
            failed = [place in self.failures for place in sentences.tolist()]
            refused |= torch.tensor(failed, device="cpu").unsqueeze(1)
        if self._grammar.completes:
            self._complete(log_probs, refused)
        log_probs.masked_fill_(refused, -math.inf)

    def _complete(self, log_probs: Tensor, refused: Tensor) -> None:
        """Gives the probability of an end that is refused to the symbols that are not, in their
        proportions."""
        eos = self._vocabulary.dictionary.eos()
        symbols = torch.arange(log_probs.size(1), device="cpu") >= self._vocabulary.num_base
        symbols = symbols & ~refused & refused[:, eos : eos + 1] & log_probs.isfinite()
        own = log_probs.masked_fill(~symbols, -math.inf)
        given = log_probs[:, eos : eos + 1] + own - own.logsumexp(1, keepdim=True)
        log_probs.copy_(torch.where(symbols, torch.logaddexp(own, given), log_probs))

    def follow(self, parents: Tensor, columns: Tensor) -> None:
        self._sentences, self._most = self._sentences[parents], self._most[parents]
        states, columns = self._states[parents], self._columns[self._sentences, columns]
        new = self._after[states, columns].lt(0)
        for state, column in dict.fromkeys(zip(states[new].tolist(), columns[new].tolist())):
            self._after[state, column] = self._reach(state, column)
        self._states = self._after[states, columns]

    def _forget(self, columns: int) -> None:
        rows, dictionary = self._vocabulary.row_tokens, self._vocabulary.dictionary
        self._sorts = list(map(dictionary.sort, rows))
        slots = [Slot(number, name) for number in range(columns) for name in dictionary.sorts]
        self._tokens = [*rows, *slots]
        self._read: List[Any] = [None]
        self._numbers: Dict[Any, int] = {}
        # State 0 is that of hypotheses which are dead anyway: it allows everything.
        self._needed = torch.zeros(1, len(self._tokens), dtype=torch.int32, device="cpu")
        self._after = torch.zeros(1, len(self._tokens), dtype=torch.long, device="cpu")

    def _lay_out(self, place: int, source: List[int], names: List[int]) -> tuple:
        """Says which column of the tables each column of a sentence is, and returns the sentence as a
        grammar reads it."""
        vocabulary, dictionary = self._vocabulary, self._vocabulary.dictionary
        first, pad = vocabulary.num_base, dictionary.pad()
        sorts = self._sorts + [
            None if index == pad else dictionary.sort(dictionary[index]) for index in names
        ]
        source = [column for column in source if column not in (pad, dictionary.eos())]
        ordered = dict.fromkeys((*source, *range(len(sorts))))  # symbols of the source come first
        symbols = [column for column in ordered if sorts[column] is not None]
        columns = list(range(first)) + [0] * len(names)
        for number, column in enumerate(symbols):
            columns[column] = first + number * vocabulary.num_sorts + sorts[column]
        self._columns[place, : len(columns)] = torch.tensor(columns, device="cpu")
        return tuple(self._tokens[columns[column]] for column in source)

    def _fill(self, state: int, place: int) -> None:
        """Asks the grammar about those tokens of a sentence that it was not asked about."""
        grammar, read, known = self._grammar, self._read[state], self._needed[state].tolist()
        try:
            for column in dict.fromkeys(self._columns[place].tolist()):
                if known[column] == _UNKNOWN:
                    after = grammar.next(read, self._tokens[column])
                    known[column] = _NEVER if after is None else 1 + fewest(grammar, after)
                    hash(after)
            known[self._vocabulary.dictionary.eos()] = 0 if fewest(grammar, read) == 0 else _NEVER
            self._needed[state] = torch.tensor(known, dtype=torch.int32, device="cpu")
        except Exception as error:  # whatever their code raises
            self._fail(place, error)

    def _fail(self, place: int, error: Exception) -> None:
        kind = type(self._grammar)
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        self.failures[place] = f"the grammar {kind.__module__}:{kind.__qualname__} fails ({reason})"

    def _reach(self, state: int, column: int) -> int:
        """The number of the state after a token; 0 where it cannot follow."""
        dead = state == 0 or column == self._vocabulary.dictionary.eos()
        if dead or int(self._needed[state, column]) in (_NEVER, _UNKNOWN):
            return 0
        return self._number(self._grammar.next(self._read[state], self._tokens[column]))

    def _number(self, state: Any) -> int:
        """The number of a state, which gets its row in the tables when it first comes up."""
        number = self._numbers.setdefault(state, len(self._read))
        if number < len(self._read):
            return number
        self._read.append(state)
        if number == len(self._needed):
            self._needed = torch.cat((self._needed, torch.zeros_like(self._needed)))
            self._after = torch.cat((self._after, torch.zeros_like(self._after)))
        self._needed[number] = _UNKNOWN
        self._after[number] = -1
        return number
