"""Whether a propositional formula of any number of symbols can be true, by python-sat.

The formula becomes clauses with a variable for each operator (Tseitin 1968). Only this file imports
python-sat, when it is needed.
"""

import logging
from functools import lru_cache
from typing import Any, Dict, List, Optional, Sequence

from sit_fairseq.domains.formulas.syntax import fold
from sit_fairseq.errors import missing

logger = logging.getLogger(__name__)

# Conflicts after which the search is given up: about a second.
_BUDGET = 10000

Clause = List[int]


def clauses_of(tokens: Sequence[str]) -> List[Clause]:
    """Clauses that are satisfiable exactly if a well-formed propositional formula is; a literal is
    a variable, a positive number, or its negative."""
    clauses: List[Clause] = [[1]]  # variable 1 is true
    leaves: Dict[str, int] = {"1": 1, "0": -1}
    number = 1

    def literal(token: str, operands: List[int]) -> int:
        nonlocal number
        if token == "!":
            return -operands[0]
        if not operands and token in leaves:
            return leaves[token]
        number += 1
        if not operands:
            leaves[token] = number
            return number
        x, (left, right) = number, operands
        if token in ("xor", "<->"):
            y = -x if token == "xor" else x
            clauses.extend([[-y, -left, right], [-y, left, -right], [y, left, right]])
            clauses.append([y, -left, -right])
            return x
        if token == "&":  # of the negations it is a disjunction
            left, right, x = -left, -right, -x
        elif token == "->":
            left = -left
        clauses.extend([[-x, left, right], [x, -left], [x, -right]])
        return number

    clauses.append([fold(tokens, literal)])
    return clauses


@lru_cache(maxsize=None)
def _solver() -> Optional[Any]:
    """The class of the solver; None, with a warning that names its extra, if it is missing."""
    try:
        from pysat.solvers import Glucose4
    except ModuleNotFoundError as error:
        logger.warning("Beyond truth tables %s", missing(error))
        return None
    return Glucose4


def satisfiable(tokens: Sequence[str]) -> Optional[bool]:
    """Whether a well-formed propositional formula can be true; None after too many conflicts, and
    without python-sat."""
    solver = _solver()
    if solver is None:
        return None
    with solver(bootstrap_with=clauses_of(tokens)) as search:
        search.conf_budget(_BUDGET)
        return search.solve_limited()
