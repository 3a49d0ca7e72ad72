"""Patterns: regular expressions that say which tokens are symbols, and of which sort."""

import math
import re
from typing import Dict, List, Optional, Sequence, Tuple

from sit_fairseq.errors import UserError

try:
    import regex as timed_re
except ImportError:  # the model alone needs none: patterns then have no time limit
    timed_re = re

# Tokens of fairseq, in every dictionary.
SPECIAL_TOKENS = ("<s>", "<pad>", "</s>", "<unk>")

# Seconds for one token. A pattern may come with a checkpoint, and some take exponential time.
_PATIENCE = 1.0

# Characters of a pattern, and of one with each part repeated as often as it says in braces, which
# is what the package makes of it.
_LONGEST, _LONGEST_REPEATED = 10_000, 500_000

# Answers remembered; a service meets new names for ever.
_MOST_KNOWN = 100_000

# Filler that fairseq-preprocess appends to reach a multiple of eight.
_FILLER = re.compile(r"madeupword\d{4,}")

# What re takes for text, and regex for errors that a match may have or for a class of characters.
_BRACE = re.compile(r"(\\N\{[^}]*\}|\\.)|\{(?!\d*,?\d*\})", re.DOTALL)
_POSIX = re.compile(r"(?<!\\)\[(?:\\.|[^\]\\])*\[:\^?[a-z]+:\]")

_NAMED = re.compile(r"([A-Za-z_]\w*)=(.+)", re.DOTALL)


def is_filler(token: str) -> bool:
    """Whether a token of a ``dict.txt`` stands for no word of any text."""
    return _FILLER.fullmatch(token) is not None


def word_fault(word: str, known: bool, pattern: Optional[str]) -> Optional[str]:
    """Why a sentence cannot hold a word, else None: words that follow "the sentence". Every way to
    read a text asks this. ``known`` says whether it is a base token of the model or a symbol."""
    if word in SPECIAL_TOKENS or is_filler(word):
        return f"holds {word}, a token of fairseq's own"
    if known:
        return None
    reason = f"holds the unknown token {word[:40]!r}, no base token of the model"
    return reason if pattern is None else f"{reason} and not matched by the pattern {pattern!r}"


def named_sorts(sorts: List[str]) -> str:
    """The sorts of a pattern, for an error message."""
    return (
        "one sort of symbols without a name" if sorts == [""] else f"the sorts {', '.join(sorts)}"
    )


class SymbolPattern:
    """Regular expressions that match symbols in full, one for each sort.

    Symbols may be renamed within their sort. Every token that no expression matches is a base
    token, and so is fairseq's filler.

    Attributes:
        text: the given text without line breaks at its end.
        sorts: the names of the sorts; ``[""]`` for one without a name.

    Args:
        text: a regular expression of Python's :mod:`re`, as the library ``regex`` matches it; or for
            each sort a line ``NAME=REGEX``. A UserError if it cannot be read or matches a special
            token, or sorts lack names.
        special: tokens that can be no symbols.
    """

    def __init__(self, text: str, special: Sequence[str] = SPECIAL_TOKENS) -> None:
        self.text = text = text.rstrip("\n")
        try:
            text.encode()
        except UnicodeEncodeError:
            raise UserError(
                f"the pattern {text[:80]!r} is no Unicode text; write another", "symbols"
            )
        self.sorts, expressions = _read_sorts(text)
        self._compiled = list(map(_compile, expressions))
        self._known: Dict[str, Optional[int]] = {}  # a token comes again and again
        matched = [token for token in special if self.matching(token)]
        if matched:
            raise UserError(
                f"the pattern {text!r} matches the special token {matched[0]!r}; choose regular "
                "expressions that match interchangeable tokens only",
                "symbols",
            )

    def sort(self, token: str) -> Optional[int]:
        """The number of the sort of a symbol, from 0; None for a base token. A UserError if two
        sorts match it, or a pattern takes too long to tell."""
        if token not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            found = [] if is_filler(token) else self.matching(token)
            if len(found) > 1:
                names = " and ".join(self.sorts[number] for number in found)
                raise UserError(
                    f"the token {token!r} is of the sorts {names}; let one of the patterns match it",
                    "symbols",
                )
            self._known[token] = found[0] if found else None
        return self._known[token]

    def is_symbol(self, token: str) -> bool:
        """Whether ``token`` is interchangeable."""
        return self.sort(token) is not None

    def symbols(self, tokens: Sequence[str]) -> List[str]:
        """The distinct symbols among ``tokens``, in order of first appearance."""
        return [token for token in dict.fromkeys(tokens) if self.is_symbol(token)]

    def widened(self, sort: int, expression: str) -> "SymbolPattern":
        """The pattern with a sort that also matches another expression."""
        lines = self.text.split("\n")
        lines[sort] = f"{lines[sort]}|{expression}"
        return SymbolPattern("\n".join(lines))

    def matching(self, token: str) -> List[int]:
        """The sorts whose expressions match ``token``, which may be filler, in full."""
        limit = {} if timed_re is re else {"timeout": _PATIENCE / len(self._compiled)}
        try:
            return [
                number
                for number, expression in enumerate(self._compiled)
                if expression.fullmatch(token, **limit) is not None
            ]
        except TimeoutError:
            raise UserError(
                f"the pattern {self.text!r} takes more than {_PATIENCE:g} s on the token {token!r}; "
                "choose a regular expression that repeats no repetition",
                "symbols",
            )


def _read_sorts(text: str) -> Tuple[List[str], List[str]]:
    """The names of the sorts and their expressions."""
    lines = text.split("\n")
    named = [_NAMED.fullmatch(line) for line in lines]
    if len(lines) == 1 and named[0] is None:
        return [""], lines
    if not all(named):
        line = lines[named.index(None)]
        raise UserError(f"the sort {line!r} has no name; call each NAME=REGEX", "symbols")
    names = [match[1] for match in named]
    if len(set(names)) < len(names):
        raise UserError(f"two sorts have one name: {', '.join(names)}", "symbols")
    return names, [match[2] for match in named]


def _compile(expression: str):
    # The least number is what counts: parts are repeated so often one by one.
    repetitions = [max(1, int(least)) for least in re.findall(r"\{(\d{1,9})", expression)]
    if len(expression) > _LONGEST or len(expression) * math.prod(repetitions) > _LONGEST_REPEATED:
        raise UserError(
            f"the pattern {expression[:40]!r}... is longer than {_LONGEST} characters, or than "
            f"{_LONGEST_REPEATED} with all that it repeats; choose a shorter regular expression",
            "symbols",
        )
    if _POSIX.search(expression):
        raise UserError(
            f"{expression!r} has a class such as [:digit:], unknown to Python; write [0-9]",
            "symbols",
        )
    try:
        re.compile(expression)
        # What it takes for letters, digits and spaces differs in a few characters beyond ASCII.
        return timed_re.compile(_BRACE.sub(lambda found: found[1] or r"\{", expression))
    except RecursionError:
        raise UserError(f"the pattern {expression[:40]!r}... has too many brackets", "symbols")
    except (re.error, timed_re.error, OverflowError) as error:
        raise UserError(f"{expression!r} is not a regular expression: {error}", "symbols")
