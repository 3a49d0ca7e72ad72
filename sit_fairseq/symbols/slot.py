"""Symbols without their names."""

from typing import Union


class Slot(int):
    """The number of a symbol in its sentence, from 0 by first appearance, over all sorts together.
    Symbols that the source lacks come after its own.

    Attributes:
        sort: the name of the symbol's sort, ``""`` where there is one without a name.
    """

    sort: str

    def __new__(cls, number: int, sort: str = "") -> "Slot":
        slot = super().__new__(cls, number)
        slot.sort = sort
        return slot


# What a grammar reads: a base token by its string, or a symbol.
Token = Union[str, Slot]
