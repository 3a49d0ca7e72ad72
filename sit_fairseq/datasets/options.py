"""Options of generators, as fields of a dataclass, and the types of their values."""

import argparse
import re
from dataclasses import MISSING, Field, field, fields
from typing import Any, Callable, Dict, List, Sequence, Tuple

from sit_fairseq.errors import UserError


def option(default: Any, help_: str, **more: Any) -> Any:
    """A field of a recipe that is an option of the command line; ``more`` is for
    :meth:`argparse.ArgumentParser.add_argument`. Help does not show a default that is a list."""
    metadata = {"help": help_, **more}
    if isinstance(default, list):
        return field(default_factory=lambda: list(default), metadata=metadata)
    return field(default=default, metadata=metadata)


class JoinLines(argparse.Action):
    """Joins the values of an option, one pattern or a ``NAME=REGEX`` for each sort of symbols, to
    the text of one pattern."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        setattr(namespace, self.dest, "\n".join(values))


def add_options(parser: Any, recipe: Any) -> None:
    """Adds the options of a recipe, a dataclass, to a parser or to a group of its arguments. A field
    without :func:`option`, or called as an argument that is there, is refused by a UserError."""
    taken = {action.dest for action in parser._actions}
    for one in fields(recipe):
        if one.name in taken:
            reason = "has the name of an argument of the command"
            raise UserError(f"the field {one.name} of {recipe.__name__} {reason}; rename it")
        if "help" not in one.metadata:
            advice = f"write {one.name}: TYPE = option(DEFAULT, HELP, type=...)"
            raise UserError(f"the field {one.name} of {recipe.__name__} is no option; {advice}")
        default = default_of(one)
        more = {**one.metadata, "default": default}
        if default and isinstance(default, (int, float, str)):
            more["help"] += " (default: %(default)s)"
        parser.add_argument("--" + one.name.replace("_", "-"), **more)


def default_of(one: Field) -> Any:
    """The default of a field."""
    return one.default if one.default_factory is MISSING else one.default_factory()


def from_options(recipe: Any, args: argparse.Namespace) -> Any:
    """A recipe with the options that were given."""
    return recipe(**{one.name: getattr(args, one.name) for one in fields(recipe)})


def as_dict(recipe: Any) -> Dict[str, Any]:
    """The options that data depend on."""
    others = ("workers", "restart")
    return {one.name: getattr(recipe, one.name) for one in fields(recipe) if one.name not in others}


# The longest time in seconds, 11 days, and the most GiB, which clocks and systems can count.
_MOST = 1_000_000


def at_least(least: float, kind: Callable[[str], float] = int) -> Callable[[str], float]:
    """The type of numbers from ``least`` on; ``kind`` is ``int``, or ``float`` up to a million."""

    def number(text: str) -> float:
        value = kind(text)
        if not value >= least:
            raise argparse.ArgumentTypeError(f"{text} is less than {least}")
        if kind is float and value > _MOST:
            raise argparse.ArgumentTypeError(f"{text} is more than {_MOST}")
        return value

    number.__name__ = kind.__name__  # argparse names it where the text is no number
    return number


def range_from(least: int) -> Callable[[str], Tuple[int, int]]:
    """The type of a number from ``least`` on, or of a range of them: ``4`` or ``4-5``."""

    def read(text: str) -> Tuple[int, int]:
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (0, -1)
        if not least <= first <= last:
            reason = f"is no number from {least} on, nor a range as in 4-5"
            raise argparse.ArgumentTypeError(f"{text} {reason}")
        return first, last

    return read


def symbol_names(number: int) -> List[str]:
    """The first names of symbols: a, b, c, ... or, for more than 26, p0, p1, p2, ..."""
    return [chr(ord("a") + i) if number <= 26 else f"p{i}" for i in range(number)]


def symbols(least: int, reserved: Sequence[str] = ()) -> Callable[[str], List[str]]:
    """The type of names of symbols, at least so many of them and none ``reserved``; or of their
    number."""

    def read(text: str) -> List[str]:
        numbered = text.isdecimal()
        found = symbol_names(int(text)) if numbered else list(map(str.strip, text.split(",")))
        if len(found) < least:
            raise argparse.ArgumentTypeError(f"{text} gives fewer than {least} symbols")
        if len(set(found)) < len(found):
            raise argparse.ArgumentTypeError(f"{text} has a symbol twice")
        for name in found:
            if name in reserved or not name.isidentifier():
                but = f", but not like operators ({' '.join(reserved)})" if reserved else ""
                advice = f"name symbols by letters and digits{but}"
                raise argparse.ArgumentTypeError(f"{name!r} cannot be a symbol; {advice}")
        return found

    return read
