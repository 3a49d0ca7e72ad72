"""Reading pickled heat maps without unpickling them.

The published code keeps a heat map as a dict from (number of symbols, length) to a list of
(answer, formula) pairs of texts. A pickle is a program that may call anything. Here its instructions are only looked at
(``pickletools`` takes them apart, and runs none) and those that build plain data are carried
out on data of our own: dict, list, tuple, str, int, and ``collections.defaultdict`` as a
dict. Everything else is refused by name. Memory is proportional to the size of the file,
which the unpickler of Python does not promise.
"""

import io
import pickletools
from typing import Any, Callable, Dict, Iterator, List, NamedTuple

# The published heat maps have some megabytes. A byte can ask for an object of 64.
MAX_BYTES = 2**26

# Characters of all texts: one that is stored once can be used many times.
MAX_CHARACTERS = 2**28

# What a file may ask for by name: the dictionary of lists that programs like to fill.
_DEFAULTDICT = "collections.defaultdict"
_KNOWN_NAMES = (_DEFAULTDICT, "builtins.list", "__builtin__.list")

_PUSH_ARGUMENT = (
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4"),
    *("UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8"),
)
_FIXED_TUPLES = {"EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class RefusedPickle(ValueError):
    """A pickle that is damaged or asks for more than plain data; the message says which."""


class Entry(NamedTuple):
    """A sample of a heat map, with the cell it stands in."""

    symbols: int
    length: int
    formula: str
    answer: str


class _Name(NamedTuple):
    """Something a pickle asks for by name."""

    name: str


class _Reader:
    """The stack machine of a pickle, for plain data only."""

    def __init__(self) -> None:
        self.stack: List[Any] = []
        self.outer: List[List[Any]] = []  # the stacks below each mark
        self.memo: Dict[int, Any] = {}

    def read(self, data: bytes) -> Any:
        """Carries out a pickle up to its end."""
        for opcode, argument, _ in pickletools.genops(io.BytesIO(data)):
            if opcode.name == "STOP":
                break
            self.step(opcode.name, argument)
        return self.stack.pop()

    def step(self, name: str, argument: Any) -> None:
        """Carries out one instruction."""
        stack = self.stack
        if name in _PUSH_ARGUMENT and not isinstance(argument, bool):
            stack.append(argument)
        elif name in _FIXED_TUPLES:
            stack.append(self.pop_last(_FIXED_TUPLES[name]))
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            self.memo[argument] = stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            stack.append(self.memo[argument])
        elif name in ("GLOBAL", "INST"):
            stack.append(_known_name(argument.replace(" ", ".", 1)))
        elif name in _STEPS:
            _STEPS[name](self)
        else:
            raise RefusedPickle(f"it has something of the kind {name}")

    def pop_last(self, count: int) -> tuple:
        """Takes the last items off the stack."""
        if len(self.stack) < count:
            raise IndexError
        items = tuple(self.stack[len(self.stack) - count :])
        del self.stack[len(self.stack) - count :]
        return items

    def pop_mark(self) -> List[Any]:
        """Takes everything above the last mark off the stack."""
        items = self.stack
        self.stack = self.outer.pop()
        return items

    def mark(self) -> None:
        self.outer.append(self.stack)
        self.stack = []

    def memoize(self) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    def name(self) -> None:
        module, name = self.pop_last(2)
        if type(module) is not str or type(name) is not str:
            raise IndexError
        self.stack.append(_known_name(f"{module}.{name}"))

    def call(self) -> None:
        called, arguments = self.pop_last(2)
        if type(called) is not _Name or called.name != _DEFAULTDICT:
            raise RefusedPickle("it calls something that is no defaultdict")
        self.stack.append({})

    def set_items(self, items: List[Any]) -> None:
        target = self.stack[-1]
        if type(target) is not dict or len(items) % 2:
            raise IndexError
        for key, value in zip(items[::2], items[1::2]):
            # Not to be deep: computing the hash of a deep tuple ends the process.
            parts = key if type(key) is tuple else (key,)
            if not all(type(part) in (int, str) for part in parts):
                raise RefusedPickle("a key of a dict is no pair of numbers")
            target[key] = value

    def extend(self, items: List[Any]) -> None:
        if type(self.stack[-1]) is not list:
            raise IndexError
        self.stack[-1].extend(items)

    def new_dict(self) -> None:
        items = self.pop_mark()
        self.stack.append({})
        self.set_items(items)

    def new_list(self) -> None:
        items = self.pop_mark()
        self.stack.append(items)

    def new_tuple(self) -> None:
        items = self.pop_mark()
        self.stack.append(tuple(items))


_STEPS: Dict[str, Callable[[_Reader], None]] = {
    "PROTO": lambda reader: None,
    "FRAME": lambda reader: None,
    "MARK": _Reader.mark,
    "MEMOIZE": _Reader.memoize,
    "EMPTY_DICT": lambda reader: reader.stack.append({}),
    "EMPTY_LIST": lambda reader: reader.stack.append([]),
    "DICT": _Reader.new_dict,
    "LIST": _Reader.new_list,
    "TUPLE": _Reader.new_tuple,
    "APPEND": lambda reader: reader.extend(list(reader.pop_last(1))),
    "APPENDS": lambda reader: reader.extend(reader.pop_mark()),
    "SETITEM": lambda reader: reader.set_items(list(reader.pop_last(2))),
    "SETITEMS": lambda reader: reader.set_items(reader.pop_mark()),
    "STACK_GLOBAL": _Reader.name,
    "REDUCE": _Reader.call,
}


def _known_name(name: str) -> _Name:
    if name not in _KNOWN_NAMES:
        raise RefusedPickle(f"it asks for {name[:80]!r}")
    return _Name(name)


def read_pickled_heat_map(data: bytes) -> Iterator[Entry]:
    """Reads a pickled heat map; nothing that the file names is imported or called.

    Args:
        data: the content of the file.

    Yields:
        Its samples, as they come.

    Raises:
        RefusedPickle: it is damaged or too large, is no heat map, or asks for anything but
            plain data; the message says which.
    """
    if len(data) > MAX_BYTES:
        raise RefusedPickle(f"it is larger than {MAX_BYTES} bytes")
    try:
        heat_map = _Reader().read(data)
    except RefusedPickle:
        raise
    except (ValueError, IndexError, KeyError, TypeError, AttributeError):
        raise RefusedPickle("it is damaged, or no pickle at all")
    if type(heat_map) is not dict:
        raise RefusedPickle(f"it holds a {type(heat_map).__name__}, not a dict")
    budget = MAX_CHARACTERS
    for cell, samples in heat_map.items():
        if _kinds(cell) != [int, int]:
            raise RefusedPickle("a key of its dict is no pair of numbers")
        if type(samples) is not list or any(_kinds(sample) != [str, str] for sample in samples):
            raise RefusedPickle(f"under {cell} there is no list of pairs of texts")
        for answer, formula in samples:
            budget -= len(answer) + len(formula) + 1
            if budget < 0:
                raise RefusedPickle(f"its texts have more than {MAX_CHARACTERS} characters")
            yield Entry(*cell, formula, answer)


def _kinds(item: Any) -> List[type]:
    """The types of the items of a tuple; none if it is no tuple."""
    return [type(part) for part in item] if type(item) is tuple else []
