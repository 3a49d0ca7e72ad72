"""Specifications that people wrote: the patterns that ship with Spot."""

from typing import Dict, List

from sit_fairseq.domains.formulas.held_out import held_out_sets
from sit_fairseq.domains.formulas.reading import read_formula
from sit_fairseq.domains.ltl.spot_judge import require_spot, spot_patterns, spot_trace

# The most tokens of a formula, before its negation.
_LONGEST = 35


def pattern_sets() -> Dict[str, List[str]]:
    """Formulas in prefix notation over p0, p1, ..., by set; a UserError without Spot."""
    require_spot("The patterns of Spot need")
    patterns = (read_formula(text, temporal=True).tokens for text in spot_patterns())
    return held_out_sets(
        "patterns", patterns, _LONGEST, lambda tokens: spot_trace(tokens) is not None
    )
