"""Placeholders that a translation has to keep."""

from collections import Counter
from typing import List, Optional, Pattern, Tuple, Union

from sit_fairseq.domains import Domain
from sit_fairseq.domains.placeholders.grammar import ORDERED, OnceGrammar
from sit_fairseq.domains.placeholders.masks import (
    Placeholders,
    in_order,
    nested,
    placeholder_pattern,
)
from sit_fairseq.judging.judge import Judge
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.symbols.pattern import SymbolPattern


class PlaceholderJudge(Judge):
    """Satisfied if a translation has each placeholder of its source as often as the source, those
    without a name or number, as ``%s``, in the same order, and tags that nest if those of the source
    do; violated otherwise.

    Placeholders are what the ``pattern`` matches, by default all
    :data:`~sit_fairseq.domains.placeholders.masks.KINDS`, and the tokens that the problem's symbols
    match. Those of the sort ``ordered`` have neither a name nor a number.
    """

    semantics, name, quick = "placeholders", "once", True

    def __init__(self, pattern: Union[Pattern, Placeholders] = placeholder_pattern()) -> None:
        self.pattern = pattern

    def verify(self, problem: str, answer: str) -> Verdict:
        symbols = getattr(problem, "symbols", None)
        free, ordered = zip(*(self._found(text, symbols) for text in (problem, answer)))
        same = Counter(free[0]) == Counter(free[1]) and ordered[0] == ordered[1]
        kept = same and (nested(free[1]) or not nested(free[0]))
        return Verdict.satisfied if kept else Verdict.violated

    def _found(self, text: str, symbols: Optional[str]) -> Tuple[List[str], List[str]]:
        """The placeholders that may move, and those that are in their order."""
        found = [match.group() for match in self.pattern.finditer(text)]
        parts: Tuple[List[str], List[str]] = [], []
        for one in found:
            parts[in_order(one)].append(one)
        pattern = None if symbols is None else SymbolPattern(symbols)
        for token in text.split() if pattern else ():
            if pattern.is_symbol(token) and not any(self.pattern.finditer(token)):
                parts[pattern.sorts[pattern.sort(token)] == ORDERED].append(token)
        return parts


DOMAIN = Domain(
    name="placeholders",
    version=1,
    symbols=r"PH\d+",
    judges={"once": PlaceholderJudge},
    grammar=OnceGrammar,
)
