"""What the symbols are called that an answer holds and its source does not."""

from itertools import count, islice, takewhile
from typing import Collection, Iterator, List, Optional

from sit_fairseq.errors import UserError
from sit_fairseq.symbols.stream_dictionary import StreamDictionary


class FreshNames:
    """Names in their order; the fresh symbols of an answer get the first that its source lacks.

    Args:
        dictionary: with a pattern. Its symbols as they are now come first, then ``v0``, ``v1``,
            ... as far as they are symbols, unless other names are given.
        given: the value of ``--fresh-names``, separated by commas.
        producible: the tokens that can be produced at all; None for any.

    Raises:
        UserError: a given name is no symbol, or is given twice.
    """

    def __init__(
        self,
        dictionary: StreamDictionary,
        given: Optional[str],
        producible: Optional[Collection[str]] = None,
    ) -> None:
        self._dictionary = dictionary
        self._goes_on = given is None and producible is None
        self._names = dictionary.known_symbols() if given is None else given.split(",")
        wrong = [name for name in self._names if not dictionary.is_symbol(name)]
        if wrong or len(set(self._names)) < len(self._names):
            reason = f"{wrong[0]!r} is no symbol" if wrong else "a name stands there twice"
            raise UserError(
                f"--fresh-names {given}: {reason}; give different names that --symbols "
                f"{dictionary.pattern!r} matches, separated by commas"
            )
        if producible is not None:
            self._names = [name for name in self._names if name in producible]

    def free(self, held: Collection[int], number: int) -> List[int]:
        """The first names that are not taken.

        Args:
            held: dictionary indices of the names that are.
            number: how many are wanted.

        Returns:
            Their dictionary indices, fewer if there are no more. The dictionary learns them.
        """
        indices = map(self._dictionary.index, self)
        return list(islice((index for index in indices if index not in held), number))

    def __iter__(self) -> Iterator[str]:
        yield from self._names
        if self._goes_on:
            numbered = takewhile(self._dictionary.is_symbol, (f"v{i}" for i in count()))
            yield from (name for name in numbered if name not in self._names)
