"""Which tokens are symbols, told by their form."""

import math
import re
from typing import Dict, List, Sequence

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


def is_filler(token: str) -> bool:
    """Whether a token of a ``dict.txt`` stands for no word of any text."""
    return _FILLER.fullmatch(token) is not None


class SymbolPattern:
    """The value of ``--symbols``: a token is a symbol if the pattern matches it in full.

    Every other token is a base token, and so is fairseq's filler.

    Attributes:
        regex: the regular expression, as text.

    Args:
        regex: a regular expression of Python's :mod:`re`.
        special: tokens that can be no symbols.

    Raises:
        UserError: the pattern is not a regular expression or matches a special token.
    """

    def __init__(self, regex: str, special: Sequence[str] = SPECIAL_TOKENS) -> None:
        # The least number is what counts: parts are repeated so often one by one.
        repetitions = [max(1, int(least)) for least in re.findall(r"\{(\d{1,9})", regex)]
        if len(regex) > _LONGEST or len(regex) * math.prod(repetitions) > _LONGEST_REPEATED:
            raise UserError(
                f"--symbols {regex[:40]!r}... is longer than {_LONGEST} characters, or than "
                f"{_LONGEST_REPEATED} with all that it repeats; choose a shorter regular expression"
            )
        try:
            re.compile(regex)
            self._compiled = timed_re.compile(regex)  # it matches alike, and can be stopped
        except RecursionError:
            raise UserError(f"--symbols {regex[:40]!r}... has too many brackets; choose fewer")
        except (re.error, timed_re.error, OverflowError) as error:
            raise UserError(f"--symbols {regex!r} is not a regular expression: {error}")
        self.regex = regex
        self._known: Dict[str, bool] = {}  # a token comes again and again
        matched = [token for token in special if self.matches(token)]
        if matched:
            raise UserError(
                f"--symbols {regex!r} matches the special token {matched[0]!r}; "
                "choose a regular expression that matches interchangeable tokens only"
            )

    def is_symbol(self, token: str) -> bool:
        """Whether ``token`` is interchangeable.

        Raises:
            UserError: the pattern takes too long to tell.
        """
        known = self._known.get(token)
        if known is None:
            known = self.matches(token) and not is_filler(token)
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[token] = known
        return known

    def matches(self, token: str) -> bool:
        """Whether the regular expression matches ``token``, which may be filler, in full."""
        try:
            limit = {} if timed_re is re else {"timeout": _PATIENCE}
            return self._compiled.fullmatch(token, **limit) is not None
        except TimeoutError:
            raise UserError(
                f"--symbols {self.regex!r} takes more than {_PATIENCE:g} s on the token {token!r}; "
                "choose a regular expression that repeats no repetition"
            )

    def symbols(self, tokens: Sequence[str]) -> List[str]:
        """The distinct symbols among ``tokens``, in order of first appearance."""
        return [token for token in dict.fromkeys(tokens) if self.is_symbol(token)]
