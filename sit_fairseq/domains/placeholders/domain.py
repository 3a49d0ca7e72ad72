"""Placeholders that a translation has to keep."""

import re
from collections import Counter
from typing import List, Optional

from sit_fairseq.domains import Domain
from sit_fairseq.domains.placeholders.grammar import OnceGrammar
from sit_fairseq.domains.placeholders.masks import in_order, placeholder_pattern
from sit_fairseq.judging.judge import Judge
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.symbols.pattern import SymbolPattern

_ALL = placeholder_pattern()


class PlaceholderJudge(Judge):
    """Satisfied if a translation has each placeholder of its source as often as the source, and those
    without a name or number, as ``%s``, in the same order; violated otherwise.

    Placeholders are those of all :data:`~sit_fairseq.domains.placeholders.masks.KINDS`, or the tokens
    that the problem's symbols match.
    """

    semantics, name, quick = "placeholders", "once", True
    pattern: re.Pattern = _ALL

    def verify(self, problem: str, answer: str) -> Verdict:
        symbols = getattr(problem, "symbols", None)
        source, given = (self._found(text, symbols) for text in (problem, answer))
        same = Counter(source) == Counter(given)
        ordered = [[one for one in found if in_order(one)] for found in (source, given)]
        return Verdict.satisfied if same and ordered[0] == ordered[1] else Verdict.violated

    def _found(self, text: str, symbols: Optional[str]) -> List[str]:
        if symbols is not None:
            return list(filter(SymbolPattern(symbols).is_symbol, text.split()))
        return [match.group() for match in self.pattern.finditer(text)]


DOMAIN = Domain(
    name="placeholders",
    version=1,
    symbols=r"PH\d+",
    judges={"once": PlaceholderJudge},
    grammar=OnceGrammar,
)
