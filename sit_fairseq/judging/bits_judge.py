"""The fast judge of propositional logic: all assignments at once, as bits of an integer."""

import logging
from typing import Dict, Sequence

from sit_fairseq.judging.judge import PropJudge
from sit_fairseq.judging.verdict import Verdict
from sit_fairseq.logic.propositional import MAX_VARIABLES, all_ones, truth_table
from sit_fairseq.logic.syntax import formula_symbols

logger = logging.getLogger(__name__)

# The tables of a formula and of its parts are in memory at once: at most 256 MiB.
_MOST_BITS = 1 << 31


class BitsJudge(PropJudge):
    """Decides by a truth table over the symbols that the answer leaves open."""

    name = "bits"
    quick = True

    def decide(self, formula: Sequence[str], assignment: Dict[str, str]) -> Verdict:
        rest = [assignment.get(token, token) for token in formula]
        free = formula_symbols(rest)
        if len(free) > MAX_VARIABLES:
            logger.warning(
                "%d open symbols are too many for a truth table (at most %d): use --judge aiger",
                len(free),
                MAX_VARIABLES,
            )
            return Verdict.unavailable
        if len(rest) << len(free) > _MOST_BITS:
            logger.warning(
                "a formula of %d tokens is too long for a truth table over %d open symbols: use "
                "--judge aiger",
                len(rest),
                len(free),
            )
            return Verdict.unavailable
        if truth_table(rest, free) == all_ones(len(free)):
            return Verdict.satisfied
        return Verdict.violated
