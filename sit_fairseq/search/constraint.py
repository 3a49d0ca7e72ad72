"""Grammars of answers as masks of a search.

Shapes: H hypotheses, V columns of canonical ids.
"""

import math
from typing import Any, Dict, List

import torch
from torch import Tensor

from sit_fairseq.errors import UserError
from sit_fairseq.symbols.vocabulary import Vocabulary

# Tokens that a refused one would need: more than any answer has.
_NEVER = 2**30

# States remembered; a service reads sentences for ever.
_MOST_STATES = 100_000


class Constraint:
    """Keeps a search to answers that a grammar accepts, see
    :class:`~sit_fairseq.search.grammar.Grammar`.

    States of the grammar are numbered as they come up, and what they allow is kept in tables, so
    that a step costs a few look-ups whatever the grammar is written in.
    """

    def __init__(self, grammar: Any, vocabulary: Vocabulary) -> None:
        self._grammar = grammar
        self._vocabulary = vocabulary
        self._columns = -1

    def begin(self, hypotheses: int, columns: int, longest: int) -> Tensor:
        """(H,) the states of hypotheses without tokens.

        Args:
            hypotheses: H.
            columns: V.
            longest: the most tokens of the answers, where they may have fewest.

        Raises:
            UserError: no answer of so many tokens is well-formed.
        """
        if columns > self._columns or len(self._states) > _MOST_STATES:
            self._forget(max(columns, self._columns))
        start = self._grammar.start()
        shortest = self._grammar.shortest(start)
        if shortest > longest:
            raise UserError(
                f"well-formed answers have at least {shortest} tokens, more than the {longest} that "
                "they may have",
                "max_len_b",
            )
        return torch.full((hypotheses,), self._number(start))

    def restrict(self, log_probs: Tensor, states: Tensor, left: Tensor) -> None:
        """Masks, in (H, V) log-probabilities, the columns with which no answer can end in time.

        ``states`` (H,) were read of each hypothesis; it may still get ``left`` (H,) tokens without
        ``</s>``.
        """
        needed = self._needed[states, : log_probs.size(1)]
        log_probs.masked_fill_(needed > left.unsqueeze(1), -math.inf)

    def follow(self, states: Tensor, columns: Tensor) -> Tensor:
        """(H,) the states after one more token each, given by its column."""
        after = self._after[states, columns]
        for place in after.lt(0).nonzero().squeeze(1).tolist():
            state, column = int(states[place]), int(columns[place])
            after[place] = self._after[state, column] = self._reach(state, column)
        return after

    def _forget(self, columns: int) -> None:
        self._columns = columns
        vocabulary = self._vocabulary
        rows, is_symbol = vocabulary.row_tokens, vocabulary.dictionary.is_symbol
        self._tokens = [row if is_symbol(token) else token for row, token in enumerate(rows)]
        self._tokens += range(len(rows), columns)
        self._states: List[Any] = [None]
        self._numbers: Dict[Any, int] = {}
        # State 0 is that of hypotheses which are dead anyway: it allows everything.
        self._needed = torch.zeros(1, columns, dtype=torch.int32)
        self._after = torch.zeros(1, columns, dtype=torch.long)

    def _reach(self, state: int, column: int) -> int:
        """The number of the state after a token; 0 where it cannot follow."""
        if state == 0 or int(self._needed[state, column]) == _NEVER:
            return 0
        if column == self._vocabulary.dictionary.eos():
            return 0
        return self._number(self._grammar.next(self._states[state], self._tokens[column]))

    def _number(self, state: Any) -> int:
        """The number of a state, which gets its row in the tables when it first comes up."""
        number = self._numbers.get(state)
        if number is not None:
            return number
        number = self._numbers[state] = len(self._states)
        self._states.append(state)
        grammar, needed = self._grammar, []
        for token in self._tokens:
            after = grammar.next(state, token)
            needed.append(_NEVER if after is None else 1 + grammar.shortest(after))
        needed[self._vocabulary.dictionary.eos()] = 0 if grammar.shortest(state) == 0 else _NEVER
        if number == len(self._needed):
            self._needed = torch.cat((self._needed, torch.zeros_like(self._needed)))
            self._after = torch.cat((self._after, torch.zeros_like(self._after)))
        self._needed[number] = torch.tensor(needed, dtype=torch.int32)
        self._after[number] = -1
        return number
