"""Names of symbols, as they are given on a command line."""

import re
from typing import List

from sit_fairseq.errors import UserError
from sit_fairseq.logic.syntax import ARITY


def symbol_names(number: int) -> List[str]:
    """So many names: a, b, c, ... or, if these are too few, p0, p1, p2, ..."""
    return [chr(ord("a") + i) if number <= 26 else f"p{i}" for i in range(number)]


def parse_symbols(text: str, least: int = 1) -> List[str]:
    """Reads the value of ``--symbols``.

    Args:
        text: a number of symbols, or their names separated by commas.
        least: how many there must be, 0 or 1.

    Returns:
        The names.

    Raises:
        UserError: there are none, one occurs twice, or one cannot be a symbol.
    """
    if text.isdecimal():
        names = symbol_names(int(text))
    else:
        names = [name.strip() for name in text.split(",")]
    if len(names) < least or len(set(names)) < len(names):
        raise UserError(f"--symbols {text}: name at least one symbol, and none of them twice.")
    for name in names:
        if name in ARITY or not name.isidentifier():
            raise UserError(
                f"--symbols {text}: '{name}' cannot be a symbol; use names of letters and digits "
                f"that are not operators ({' '.join(ARITY)})."
            )
    return names


def parse_names(text: str, option: str = "--symbols") -> List[str]:
    """Reads names of any form, and ranges of them.

    Args:
        text: names separated by commas; ``<ent0>..<ent99>`` stands for a hundred of them.
        option: where they were given, for the messages.

    Returns:
        The names.

    Raises:
        UserError: a range cannot be read, or a name occurs twice or holds a space.
    """
    names: List[str] = []
    for item in text.split(","):
        first, dots, last = item.partition("..")
        if not dots:
            names.append(first)
            continue
        ends = [re.fullmatch(r"(\D*)(\d+)(\D*)", end) for end in (first, last)]
        if None in ends or ends[0].group(1, 3) != ends[1].group(1, 3):
            raise UserError(
                f"{option} {text}: the ends of {item!r} must differ in one number only, "
                "as in '<ent0>..<ent99>'"
            )
        before, start, after = ends[0].groups()
        names += [f"{before}{n}{after}" for n in range(int(start), int(ends[1].group(2)) + 1)]
    if len(set(names)) < len(names) or any(not name or re.search(r"\s", name) for name in names):
        raise UserError(f"{option} {text}: names must be distinct and without spaces")
    return names
