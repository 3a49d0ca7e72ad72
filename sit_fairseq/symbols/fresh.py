"""Fresh symbols: those that a target holds and its source does not. What they are called.

The R reserved slots of a sentence follow its own S slots, sort by sort.
"""

import re
from itertools import chain, count, islice, takewhile
from typing import Any, Collection, Dict, Iterator, List, Optional

from sit_fairseq.errors import UserError
from sit_fairseq.symbols.pattern import named_sorts
from sit_fairseq.symbols.tokens import TokenTable


def fresh_numbers(given: Any) -> Dict[str, int]:
    """The number of reserved slots of each sort, by name, of a text such as ``table=1,column=2``; of a
    number alone that of the sort ``""``. Else a UserError."""
    parts = [re.fullmatch(r"(?:(\w+)=)?(\d{1,9})", part) for part in str(given).split(",")]
    numbers = {part[1] or "": int(part[2]) for part in parts if part}
    if len(numbers) < len(parts) or ("" in numbers and len(numbers) > 1):
        raise UserError(
            f"the fresh symbols {given!r} must be a number, or have the form table=1,column=2",
            "fresh_symbols",
        )
    return numbers


class FreshSymbols:
    """The reserved slots and their names in answers.

    Attributes:
        numbers, offsets: the number of slots of each sort, and the first one among all.
        number: R.

    Args:
        given: see :func:`fresh_numbers`; a UserError if a sort is unknown.
        tokens: with a pattern. The symbols of a sort as they are now are its first names, then
            ``v0``, ``v1``, ..., which become symbols, unless other names are given.
        names: of any sort, separated by commas; a UserError if one is no symbol or given twice.
    """

    def __init__(self, given: Any, tokens: TokenTable, names: Optional[str]) -> None:
        by_name = fresh_numbers(given)
        if set(by_name).difference(tokens.sorts):
            raise UserError(
                f"fresh symbols {given!r} are of sorts that the pattern lacks; it has "
                f"{named_sorts(tokens.sorts)}",
                "fresh_symbols",
            )
        self.numbers = [by_name.get(sort, 0) for sort in tokens.sorts]
        self.offsets = [sum(self.numbers[:sort]) for sort in range(len(self.numbers))]
        self.number = sum(self.numbers)
        self._tokens = tokens
        listed = tokens.known_symbols() if names is None else names.split(",")
        wrong = [name for name in listed if name.split() != [name] or not tokens.is_symbol(name)]
        if wrong or len(set(listed)) < len(listed):
            reason = f"{wrong[0]!r} is no symbol" if wrong else "a name stands there twice"
            raise UserError(
                f"the fresh names {names!r}: {reason}; give different tokens that the pattern "
                f"{tokens.pattern!r} matches, separated by commas",
                "fresh_names",
            )
        self._stems = [
            tokens.add_numbered_symbols(sort) if number and names is None else None
            for sort, number in enumerate(self.numbers)
        ]
        self._names: List[List[str]] = [[] for _ in self.numbers]
        for name in listed:
            self._names[tokens.sort(name)].append(name)

    def name(self, own: List[int], target: Collection[int] = ()) -> List[int]:
        """Dictionary indices of all S + R slots of a sentence, or fewer if there are too few names.
        Its ``own`` come first. Fresh symbols of its ``target`` keep their names. Others are the first of
        their sort that source and target lack. The dictionary learns them."""
        new = [index for index in dict.fromkeys(target) if index not in own]
        slots = list(own)
        for sort, number in enumerate(self.numbers):
            kept = [index for index in new if self._tokens.sort(self._tokens[index]) == sort]
            names = map(self._tokens.index, self._names_of(sort))
            free = (index for index in names if index not in own and index not in new)
            slots += islice(chain(kept, free), number)
        return slots

    def lacking(self, own: List[int], target: Collection[int] = ()) -> Optional[str]:
        """The fault of a sentence that leaves too few names, else None: words that follow "the
        sentence"."""
        left = len(self.name(own, target)) - len(own)
        if left == self.number:
            return None
        return f"leaves names for {left} of the {self.number} fresh symbols of its answer"

    def _names_of(self, sort: int) -> Iterator[str]:
        names, stem = self._names[sort], self._stems[sort]
        every = () if stem is None else (f"{stem}{number}" for number in count())
        numbered = takewhile(lambda name: self._tokens.sort(name) == sort, every)
        yield from names
        yield from (name for name in numbered if name not in names)
